/**
 * What can go wrong, as users of the SDK see it: a stable code, one sentence, whether the operation may have been carried
 * out all the same, and whether asking again later may help. The SDK makes `Error`s of it; nothing here throws.
 *
 * `outcome` is the field that matters. `notApplied` is a promise: no attempt was or will be carried out. Everything else is
 * `unknown`.
 */

interface ErrorKind {
  readonly message: string;
  /** The same request may succeed later. */
  readonly retryable: boolean;
}

export const CLIENT_ERRORS = {
  BAD_REQUEST: { message: 'The request is not valid.', retryable: false },
  NOT_FOUND: { message: 'There is no item with this id and partition key.', retryable: false },
  CONFLICT: { message: 'An item with this id and partition key already exists.', retryable: false },
  PRECONDITION_FAILED: {
    message: 'The item is not at the version that the request names.',
    retryable: false,
  },
  TOO_LARGE: { message: 'The item or the batch is larger than is allowed.', retryable: false },
  REJECTED: { message: 'The write was rejected.', retryable: false },
  THROTTLED: { message: 'The partition was overloaded until the deadline.', retryable: true },
  DEADLINE: { message: 'The operation did not finish before its deadline.', retryable: true },
  OUTCOME_UNKNOWN: {
    message:
      'The answer was lost, or a failover came before the write was committed, and without an operation id it cannot be repeated safely.',
    retryable: false,
  },
  ATTEMPTS_EXHAUSTED: { message: 'The operation reached the limit of attempts.', retryable: true },
  ABORTED: { message: 'The caller aborted the operation.', retryable: false },
  UNREACHABLE: { message: 'No region could be reached before the deadline.', retryable: true },
  NOT_WRITER_HERE: { message: 'The requested region does not accept writes now.', retryable: true },
  NOT_AUTHENTICATED: { message: 'No region accepts the token or the certificate.', retryable: false },
  INCOMPATIBLE: {
    message: 'No region speaks this version of the protocol for this cluster.',
    retryable: false,
  },
  PARTITION_SET_UNKNOWN: {
    message: 'No region knows this partition-set; the map of the container is out of date.',
    retryable: true,
  },
  LEVEL_TOO_STRONG: {
    message: 'The account has a weaker consistency level than the request asks for.',
    retryable: false,
  },
  SESSION_UNDONE: { message: 'A failover undid what the session had seen.', retryable: false },
  FEED_UNDONE: {
    message: 'A failover undid changes that were already read from the feed.',
    retryable: false,
  },
  FEED_TRIMMED: {
    message: 'The log no longer reaches back to the position that the feed was read up to.',
    retryable: false,
  },
  TOKEN_INVALID: {
    message: 'The session token or continuation is damaged, or was not made by Baton.',
    retryable: false,
  },
  TOKEN_NEWER: {
    message: 'The session token or continuation was made by a newer version of Baton.',
    retryable: false,
  },
} as const satisfies Record<string, ErrorKind>;

export type ClientErrorCode = keyof typeof CLIENT_ERRORS;

/** Of a write that did not succeed; a read is never applied. */
export type FailureOutcome = 'notApplied' | 'unknown';

export interface ClientFailure {
  readonly code: ClientErrorCode;
  readonly message: string;
  readonly outcome: FailureOutcome;
  readonly retryable: boolean;
  /** HTTP-like, of a write that the server rejected. */
  readonly status?: number;
  /** What the last attempt ended with. */
  readonly last?: string;
}

export function failureOf(
  code: ClientErrorCode,
  outcome: FailureOutcome,
  details: { readonly message?: string | undefined; readonly status?: number; readonly last?: string } = {},
): ClientFailure {
  const { message, retryable } = CLIENT_ERRORS[code];
  const { status, last } = details;
  return {
    code,
    message: details.message ?? message,
    outcome,
    retryable,
    ...(status !== undefined && { status }),
    ...(last !== undefined && { last }),
  };
}

const OF_STATUS: Readonly<Record<number, ClientErrorCode>> = {
  400: 'BAD_REQUEST',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  412: 'PRECONDITION_FAILED',
  413: 'TOO_LARGE',
};

/** 424 says that another operation of the batch is to blame. */
const BECAUSE_OF_ANOTHER = 424;

/** The result that a write failed with, if it did: in a batch, of the operation that is to blame. */
export function rejectionIn<R extends { readonly status: number }>(results: readonly R[]): R | undefined {
  const failed = results.filter(({ status }) => status >= 400);
  return failed.find(({ status }) => status !== BECAUSE_OF_ANOTHER) ?? failed[0];
}

export function codeOfStatus(status: number): ClientErrorCode {
  return OF_STATUS[status] ?? 'REJECTED';
}
