/**
 * What clients are told when a request could not be carried out. Their next step depends on it: 403/3 sends a client to another
 * region, again and again, for as long as it takes; 503 sends it elsewhere once, with the same write, or ends it where there is
 * only one endpoint; 408 ends it, because the write may have been done. So 503 and 403/3 are only said when it was certainly
 * not done, and a write is told 403/3 at every door. A read never is: its client would leave the region for minutes.
 */
import { BATON_ERRORS, BatonError, type BatonErrorCode } from '../../client/index.ts';
import { CatalogError } from '../catalog/index.ts';
import type { GatewayContext } from './context.ts';
import {
  badRequest,
  conflict,
  GatewayError,
  notFound,
  preconditionFailed,
  SUBSTATUS,
  timedOut,
  tooLarge,
  tooManyRequests,
  unavailable,
} from './errors.ts';

export interface FailedOperation {
  readonly isWrite: boolean;
  readonly door: GatewayContext['door'];
}

/** When a node has too much to do and does not say for how long. */
const THROTTLED_MS = 200;

type Verdict = (message: string) => GatewayError;

/** These say what is wrong with the request; asking elsewhere would not help. */
const JUDGED: Readonly<Partial<Record<BatonErrorCode, Verdict>>> = {
  BAD_REQUEST: badRequest,
  LEVEL_TOO_STRONG: badRequest,
  TOKEN_INVALID: badRequest,
  TOKEN_NEWER: badRequest,
  REJECTED: badRequest,
  NOT_FOUND: notFound,
  CONFLICT: conflict,
  PRECONDITION_FAILED: preconditionFailed,
  TOO_LARGE: tooLarge,
  // Not 410: clients take it for a split of the range, and lose their place.
  FEED_TRIMMED: badRequest,
  FEED_UNDONE: badRequest,
};

/** What to throw instead of an error of the partition client or the catalogue. Others are given back as they are. */
export function failureOf(error: unknown, operation: FailedOperation): unknown {
  if (error instanceof CatalogError) return catalogFailure(error);
  if (!(error instanceof BatonError)) return error;
  const { code, message, outcome } = error;
  // Also a judgement may stand beside another attempt that was carried out.
  if (operation.isWrite && outcome === 'unknown')
    return timedOut('Whether the write was carried out is not known; it may have been.');
  const judged = JUDGED[code];
  if (judged !== undefined) return judged(message);
  if (code === 'THROTTLED') return tooManyRequests(BATON_ERRORS.THROTTLED.message, THROTTLED_MS);
  if (operation.isWrite) return notTheWriter(operation.door?.region);
  return unavailable(BATON_ERRORS[code].message);
}

/** Without a region: of the global endpoint, which has asked all of them. */
export function notTheWriter(region?: string): GatewayError {
  const message =
    region === undefined
      ? 'No region takes writes of this partition now; one will soon.'
      : `Region ${region} does not take writes of this partition now; another region does, or will soon.`;
  return new GatewayError(403, SUBSTATUS.notTheWriter, 'Forbidden', message);
}

export function catalogFailure(error: unknown): unknown {
  if (!(error instanceof CatalogError)) return error;
  if (error.code === 'CATALOG_UNKNOWN')
    return timedOut('Whether the change was made is not known; read it to find out.');
  if (error.code === 'CATALOG_UNREACHABLE')
    return unavailable('Too few acceptors answer to read or change databases and containers now.');
  return error;
}
