/** Between a caller's editor and the protocol: values in, JSON out, and what a finished proposal means to the caller. */
import type {
  ChangeVerdict,
  EditDecision,
  JsonEditor,
  ProposalResult,
  RegisterChange,
} from './core/index.ts';
import { asCasPaxosError, CasPaxosError, type ErrorCode, isErrorCode } from './errors.ts';
import type { ChangeOutcome } from './outcomes.ts';
import { encodeValue } from './values.ts';

/** Pure: it may run many times. Returns the new value, `undefined` to delete, or `reject(reason)`. */
export type Editor<T> = (current: T | undefined) => T | undefined | Rejection;

/** What an editor returns to leave the register as it is and tell its caller why. */
export class Rejection {
  readonly reason: string;
  readonly code: ErrorCode;

  constructor(reason: string, code: ErrorCode = 'REJECTED_BY_EDITOR') {
    this.reason = reason;
    this.code = code;
  }
}

export function reject(reason: string): Rejection {
  return new Rejection(reason);
}

/** The editor that changes nothing. */
export const keep: JsonEditor = (json) => (json === undefined ? { type: 'delete' } : { type: 'set', json });

export function decide<T>(editor: Editor<T>, json: string | undefined, maxBytes: number): EditDecision {
  let edited: T | undefined | Rejection;
  try {
    edited = editor(json === undefined ? undefined : (JSON.parse(json) as T));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { type: 'reject', code: 'EDITOR_THREW', message: `The editor threw: ${message}` };
  }
  if (edited instanceof Rejection) return { type: 'reject', code: edited.code, message: edited.reason };
  if (edited === undefined) return { type: 'delete' };
  try {
    return { type: 'set', json: encodeValue(edited, maxBytes) };
  } catch (error) {
    // A getter that throws, nesting without end: whatever it is, the value is not JSON.
    const { code, message } = asCasPaxosError(error, 'VALUE_NOT_SERIALISABLE', 'The value cannot be stored');
    return { type: 'reject', code, message };
  }
}

/** `endedBecause`: the deadline or the abort that ended the proposal, if one did. */
export function outcomeOf<T>(
  result: ProposalResult<string>,
  change: RegisterChange,
  endedBecause: CasPaxosError | undefined,
): ChangeOutcome<T> {
  if (result.outcome === 'committed') return outcomeOfVerdict<T>(change.verdict, change);
  const { code, message } = endedBecause ?? new CasPaxosError('ABORTED', 'The change was ended.');
  const error = new CasPaxosError(code, message, { outcome: result.outcome });
  return result.outcome === 'rejected' ? { outcome: 'rejected', error } : unknown(error, change);
}

function outcomeOfVerdict<T>(verdict: ChangeVerdict, change: RegisterChange): ChangeOutcome<T> {
  const attempts = Math.max(1, change.attempts);
  switch (verdict.type) {
    case 'changed':
    case 'unchanged': {
      const { version, json, type } = verdict;
      const changed = type === 'changed';
      return {
        outcome: 'committed',
        value: parse<T>(json),
        version,
        changed,
        appliedBefore: false,
        attempts,
      };
    }
    case 'applied before': {
      const { version } = verdict;
      return {
        outcome: 'committed',
        value: undefined,
        version,
        changed: true,
        appliedBefore: true,
        attempts,
      };
    }
    case 'rejected': {
      const code = isErrorCode(verdict.code) ? verdict.code : 'REJECTED_BY_EDITOR';
      const current = { value: parse<T>(verdict.json), version: verdict.version };
      return { outcome: 'rejected', error: new CasPaxosError(code, verdict.message), current };
    }
    case 'forgotten': {
      const message = 'Too many other changes have happened since to tell what became of this one.';
      return unknown(new CasPaxosError('OPERATION_FORGOTTEN', message, { outcome: 'unknown' }), change);
    }
  }
}

function unknown<T>(
  error: CasPaxosError,
  { operation, sinceVersion, attempts }: RegisterChange,
): ChangeOutcome<T> {
  const { origin, sequence } = operation;
  return { outcome: 'unknown', error, operation: { origin, sequence, sinceVersion, attempts } };
}

function parse<T>(json: string | undefined): T | undefined {
  return json === undefined ? undefined : (JSON.parse(json) as T);
}
