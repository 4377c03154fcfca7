/**
 * One partition in its node's database. The log is written with the commit that makes it durable; the indices follow in
 * flushes (`overlay.ts`), and `indexed` says how far; what is behind is read again when the partition is opened. A trim
 * moves `base` at once and takes entries away in steps (`trimming.ts`); `passed` says how far.
 *
 * All writes go into the node's queue, and a commit takes the queue as a whole: what one call writes is on disk together.
 */
import { assert } from '../../protocol/index.ts';
import {
  BEGINNING,
  DamagedEntry,
  type DocumentKey,
  type Entry,
  keyText,
  NEW_NOTES,
  type PartitionNotes,
  type PartitionStore,
  type Position,
  type ScanOptions,
  sizeOf,
  type UndoneEntry,
  type Version,
  versionIn,
} from '../core/index.ts';

import { encodeEntry } from '../entry-codec.ts';
import type { Place } from './document-index.ts';
import { EngineStorageError } from './errors.ts';
import { splitText } from './key-order.ts';
import { isKeyable, numberKey } from './keys.ts';
import { PartitionData } from './partition-data.ts';
import { readRecord, writeRecord } from './records.ts';
import type { Tables } from './tables.ts';
import { changeIn } from './trimming.ts';
import { UndoneList } from './undone-list.ts';
import type { WriteQueue } from './write-queue.ts';

/** Below `base` entries are looked for in steps. */
const LOOK_STEP = 1000;

/** What a partition gets from its node. */
export interface Node {
  readonly tables: Tables;
  readonly queue: WriteQueue;
  /** There is something to commit. */
  touch(partition: LmdbPartition): void;
  sync(done: (error: Error | undefined) => void): void;
  /** A number that no data have. */
  newNumber(): number;
  /** The data with this number are not needed any more. */
  discard(number: number): void;
}

/** A partition's own record. */
export interface PartitionRecord {
  readonly name: string;
  /** Of notes and undone writes. */
  readonly number: number;
  /** Of log and indices; another one after a full copy has begun. */
  readonly data: number;
  readonly base: number;
  /** Of the last entry below `base`. */
  readonly baseEpoch: number;
  /** Trimming has looked at the entries up to this LSN. */
  readonly passed: number;
  /** The indices in the database have everything up to this LSN. */
  readonly indexed: number;
  /** Bytes of the log, and up to which LSN they were counted. */
  readonly bytes: number;
  readonly counted: number;
}

export function newRecord(name: string, number: number, data: number): PartitionRecord {
  return { name, number, data, base: 1, baseEpoch: 0, passed: 0, indexed: 0, bytes: 0, counted: 0 };
}

/** Where the records of all partitions lie. */
export const RECORDS = { start: Buffer.from('partition/'), end: Buffer.from('partition0') };

export function recordKey(number: number): Buffer {
  return Buffer.concat([RECORDS.start, numberKey(number)]);
}

export function notesKey(number: number): Buffer {
  return Buffer.concat([Buffer.from('notes/'), numberKey(number)]);
}

export class LmdbPartition implements PartitionStore {
  readonly #node: Node;
  readonly #undone: UndoneList;
  #record: PartitionRecord;
  #isRecordChanged = false;
  #notes: PartitionNotes;
  #areNotesChanged = false;
  #data: PartitionData;
  #tail: Position;
  /** Of the entries that trimming has not passed yet. */
  #unpassedBytes: number;
  /** The share of those that is below `base`, as an estimate until trimming has seen them. */
  #trimmedBytes = 0;
  /** An entry that the indices need and that cannot be read: until it is replaced they are not to be trusted. */
  #unindexed: number | undefined;
  /** LSN up to which the flush that is under way brings the indices. */
  #flushTo: number | undefined;
  #isFlushWanted = false;
  /** Trimming met something unreadable. */
  #isTrimStuck = false;

  constructor(node: Node, record: PartitionRecord) {
    const { tables, queue } = node;
    this.#node = node;
    this.#record = record;
    this.#notes =
      readRecord<PartitionNotes>(
        tables.meta.get(notesKey(record.number)),
        `the notes of partition-set ${record.name}`,
      ) ?? NEW_NOTES;
    this.#undone = new UndoneList(tables, queue, record.number);
    this.#data = new PartitionData(tables, queue, record.data);
    this.#unpassedBytes = record.bytes;
    this.#tail = this.#findTail();
    this.#estimateTrimmed();
    this.#readAgain();
  }

  get notes(): PartitionNotes {
    return this.#notes;
  }

  get tail(): Position {
    return this.#tail;
  }

  get base(): number {
    return this.#record.base;
  }

  get logBytes(): number {
    return Math.max(0, Math.round(this.#unpassedBytes - this.#trimmedBytes));
  }

  newest(key: DocumentKey): Version | undefined {
    this.#checkIndex();
    const place = this.#data.index.find(keyText(key));
    if (place === undefined || (place.isDeleted && place.lsn < this.base)) return undefined;
    return this.#versionAt(key, place);
  }

  version(key: DocumentKey, lsn: number): Version | undefined {
    const entry = this.entry(lsn);
    const change = entry && changeIn(entry, key);
    return change && versionIn(entry, change);
  }

  entry(lsn: number): Entry | undefined {
    if (lsn < 1 || lsn > this.#tail.lsn) return undefined;
    const entry = this.#data.log.get(lsn);
    if (entry === undefined && lsn >= this.base) throw new DamagedEntry(lsn);
    return entry;
  }

  entriesAfter(lsn: number, maxBytes: number): readonly Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    for (const next of this.#lsnsAfter(lsn)) {
      const entry = this.entry(next);
      if (entry === undefined) continue;
      bytes += sizeOf(entry);
      if (entries.length > 0 && bytes > maxBytes) break;
      entries.push(entry);
    }
    return entries;
  }

  operation(id: string): Entry | undefined {
    this.#checkIndex();
    const lsn = this.#data.index.operation(id);
    if (lsn === undefined || lsn < this.base) return undefined;
    const entry = this.entry(lsn);
    if (entry?.operation !== id) throw new DamagedEntry(lsn);
    return entry;
  }

  scan({ limit, ...range }: ScanOptions): readonly Version[] {
    this.#checkIndex();
    return this.#versionsAt(this.#data.index.range(range), limit);
  }

  expired(at: number, limit: number): readonly Version[] {
    this.#checkIndex();
    return this.#versionsAt(this.#data.index.expired(at), limit);
  }

  undone(): Iterable<UndoneEntry> {
    return this.#undone.all();
  }

  append(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#checkNext(entry);
      const bytes = encodeEntry(entry).length;
      if (entry.lsn >= this.base) {
        this.#data.add(entry);
        this.#unpassedBytes += bytes;
      } else this.#data.addCopied(entry);
      this.#tail = { epoch: entry.epoch, lsn: entry.lsn };
    }
    this.#node.touch(this);
  }

  truncate(lsn: number, undoneAt: number): void {
    assert(lsn >= this.base - 1, 'only what is in the log can be undone');
    if (lsn >= this.#tail.lsn) return;
    const undone: Entry[] = [];
    // All are read before anything is changed: one that is damaged must not leave half of it done.
    for (let last = this.#tail.lsn; last > lsn; last -= 1) undone.push(this.entry(last)!);
    this.#tail = this.#positionOf(lsn);
    for (const entry of undone) {
      this.#undone.add(entry, undoneAt);
      this.#unpassedBytes -= encodeEntry(entry).length;
    }
    this.#data.undo(undone, this.base);
    if (this.#flushTo !== undefined) this.#flushTo = Math.min(this.#flushTo, lsn);
    this.#change({ indexed: Math.min(this.#record.indexed, lsn) });
  }

  replace(entry: Entry): void {
    assert(entry.lsn <= this.#tail.lsn, 'only an entry of the log can be replaced');
    this.#data.log.put(entry);
    this.#isTrimStuck = false;
    if (this.#unindexed === entry.lsn) this.#readAgain();
    this.#node.touch(this);
  }

  trim(lsn: number): void {
    assert(lsn <= this.#tail.lsn, 'only what is in the log can be trimmed');
    if (lsn < this.base) return;
    const { epoch } = this.#positionOf(lsn);
    this.#isTrimStuck = false;
    this.#isFlushWanted = true;
    this.#change({ base: lsn + 1, baseEpoch: epoch });
    this.#estimateTrimmed();
  }

  clear(base: number): void {
    const { tables, queue } = this.#node;
    const { name, number, data: old } = this.#record;
    const data = this.#node.newNumber();
    this.#node.discard(old);
    this.#data = new PartitionData(tables, queue, data);
    this.#tail = BEGINNING;
    this.#unpassedBytes = 0;
    this.#trimmedBytes = 0;
    this.#unindexed = undefined;
    this.#flushTo = undefined;
    this.#change({ ...newRecord(name, number, data), base, passed: base - 1 });
  }

  note(changes: Partial<PartitionNotes>): void {
    this.#notes = { ...this.#notes, ...changes };
    this.#areNotesChanged = true;
    this.#node.touch(this);
  }

  closeUndone(position: Position, how: NonNullable<UndoneEntry['closed']>): void {
    this.#undone.close(position, how);
    this.#node.touch(this);
  }

  sync(done: (error: Error | undefined) => void): void {
    this.#node.sync(done);
  }

  // For the node.

  /** Changes that wait for a flush of the indices. */
  get unflushed(): number {
    return this.#data.index.unflushed;
  }

  wantFlush(): void {
    this.#isFlushWanted = true;
  }

  get isFlushing(): boolean {
    return this.#flushTo !== undefined;
  }

  /** Whether there is work that nobody waits for. */
  get hasWork(): boolean {
    const { base, indexed } = this.#record;
    const needsFlush = this.#isFlushWanted && (this.unflushed > 0 || indexed < base - 1);
    return (needsFlush && this.#unindexed === undefined) || this.#flushTo !== undefined || this.#canPass;
  }

  /** A commit of the database begins: some of the work is done for it. Returns how much. */
  begin(limit: number, isLast = false): number {
    const flushed = this.#flush(limit);
    const done = isLast ? flushed : flushed + this.#pass(limit - flushed);
    this.settle();
    this.#data.begin();
    this.#undone.begin();
    return done;
  }

  /** Everything that was changed and is not in the queue yet goes there. */
  settle(): void {
    const { queue, tables } = this.#node;
    const { number } = this.#record;
    if (this.#isRecordChanged) {
      this.#record = { ...this.#record, bytes: this.#unpassedBytes, counted: this.#tail.lsn };
      queue.put(tables.meta, recordKey(number), writeRecord(this.#record));
    }
    if (this.#areNotesChanged) queue.put(tables.meta, notesKey(number), writeRecord(this.#notes));
    this.#isRecordChanged = false;
    this.#areNotesChanged = false;
  }

  committed(): void {
    this.#data.committed();
    this.#undone.committed();
  }

  #flush(limit: number): number {
    const { index } = this.#data;
    if (this.#flushTo === undefined) {
      if (!this.#isFlushWanted || this.#unindexed !== undefined || index.isFlushing) return 0;
      this.#isFlushWanted = false;
      this.#flushTo = this.#tail.lsn;
      index.beginFlush();
    }
    const { written, isDone } = index.flush(limit, this.base);
    if (isDone) {
      this.#setRecord({ indexed: this.#flushTo });
      this.#flushTo = undefined;
    }
    return written;
  }

  /** Trimming follows the indices, so that what they say in the database is never taken away. */
  get #canPass(): boolean {
    const { passed, base, indexed } = this.#record;
    return !this.#isTrimStuck && passed < Math.min(base - 1, indexed);
  }

  #pass(limit: number): number {
    if (!this.#canPass) return 0;
    const { passed, base, indexed } = this.#record;
    const end = Math.min(base - 1, indexed, passed + limit);
    let lsn = passed;
    try {
      while (lsn < end) {
        const entry = this.#data.log.get(lsn + 1);
        if (entry === undefined) throw new DamagedEntry(lsn + 1);
        this.#data.pass(entry);
        lsn += 1;
        const share = this.#trimmedBytes / (base - lsn);
        this.#trimmedBytes -= share;
        this.#unpassedBytes -= encodeEntry(entry).length;
      }
    } catch (error) {
      // It waits until somebody has met the damage too and had it repaired.
      if (!(error instanceof DamagedEntry || error instanceof EngineStorageError)) throw error;
      this.#isTrimStuck = true;
    }
    if (lsn > passed) this.#setRecord({ passed: lsn });
    return lsn - passed;
  }

  #change(changes: Partial<PartitionRecord>): void {
    this.#setRecord(changes);
    this.#node.touch(this);
  }

  #setRecord(changes: Partial<PartitionRecord>): void {
    this.#record = { ...this.#record, ...changes };
    this.#isRecordChanged = true;
  }

  #checkNext({ epoch, lsn, changes }: Entry): void {
    const next = Math.max(this.#tail.lsn + 1, this.base);
    const isNext = lsn === next || (this.#notes.building && lsn > this.#tail.lsn);
    assert(isNext, `LSN ${lsn} does not follow ${this.#tail.lsn}`);
    assert(epoch >= this.#tail.epoch, 'epochs of a log never go back');
    assert(
      changes.every(({ id }) => isKeyable(id)),
      'an id that is too long for a key',
    );
  }

  #checkIndex(): void {
    if (this.#unindexed !== undefined) throw new DamagedEntry(this.#unindexed);
  }

  #versionAt(key: DocumentKey, { lsn }: Place): Version {
    const entry = this.#data.log.get(lsn);
    const change = entry && changeIn(entry, key);
    if (change === undefined) throw new DamagedEntry(lsn);
    return versionIn(entry!, change);
  }

  #versionsAt(places: Iterable<[string, Place]>, limit: number): readonly Version[] {
    const versions: Version[] = [];
    if (limit <= 0) return versions;
    for (const [text, place] of places) {
      versions.push(this.#versionAt(splitText(text), place));
      if (versions.length >= limit) break;
    }
    return versions;
  }

  *#lsnsAfter(lsn: number): IterableIterator<number> {
    const below = Math.min(this.base, this.#tail.lsn + 1);
    for (let after = lsn; after + 1 < below;) {
      const found = this.#data.log.lsnsBetween(after, below, LOOK_STEP);
      yield* found;
      if (found.length < LOOK_STEP) break;
      after = found.at(-1)!;
    }
    for (let next = Math.max(lsn + 1, this.base); next <= this.#tail.lsn; next += 1) yield next;
  }

  #positionOf(lsn: number): Position {
    if (lsn === this.base - 1) return this.#positionBelowBase();
    if (lsn === this.#tail.lsn) return this.#tail;
    return { epoch: this.entry(lsn)!.epoch, lsn };
  }

  #findTail(): Position {
    const lsn = this.#data.log.lastLsn(Infinity) ?? 0;
    return lsn < this.base ? this.#positionBelowBase() : { epoch: this.#epochOf(lsn), lsn };
  }

  /** Where the log ends if it has no entries. A trim says so; after a full copy it is the last entry that was copied. */
  #positionBelowBase(): Position {
    const { base, baseEpoch } = this.#record;
    if (baseEpoch !== 0) return { epoch: baseEpoch, lsn: base - 1 };
    const lsn = this.#data.log.lastLsn(base - 1);
    return lsn === undefined ? BEGINNING : { epoch: this.#epochOf(lsn), lsn };
  }

  #epochOf(lsn: number): number {
    const entry = this.#data.peek(lsn);
    if (entry !== undefined) return entry.epoch;
    // It cannot be read; but the progress table knows under which epoch it was written.
    return this.#notes.table.findLast((start) => start.lsn <= lsn)?.epoch ?? this.#record.baseEpoch;
  }

  #estimateTrimmed(): void {
    const { base, passed } = this.#record;
    const unpassed = this.#tail.lsn - passed;
    this.#trimmedBytes = unpassed <= 0 ? 0 : (this.#unpassedBytes * (base - 1 - passed)) / unpassed;
  }

  /** Brings the overlay of the indices up to the end of the log. */
  #readAgain(): void {
    this.#data.index.clear();
    this.#unindexed = undefined;
    for (const lsn of this.#lsnsAfter(this.#record.indexed)) {
      const entry = this.#data.peek(lsn);
      if (entry === undefined) {
        this.#unindexed = lsn;
        return;
      }
      if (lsn < this.base && lsn <= this.#record.passed) this.#data.indexCopied(entry);
      else this.#data.indexEntry(entry);
      if (lsn <= this.#record.counted) continue;
      if (lsn >= this.base) this.#unpassedBytes += encodeEntry(entry).length;
      this.#record = { ...this.#record, counted: lsn };
    }
  }
}
