/**
 * Every error that a user of the library can meet: one sentence, a stable `code`, and what became of the change.
 * The catalogue with causes and ways out is docs/caspaxos.md; a test keeps the two in step.
 */

/** What became of a change: `rejected` means that it certainly did not and will not happen. */
export type FailedOutcome = 'rejected' | 'unknown';

export const ERROR_CODES = [
  // What the caller passed in.
  'KEY_INVALID',
  'KEY_TOO_LONG',
  'KEY_RESERVED',
  'VALUE_TOO_LARGE',
  'VALUE_NOT_SERIALISABLE',
  'EDITOR_THREW',
  'REJECTED_BY_EDITOR',
  'COMPARISON_FAILED',
  'OPERATION_FORGOTTEN',
  'OPERATION_INVALID',
  'PROPOSER_INVALID',
  // How a change ended.
  'DEADLINE_EXCEEDED',
  'ABORTED',
  'CLOSED',
  'OVERLOADED',
  // Opening a cluster and changing its acceptors.
  'URL_INVALID',
  'SCHEME_UNKNOWN',
  'PACKAGE_MISSING',
  'NO_ACCEPTORS',
  'TOO_MANY_ACCEPTORS',
  'DUPLICATE_ACCEPTOR',
  'EVEN_ACCEPTORS',
  'QUORUMS_INVALID',
  'FIRST_START_INCOMPLETE',
  'CONFIGURATION_CONFLICT',
  'ACCEPTOR_IN_USE',
  'ACCEPTOR_UNCLAIMED',
  'SET_CHANGE_FAILED',
  'RECOVERY_REFUSED',
  'RECOVERY_UNFINISHED',
  // One acceptor.
  'UNREACHABLE',
  'TIMED_OUT',
  'UNAUTHORIZED',
  'CERTIFICATE_REFUSED',
  'REQUEST_TOO_LARGE',
  'PROTOCOL_MISMATCH',
  'CORRUPT_RECORD',
  'ACCEPTOR_EMPTY',
  'ACCEPTOR_FOREIGN',
  'ACCEPTOR_BEHIND',
  'ACCEPTOR_PROMOTED',
  'ACCEPTOR_RECOVERED',
  'ACCEPTOR_UNRECORDED',
  'ACCEPTOR_SUPERSEDED',
  'ACCEPTOR_COPIED',
  'STORE_FAILED',
  'STALE_SET',
  'BALLOT_REUSED',
  'BALLOT_ABSURD',
  'ACCEPTOR_DOUBTED',
  'REGISTER_FAILED',
  // The acceptor service.
  'DATA_LOCKED',
  'DATA_CORRUPT',
  'DISK_FULL',
  'FORMAT_NEWER',
  'LISTEN_FAILED',
  'LISTEN_REFUSED',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export class CasPaxosError extends Error {
  override readonly name = 'CasPaxosError';
  readonly code: ErrorCode;
  readonly outcome: FailedOutcome;

  constructor(code: ErrorCode, message: string, options: { outcome?: FailedOutcome; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.outcome = options.outcome ?? 'rejected';
  }
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return (ERROR_CODES as readonly unknown[]).includes(code);
}

/**
 * An acceptor that has forgotten something it answered. It cannot heal, so whoever finds it makes the finding lasting, and nobody uses
 * that acceptor again. One that is empty shows that by itself, and a foreign one is somebody else's to judge.
 */
const LASTING_CODES = ['ACCEPTOR_BEHIND', 'ACCEPTOR_PROMOTED'] as const satisfies readonly ErrorCode[];

export type LastingCode = (typeof LASTING_CODES)[number];

export function isLastingCode(code: unknown): code is LastingCode {
  return (LASTING_CODES as readonly unknown[]).includes(code);
}

/** Nothing was written, and nothing is forgotten: it goes on by itself when there is room. */
export function diskFull(directory: string, cause?: unknown): CasPaxosError {
  return new CasPaxosError(
    'DISK_FULL',
    `The disk of ${directory} has no room left: nothing more is taken until some is made.`,
    { cause },
  );
}

/** Another memory answers at the address of an acceptor: it is not used, and the right one is again when it is back there. */
export function notThere(
  url: string,
  code: 'ACCEPTOR_EMPTY' | 'ACCEPTOR_FOREIGN',
  why: string,
): CasPaxosError {
  return new CasPaxosError(
    code,
    `Acceptor ${url} is not used: ${why}. Put the right one back there, or replace it.`,
  );
}

/** Anything thrown, as an error of ours. */
export function asCasPaxosError(error: unknown, code: ErrorCode, prefix: string): CasPaxosError {
  if (error instanceof CasPaxosError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new CasPaxosError(code, `${prefix}: ${reason}`, { cause: error });
}
