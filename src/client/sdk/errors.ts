/**
 * What a user of the SDK catches: one class, told apart by `code`. The field that matters most to who writes is `outcome`.
 * `not applied` is a promise that the operation was not and will not be carried out; everything that is not certain is
 * `unknown`. A write that succeeded never throws.
 */
import {
  CLIENT_ERRORS,
  type ClientErrorCode,
  type ClientFailure,
  type FailureOutcome,
} from '../core/index.ts';
import { DISCOVERY_ERRORS, DiscoveryError, type DiscoveryErrorCode } from '../discovery/index.ts';
import { type Diagnostics, describeDiagnostics } from './diagnostics.ts';

/** What the SDK itself adds. */
const SDK_ERRORS = {
  CLIENT_CLOSED: { message: 'The client has been closed.', retryable: false },
  CONTAINER_UNKNOWN: { message: 'The account has no container of this name.', retryable: false },
  OPTIONS_INVALID: { message: 'The client options are not valid.', retryable: false },
} as const;

export type BatonErrorCode = ClientErrorCode | DiscoveryErrorCode | keyof typeof SDK_ERRORS;

/** A look at a name that does not answer may succeed later; one at a name that is wrong will not. */
const RETRYABLE_DISCOVERY: ReadonlySet<DiscoveryErrorCode> = new Set([
  'ACCOUNT_NOT_FOUND',
  'ACCOUNT_UNRESOLVED',
]);

/** All codes with a sentence and whether asking again later may help. */
export const BATON_ERRORS: Readonly<
  Record<BatonErrorCode, { readonly message: string; readonly retryable: boolean }>
> = {
  ...CLIENT_ERRORS,
  ...SDK_ERRORS,
  ...(Object.fromEntries(
    Object.entries(DISCOVERY_ERRORS).map(([code, words]) => [
      code,
      {
        message: `${words[0]!.toUpperCase()}${words.slice(1)}.`,
        retryable: RETRYABLE_DISCOVERY.has(code as DiscoveryErrorCode),
      },
    ]),
  ) as Record<DiscoveryErrorCode, { message: string; retryable: boolean }>),
};

/** Of the operation that failed; a read is never applied. */
export type Outcome = 'not applied' | 'unknown';

export interface BatonErrorDetails {
  readonly message?: string | undefined;
  readonly outcome?: Outcome | undefined;
  readonly status?: number | undefined;
  readonly results?: readonly { readonly status: number; readonly message?: string }[] | undefined;
  readonly diagnostics?: Diagnostics | undefined;
  readonly cause?: unknown;
}

export class BatonError extends Error {
  override readonly name = 'BatonError';
  readonly code: BatonErrorCode;
  readonly outcome: Outcome;
  /** The same request may succeed later. */
  readonly retryable: boolean;
  /** As in HTTP, of a request that a node judged and rejected. */
  readonly status: number | undefined;
  /** Of a batch that was rejected: one for each operation, 424 for those that are not to blame. */
  readonly results: BatonErrorDetails['results'];
  /** Undefined only if nothing was tried. */
  readonly diagnostics: Diagnostics | undefined;

  constructor(code: BatonErrorCode, details: BatonErrorDetails = {}) {
    const { diagnostics, cause } = details;
    const known = BATON_ERRORS[code];
    const sentence = details.message ?? known.message;
    const tried = diagnostics === undefined || !TELLS_WHAT_WAS_TRIED.has(code);
    super(
      tried ? sentence : `${sentence} ${describeDiagnostics(diagnostics)}`,
      cause === undefined ? undefined : { cause },
    );
    this.code = code;
    this.outcome = details.outcome ?? 'not applied';
    this.retryable = known.retryable;
    this.status = details.status;
    this.results = details.results;
    this.diagnostics = diagnostics;
  }
}

/** Where the reason lies in the attempts, the message has them. */
const TELLS_WHAT_WAS_TRIED: ReadonlySet<BatonErrorCode> = new Set<BatonErrorCode>([
  'THROTTLED',
  'DEADLINE',
  'OUTCOME_UNKNOWN',
  'ATTEMPTS_EXHAUSTED',
  'UNREACHABLE',
  'NOT_WRITER_HERE',
  'NOT_AUTHENTICATED',
  'INCOMPATIBLE',
  'PARTITION_SET_UNKNOWN',
]);

export function outcomeOf(outcome: FailureOutcome): Outcome {
  return outcome === 'notApplied' ? 'not applied' : 'unknown';
}

export function batonError(failure: ClientFailure, details: BatonErrorDetails): BatonError {
  const { code, message, status } = failure;
  return new BatonError(code, { outcome: outcomeOf(failure.outcome), message, status, ...details });
}

export function fromDiscovery(error: unknown): unknown {
  if (!(error instanceof DiscoveryError)) return error;
  return new BatonError(error.code, { message: error.message, cause: error });
}
