/** Between a caller's editor and the protocol: values in, JSON out, and what a finished proposal means to the caller. */
import type {
  ChangeVerdict,
  EditDecision,
  JsonEditor,
  ProposalResult,
  RegisterChange,
} from './core/index.ts';
import { asCasPaxosError, CasPaxosError, type ErrorCode, isErrorCode } from './errors.ts';
import type { ChangeOutcome, Unknown } from './outcomes.ts';
import { checkLength, encodeValue } from './values.ts';

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

/**
 * How a register's values become JSON and back, for a caller who knows more of them than that they are JSON. Its values are
 * never changed in place: one may be handed out twice.
 */
export interface Codec<T> {
  /**
   * Throws on what `encode` would not write; the register is then left as it is. One that cannot read what it has written
   * itself fails its caller, not the register: the change is committed all the same.
   */
  decode(json: string): T;
  /** JSON text. */
  encode(value: T): string;
}

/** Any JSON, and a copy of it for everybody who asks. */
export function anyJson<T>(maxBytes: number): Codec<T> {
  return { decode: (json) => JSON.parse(json) as T, encode: (value) => encodeValue(value, maxBytes) };
}

/** What the codec writes, as long as it is not too much. */
export function within<T>(codec: Codec<T>, maxBytes: number): Codec<T> {
  return {
    decode: (json) => codec.decode(json),
    encode: (value) => checkLength(codec.encode(value), maxBytes),
  };
}

/** The editor that changes nothing. */
export const keep: JsonEditor = (json) => (json === undefined ? { type: 'delete' } : { type: 'set', json });

export function decide<T>(editor: Editor<T>, json: string | undefined, codec: Codec<T>): EditDecision {
  let edited: T | undefined | Rejection;
  try {
    edited = editor(json === undefined ? undefined : codec.decode(json));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { type: 'reject', code: 'EDITOR_THREW', message: `The editor threw: ${message}` };
  }
  if (edited instanceof Rejection) return { type: 'reject', code: edited.code, message: edited.reason };
  if (edited === undefined) return { type: 'delete' };
  try {
    return { type: 'set', json: codec.encode(edited) };
  } catch (error) {
    // A getter that throws, nesting without end: whatever it is, the value is not JSON.
    const { code, message } = asCasPaxosError(error, 'VALUE_NOT_SERIALISABLE', 'The value cannot be stored');
    return { type: 'reject', code, message };
  }
}

/** An outcome as the register knows it: its values are JSON text. */
export type JsonOutcome = ChangeOutcome<string>;

/**
 * Runs no caller's code, so it cannot throw: a register goes on after it. `endedBecause`: the deadline or the abort that ended
 * the proposal, if one did.
 */
export function outcomeOf(
  result: ProposalResult<string>,
  change: RegisterChange,
  endedBecause: CasPaxosError | undefined,
): JsonOutcome {
  if (result.outcome === 'committed') return outcomeOfVerdict(change.verdict, change);
  if (endedBecause === undefined && change.verdict.type === 'rejected')
    endedBecause = refusalOf(change.verdict);
  const { code, message } = endedBecause ?? new CasPaxosError('ABORTED', 'The change was ended.');
  const error = new CasPaxosError(code, message, { outcome: result.outcome });
  return result.outcome === 'rejected' ? { outcome: 'rejected', error } : unknown(error, change);
}

/** The outcome as its caller knows it. Throws what the codec throws at a committed value. */
export function decodeOutcome<T>(outcome: JsonOutcome, codec: Codec<T>): ChangeOutcome<T> {
  if (outcome.outcome === 'unknown') return outcome;
  if (outcome.outcome === 'committed') return { ...outcome, value: valueIn(outcome.value, codec) };
  const { error, current } = outcome;
  if (current === undefined) return { outcome: 'rejected', error };
  try {
    const { version } = current;
    return { outcome: 'rejected', error, current: { value: valueIn(current.value, codec), version } };
  } catch {
    // That it cannot be read may be the very reason.
    return { outcome: 'rejected', error };
  }
}

function outcomeOfVerdict(verdict: ChangeVerdict, change: RegisterChange): JsonOutcome {
  const attempts = Math.max(1, change.attempts);
  switch (verdict.type) {
    case 'changed':
    case 'unchanged': {
      const { version, json, type } = verdict;
      const changed = type === 'changed';
      return {
        outcome: 'committed',
        value: json,
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
      const current = { value: verdict.json, version: verdict.version };
      return { outcome: 'rejected', error: refusalOf(verdict), current };
    }
    case 'forgotten': {
      const message = 'Too many other changes have happened since to tell what became of this one.';
      return unknown(new CasPaxosError('OPERATION_FORGOTTEN', message, { outcome: 'unknown' }), change);
    }
  }
}

function refusalOf({ code, message }: ChangeVerdict & { type: 'rejected' }): CasPaxosError {
  return new CasPaxosError(isErrorCode(code) ? code : 'REJECTED_BY_EDITOR', message);
}

function unknown(error: CasPaxosError, { operation, sinceVersion, attempts }: RegisterChange): Unknown {
  const { origin, sequence } = operation;
  return { outcome: 'unknown', error, operation: { origin, sequence, sinceVersion, attempts } };
}

function valueIn<T>(json: string | undefined, codec: Codec<T>): T | undefined {
  return json === undefined ? undefined : codec.decode(json);
}
