/**
 * What an answer, or the lack of one, means for the operation. The first question is always whether this attempt may have been
 * carried out: `harmless` verdicts are proof that it was not and will not be. The second is where to go on.
 */
import {
  type OperationResult,
  type Position,
  type RefusalCode,
  type WriteRequest,
} from '../../engine/core/index.ts';
import { type ClientErrorCode, codeOfStatus, rejectionIn } from './errors.ts';
import type { OperationKind, WriterHint } from './regions.ts';

/** What every answer of a node has, whatever else it carries. */
export type NodeAnswer =
  | {
      readonly outcome: 'done';
      readonly position: Position;
      /** Of writes. */
      readonly results?: readonly OperationResult[];
    }
  | {
      readonly outcome: 'refused';
      /** A `RefusalCode`, or one that only a newer node knows. */
      readonly code: string;
      readonly retryAfterMs?: number;
      readonly writer?: WriterHint;
    }
  | { readonly outcome: 'unknown' };

export type DoneAnswer<A> = Extract<A, { readonly outcome: 'done' }>;

/** No answer came. */
export interface AttemptFailure {
  /** `not sent`: certainly not carried out, now or later. */
  readonly outcome: 'not sent' | 'unknown';
  /** Of the transport, or what the node's handler threw. */
  readonly code: string;
  readonly retryAfterMs?: number;
}

export type Verdict =
  /** What was asked for. */
  | { readonly type: 'good' }
  /** The writer judged the write and did nothing. */
  | { readonly type: 'rejected'; readonly result: OperationResult }
  /** It may have been carried out. */
  | { readonly type: 'doubtful' }
  /** Not here. */
  | { readonly type: 'elsewhere' }
  /** Here, but later. */
  | { readonly type: 'later'; readonly afterMs: number }
  /** Nowhere. */
  | ({ readonly type: 'final' } & Final);

interface Final {
  readonly code: ClientErrorCode;
  readonly status?: number;
  readonly message?: string;
}

const COME_BACK_MS = 20;

/** Asking anybody else would be of no use: what one node cannot read, none can. */
const FINAL: Readonly<Record<string, Final>> = {
  LEVEL_TOO_STRONG: { code: 'LEVEL_TOO_STRONG' },
  SESSION_UNDONE: { code: 'SESSION_UNDONE' },
  FEED_UNDONE: { code: 'FEED_UNDONE' },
  FEED_TRIMMED: { code: 'FEED_TRIMMED' },
  FRAME_TOO_LARGE: { code: 'TOO_LARGE' },
  MALFORMED: { code: 'BAD_REQUEST', status: 400, message: 'The nodes cannot understand the request.' },
} satisfies Partial<Record<RefusalCode, Final>> & Record<string, Final>;

/** Only the writer can take a write: it is worth waiting for. Somebody else may well serve a read. */
const WORTH_WAITING: ReadonlySet<string> = new Set(['TOO_MANY_REQUESTS', 'DAMAGED', 'BUSY']);

/** Asking again would be of no use once every region has said so. */
const WHEN_ALL_SAY_SO: Readonly<Record<string, ClientErrorCode>> = {
  NOT_AUTHORIZED: 'NOT_AUTHENTICATED',
  CLUSTER_DIFFERENT: 'INCOMPATIBLE',
  VERSION_UNSUPPORTED: 'INCOMPATIBLE',
  METHOD_UNKNOWN: 'INCOMPATIBLE',
  UNKNOWN_PARTITION_SET: 'PARTITION_SET_UNKNOWN',
  WRONG_PARTITION_SET: 'PARTITION_SET_UNKNOWN',
};

/** The node has no such partition-set, or the partition-set has no such key: the map is out of date. */
export function speaksAgainstMap(code: string): boolean {
  return WHEN_ALL_SAY_SO[code] === 'PARTITION_SET_UNKNOWN';
}

export function judgeAnswer(kind: OperationKind, answer: NodeAnswer): Verdict {
  switch (answer.outcome) {
    case 'done': {
      const result = kind === 'write' ? rejectionIn(answer.results ?? []) : undefined;
      return result === undefined ? { type: 'good' } : { type: 'rejected', result };
    }
    case 'unknown':
      return kind === 'write' ? { type: 'doubtful' } : { type: 'elsewhere' };
    case 'refused':
      return judgeRefusal(kind, answer.code, answer.retryAfterMs);
  }
}

export function judgeFailure(kind: OperationKind, failure: AttemptFailure): Verdict {
  if (failure.outcome === 'unknown' && kind === 'write') return { type: 'doubtful' };
  return judgeRefusal(kind, failure.code, failure.retryAfterMs);
}

/** For diagnostics. */
export function codeOf(answer: NodeAnswer, verdict: Verdict): string {
  if (answer.outcome === 'refused') return answer.code;
  return verdict.type === 'rejected' ? codeOfStatus(verdict.result.status) : answer.outcome.toUpperCase();
}

function judgeRefusal(kind: OperationKind, code: string, retryAfterMs = COME_BACK_MS): Verdict {
  const final = FINAL[code];
  if (final !== undefined) return { type: 'final', ...final };
  if (kind === 'write' && WORTH_WAITING.has(code)) return { type: 'later', afterMs: retryAfterMs };
  return { type: 'elsewhere' };
}

/** The error that it is when these are the answers of all regions; undefined: one of them may change its mind. */
export function agreedRefusal(codes: readonly string[]): ClientErrorCode | undefined {
  const [first, ...rest] = codes.map((code) => WHEN_ALL_SAY_SO[code]);
  return rest.every((code) => code === first) ? first : undefined;
}

/**
 * Why a write may be sent again although it may have been carried out.
 *
 * With an operation id: the server keeps the id with the entry, in every region, and gives the first answer again. As long as
 * the log is not trimmed, that is; so an operation ends with its deadline and is never taken up again after it.
 *
 * With a condition, if the caller allows that: every operation that replaces, patches or deletes *one named version* can be
 * carried out once at most, because no later version of an item ever has the same etag; and a batch is carried out whole or not at
 * all, so one such operation guards all of it. The repetition of a write that had succeeded is rejected, though, so its
 * rejection does not say that nothing was done. A create is not such an operation (the item may be deleted in between), nor an
 * upsert (its condition does not hold for an item that is gone), nor anything with the etag `*`.
 */
export type Repeatable = 'by operation id' | 'by condition' | 'no';

export function repeatable(
  { operation, operations }: Pick<WriteRequest, 'operation' | 'operations'>,
  { conditions = false }: { readonly conditions?: boolean } = {},
): Repeatable {
  if (operation !== undefined) return 'by operation id';
  const isGuarded = operations.some(
    ({ op, ifMatch }) =>
      (op === 'replace' || op === 'patch' || op === 'delete') && ifMatch !== undefined && ifMatch !== '*',
  );
  return conditions && isGuarded ? 'by condition' : 'no';
}
