/** What the public calls of a cluster take and return. */
import type { Backoff, OperationId } from './core/index.ts';
import type { Codec } from './editing.ts';
import type { CasPaxosError } from './errors.ts';

export interface CallOptions {
  /** How long the caller is prepared to wait; the cluster's default otherwise. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long this call waits after a lost attempt; as the cluster does otherwise. */
  readonly backoff?: Backoff | undefined;
}

export interface Coded<T> {
  /** How the register's values are written: as JSON.stringify would, if nobody says. */
  readonly codec?: Codec<T> | undefined;
}

export interface ChangeOptions extends CallOptions {
  /** Continue an operation whose outcome was unknown: it is applied now if it was not before, never twice. */
  readonly retryOf?: UnknownOperation | undefined;
}

/** Enough to find out later, from any process, what became of an operation. Plain JSON: it may be stored. */
export interface UnknownOperation extends OperationId {
  readonly sinceVersion: number;
  readonly attempts: number;
}

/** The change is chosen, and every later change and read builds on it. */
export interface Committed<T> {
  readonly outcome: 'committed';
  /** The register's value right after this change; undefined: deleted, or `appliedBefore`. */
  readonly value: T | undefined;
  /** How many changes the register has seen, this one included. */
  readonly version: number;
  /** False when the editor returned what was there already. */
  readonly changed: boolean;
  /** A retried operation that had been applied by an earlier call, whose value is no longer known. */
  readonly appliedBefore: boolean;
  readonly attempts: number;
}

/** The change did not happen and will not. */
export interface Rejected<T> {
  readonly outcome: 'rejected';
  readonly error: CasPaxosError;
  /** What was there, when that was the reason: a chosen value, never a tentative one. */
  readonly current?: { readonly value: T | undefined; readonly version: number };
}

/** The change may have happened, or may yet happen. Never repeat it blindly: pass `operation` as `retryOf`. */
export interface Unknown {
  readonly outcome: 'unknown';
  readonly error: CasPaxosError;
  readonly operation: UnknownOperation;
}

export type ChangeOutcome<T> = Committed<T> | Rejected<T> | Unknown;

export interface ReadResult<T> {
  /** Undefined: deleted, or never written. */
  readonly value: T | undefined;
  /** 0: never written. */
  readonly version: number;
}

/** For callers who prefer exceptions: the committed outcome, or its error thrown. */
export function committed<T>(outcome: ChangeOutcome<T>): Committed<T> {
  if (outcome.outcome === 'committed') return outcome;
  throw outcome.error;
}
