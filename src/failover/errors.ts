/** Failures at this room's boundary. Codes are stable; the catalogue is in docs/failover.md. */
import type { RefusalCode } from './core/index.ts';

export const FAILOVER_ERRORS = {
  PARTITION_SET_UNKNOWN: 'the acceptors hold no state of that partition-set',
  UPDATE_FAILED: 'a state update could not be done, or its outcome is unknown',
} as const;

export type FailoverErrorCode = keyof typeof FAILOVER_ERRORS | RefusalCode;

export class FailoverError extends Error {
  override readonly name = 'FailoverError';
  readonly code: FailoverErrorCode;
  /** The field of a state or report that is wrong. */
  readonly field: string | undefined;

  constructor(code: FailoverErrorCode, message: string, field?: string) {
    super(message);
    this.code = code;
    this.field = field;
  }
}
