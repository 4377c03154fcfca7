/**
 * What the database knows of a partition besides its log and indices, in two records.
 *
 * The partition's own record says where its data are and where its log begins. It changes with what the protocol asks for,
 * and is in the journal before anybody relies on it.
 *
 * The record of work says how far the work in the background has got: flushes of the indices, and trimming. It is written
 * by nobody but the commit that holds that work, and never stands in the journal: a crash loses both or none. It belongs to the
 * data, and goes with them. Only an undo has a word in it: what it cuts off the log cannot count as indexed, and the work may
 * not be in the database yet; so the partition's record carries the cut until work has been done that knows of it.
 */
import { numberKey } from './keys.ts';

export interface PartitionRecord {
  readonly name: string;
  /** Of notes and undone writes. */
  readonly number: number;
  /** Of log and indices; another one after a full copy has begun. */
  readonly data: number;
  readonly base: number;
  /** Of the last entry below `base`. */
  readonly baseEpoch: number;
  /** Undos so far, and the lowest LSN that was kept by those that the record of work does not know. */
  readonly cuts: number;
  readonly cut: number;
  /** Trimming had nothing to look at up to this LSN when these data began. */
  readonly passed: number;
}

export interface Work {
  /** The indices in the database have everything up to this LSN. */
  readonly indexed: number;
  /** Trimming has looked at the entries up to this LSN. */
  readonly passed: number;
  /** Bytes of the log, and up to which LSN they were counted. */
  readonly bytes: number;
  readonly counted: number;
  /** Undos that it knows of. */
  readonly cuts: number;
}

export function newRecord(name: string, number: number, data: number): PartitionRecord {
  return { name, number, data, base: 1, baseEpoch: 0, cuts: 0, cut: 0, passed: 0 };
}

/** Of data that no work has been done for yet. */
export function newWork({ passed, cuts }: PartitionRecord): Work {
  return { indexed: 0, passed, bytes: 0, counted: 0, cuts };
}

/** Up to which LSN the indices in the database can be relied on. */
export function indexedIn({ cuts, cut }: PartitionRecord, work: Work): number {
  return work.cuts === cuts ? work.indexed : Math.min(work.indexed, cut);
}

/** Bytes of the log, and up to which LSN; if some of it was cut off since, about. */
export function countedIn(
  record: PartitionRecord,
  { passed, bytes, counted, cuts }: Work,
): Pick<Work, 'bytes' | 'counted'> {
  if (cuts === record.cuts || counted <= record.cut) return { bytes, counted };
  return { bytes: (bytes * (record.cut - passed)) / (counted - passed), counted: record.cut };
}

/** An undo that kept the log up to this LSN. `storedCuts`: what the record of work in the database knows of. */
export function withCut(record: PartitionRecord, storedCuts: number, lsn: number): PartitionRecord {
  const cut = storedCuts === record.cuts ? lsn : Math.min(record.cut, lsn);
  return { ...record, cuts: record.cuts + 1, cut };
}

/** Where the records of all partitions lie. */
export const RECORDS = { start: Buffer.from('partition/'), end: Buffer.from('partition0') };

export function recordKey(number: number): Buffer {
  return Buffer.concat([RECORDS.start, numberKey(number)]);
}

export function notesKey(number: number): Buffer {
  return Buffer.concat([Buffer.from('notes/'), numberKey(number)]);
}

/** By the number of the data. */
export function workKey(data: number): Buffer {
  return Buffer.concat([Buffer.from('work/'), numberKey(data)]);
}
