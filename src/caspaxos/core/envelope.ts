/**
 * What a register's value looks like to the roles: the user's value, how many changes it has seen, and which
 * operations they were (DESIGN: CASPaxos rule 4).
 *
 * A proposal whose outcome is unknown must not be retried blindly: it may have been chosen, or may yet be completed
 * by somebody else. So every change carries an operation id, and the value remembers the last one of each of the
 * proposers that changed it. A retry looks first: its operation is there, so it is done; an older one of the same
 * proposer is there, so it was not applied to this value; neither is there, and then the list must be known to reach
 * back to before the operation began. `floor` says how far back it reaches: the version of the youngest entry that
 * was pushed out of the list.
 *
 * As text: a header of one line, then the value's JSON; nothing after the line break is a tombstone (rule 9).
 */
export interface OperationId {
  /** The process that began the operation: proposer and incarnation. */
  readonly origin: string;
  /** Counts the origin's operations; one register has one in flight at a time (rule 10). */
  readonly sequence: number;
}

interface OperationEntry extends OperationId {
  /** The version that the operation made. */
  readonly version: number;
  /** Which attempt of the operation it was: attempts may have proposed different values. */
  readonly attempt: number;
}

export interface Envelope {
  /** How many changes this value is made of: 0 for a register never written. */
  readonly version: number;
  readonly floor: number;
  /** Youngest last. */
  readonly operations: readonly OperationEntry[];
  /** The value's JSON, or undefined: deleted, or never written. */
  readonly json: string | undefined;
}

/** More proposers than this on one register at a time, and an unknown outcome may stay unknown. */
export const REMEMBERED_OPERATIONS = 16;

export const EMPTY_ENVELOPE: Envelope = Object.freeze({
  version: 0,
  floor: 0,
  operations: [],
  json: undefined,
});

export type Trace =
  | { readonly found: 'applied'; readonly version: number; readonly attempt: number }
  | { readonly found: 'not applied' }
  | { readonly found: 'forgotten' };

/** Whether `operation`, which began when the register was at `sinceVersion`, is part of this value. */
export function trace(envelope: Envelope, operation: OperationId, sinceVersion: number): Trace {
  for (const entry of envelope.operations) {
    if (entry.origin !== operation.origin) continue;
    if (entry.sequence < operation.sequence) return { found: 'not applied' };
    if (entry.sequence > operation.sequence) return { found: 'forgotten' };
    return { found: 'applied', version: entry.version, attempt: entry.attempt };
  }
  return envelope.floor <= sinceVersion ? { found: 'not applied' } : { found: 'forgotten' };
}

/** The value after one more change. */
export function append(
  envelope: Envelope,
  operation: OperationId,
  attempt: number,
  json: string | undefined,
): Envelope {
  const version = envelope.version + 1;
  const entry = { origin: operation.origin, sequence: operation.sequence, version, attempt };
  const [first] = envelope.operations;
  if (envelope.operations.length === 1 && first!.origin === operation.origin) {
    return { version, floor: envelope.floor, operations: [entry], json };
  }
  const operations = envelope.operations.filter(({ origin }) => origin !== operation.origin);
  operations.push(entry);
  let { floor } = envelope;
  while (operations.length > REMEMBERED_OPERATIONS) floor = Math.max(floor, operations.shift()!.version);
  return { version, floor, operations, json };
}

export function encodeEnvelope(envelope: Envelope): string {
  let header = `${envelope.version} ${envelope.floor}`;
  for (const { origin, sequence, version, attempt } of envelope.operations) {
    header += ` ${origin} ${sequence} ${version} ${attempt}`;
  }
  return `${header}\n${envelope.json ?? ''}`;
}

/** Throws a plain Error on anything that `encodeEnvelope` did not write. */
export function decodeEnvelope(text: string | undefined): Envelope {
  if (text === undefined) return EMPTY_ENVELOPE;
  const end = text.indexOf('\n');
  if (end < 0) throw new Error('a register value without a header');
  const fields = text.slice(0, end).split(' ');
  if (fields.length < 2 || (fields.length - 2) % 4 !== 0)
    throw new Error('a register value with a broken header');
  const operations: OperationEntry[] = [];
  for (let at = 2; at < fields.length; at += 4) {
    operations.push({
      origin: fields[at]!,
      sequence: integer(fields[at + 1]!),
      version: integer(fields[at + 2]!),
      attempt: integer(fields[at + 3]!),
    });
  }
  const json = end + 1 < text.length ? text.slice(end + 1) : undefined;
  return { version: integer(fields[0]!), floor: integer(fields[1]!), operations, json };
}

function integer(field: string): number {
  const value = Number(field);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error('a register value with a broken header');
  return value;
}
