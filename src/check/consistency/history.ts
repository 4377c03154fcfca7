/**
 * What a run of the document store leaves behind for the checkers of the consistency levels: every call of every client
 * with what the server told it, the *final log* on which all copies agree after healing, and the list of undone writes.
 *
 * One record is one partition-set. All times are on one clock: milliseconds of the simulator, or the indices of events where
 * no bound in time is checked. A call that ends at the instant another starts is concurrent with it.
 *
 * The log lists every entry, one row for each document that the entry changed; an entry that changed none (a mark of a new
 * writer) has one row without a key. Values of writes are unique in a run. A position compares as (epoch, LSN), and
 * (0, 0) is before the first entry.
 */

export interface Position {
  readonly epoch: number;
  readonly lsn: number;
}

/** The strongest first. */
export const CONSISTENCY_LEVELS = [
  'Strong',
  'BoundedStaleness',
  'Session',
  'ConsistentPrefix',
  'Eventual',
] as const;

export type ConsistencyLevel = (typeof CONSISTENCY_LEVELS)[number];

interface ClientCall {
  /** The name of this call, unique in the run. */
  readonly id: string;
  readonly client: string;
  /** Calls of one session follow one another's answers; several clients may share one. */
  readonly session: string;
  /** Where the call was served, or sent if no answer came. */
  readonly region: string;
  readonly key: string;
  readonly start: number;
  /** Absent: no answer came. */
  readonly end?: number | undefined;
  /** `failed`: certainly not applied. `unknown`: applied once, now or later, or never. */
  readonly outcome: 'ok' | 'failed' | 'unknown';
  /** A read: what it was read at. A write: the account's level. */
  readonly level: ConsistencyLevel;
  readonly tokenSent?: Position | undefined;
  readonly tokenReceived?: Position | undefined;
}

export interface ClientWrite extends ClientCall {
  readonly kind: 'write' | 'delete';
  /** The client's name for the write; a repeated attempt is another call with the same name. */
  readonly operation: string;
  /** Of a write; a deletion has none. */
  readonly value?: string | undefined;
  /** A conditional write: the version it replaces, or that there is no document. */
  readonly condition?: Position | 'absent' | undefined;
  /** The entry that the answer named. */
  readonly position?: Position | undefined;
}

export interface ClientRead extends ClientCall {
  readonly kind: 'read';
  /** Absent: there was no document. */
  readonly value?: string | undefined;
  /** The version that was read, if told. Of a read that found nothing: the deletion, or (0, 0) for never written. */
  readonly version?: Position | undefined;
  /** The end of the log that the answer was made from, if told: its last entry, perhaps under a later epoch. */
  readonly snapshot?: Position | undefined;
  /** Reads with one name were answered together, from one snapshot. */
  readonly batch?: string | undefined;
}

export type ClientOperation = ClientWrite | ClientRead;

export interface LogRow extends Position {
  readonly key?: string | undefined;
  /** Absent: deleted. */
  readonly value?: string | undefined;
  readonly operation?: string | undefined;
}

export interface UndoneWrite extends LogRow {
  /** Who undid it. */
  readonly region: string;
  /** The entry before it in the log it was in, if known; otherwise the likeliest is taken. */
  readonly previous?: Position | undefined;
  /** The current history contains the write again (rule 21). */
  readonly closed?: boolean | undefined;
}

export interface RunRecord {
  readonly operations: readonly ClientOperation[];
  /** In the order of the log. */
  readonly log: readonly LogRow[];
  readonly undone: readonly UndoneWrite[];
  /** From here on all faults are healed, all copies have caught up, and nobody writes. */
  readonly quietFrom?: number | undefined;
}

export const BEFORE_ALL: Position = { epoch: 0, lsn: 0 };

export function positionOrder(a: Position, b: Position): number {
  return a.epoch - b.epoch || a.lsn - b.lsn;
}

export function samePosition(a: Position, b: Position): boolean {
  return a.epoch === b.epoch && a.lsn === b.lsn;
}

export function laterOf(a: Position, b: Position): Position {
  return positionOrder(a, b) >= 0 ? a : b;
}

/** For people: `2:17`. */
export function formatPosition({ epoch, lsn }: Position): string {
  return `${epoch}:${lsn}`;
}

/** `Strong` is at least everything; everything is at least `Eventual`. */
export function isAtLeast(level: ConsistencyLevel, wanted: ConsistencyLevel): boolean {
  return CONSISTENCY_LEVELS.indexOf(level) <= CONSISTENCY_LEVELS.indexOf(wanted);
}

/** The same run, judged as if every call had been made at this level. */
export function judgedAt(record: RunRecord, level: ConsistencyLevel): RunRecord {
  return { ...record, operations: record.operations.map((operation) => ({ ...operation, level })) };
}

/** For people: `read r7 of "a" in east (from 3 to 5)`. */
export function formatOperation(operation: ClientOperation): string {
  const { id, kind, key, region, start, end } = operation;
  return `${kind} ${id} of ${JSON.stringify(key)} in ${region} (from ${start} ${end === undefined ? 'with no answer' : `to ${end}`})`;
}
