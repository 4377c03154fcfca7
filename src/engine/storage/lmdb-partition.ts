/**
 * One partition in its node's database. The log is durable with the journal; the indices follow in flushes (`overlay.ts`), and
 * `indexed` says how far; what is behind is read again when the partition is opened. A trim moves `base` at once and takes
 * entries away in steps (`trimming.ts`); `passed` says how far.
 *
 * All writes go into the node's queue, and what one call writes is on disk together. Work in the background is not in the
 * journal: it is done for a commit, from what was in the journal before that commit began. So a flush writes what had
 * been changed when an earlier commit began, and trimming goes as far as `base` was then.
 */
import { assert } from '../../protocol/index.ts';
import {
  BEGINNING,
  DamagedEntry,
  type DocumentKey,
  type Entry,
  type Glance,
  glanceAt,
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
import { isKeyable } from './keys.ts';
import { PartitionData } from './partition-data.ts';
import type { Node } from './partition-node.ts';
import {
  countedIn,
  indexedIn,
  newRecord,
  notesKey,
  type PartitionRecord,
  recordKey,
  withCut,
} from './partition-record.ts';
import { readRecord, writeRecord } from './records.ts';
import { changeIn } from './trimming.ts';
import { UndoneList } from './undone-list.ts';
import { WorkRecord } from './work-record.ts';
import { WriteQueue } from './write-queue.ts';

/** Below `base` entries are looked for in steps. */
const LOOK_STEP = 1000;

export class LmdbPartition implements PartitionStore {
  #node: Node;
  readonly #undone: UndoneList;
  #record: PartitionRecord;
  #isRecordChanged = false;
  #work: WorkRecord;
  #notes: PartitionNotes;
  #areNotesChanged = false;
  #data: PartitionData;
  #tail: Position;
  /** Of the entries that trimming has not passed yet. */
  #unpassedBytes: number;
  /** Up to which LSN those were counted when the log was last read again. */
  #counted: number;
  /** The share of those that is below `base`, as an estimate until trimming has seen them. */
  #trimmedBytes = 0;
  /** An entry that the indices need and that cannot be read: until it is replaced they are not to be trusted. */
  #unindexed: number | undefined;
  /** The flush that is under way: up to which LSN it brings the indices, and the bytes of the log up to there. */
  #flushing: { readonly lsn: number; readonly bytes: number } | undefined;
  /** Trimming may look at entries up to this LSN. */
  #passTo: number;
  #isFlushWanted = false;
  /** Trimming met an entry there that it could not read. */
  #stuckAt: number | undefined;

  constructor(node: Node, record: PartitionRecord) {
    const { tables, queue } = node;
    this.#node = node;
    this.#record = record;
    this.#undone = new UndoneList(tables, queue, record.number);
    this.#data = new PartitionData(tables, queue, record.data);
    this.#work = new WorkRecord(tables, record);
    const { number, name } = record;
    this.#notes =
      readRecord<PartitionNotes>(tables.meta.get(notesKey(number)), `the notes of partition-set ${name}`) ??
      NEW_NOTES;
    this.#passTo = record.base - 1;
    const { bytes, counted } = countedIn(record, this.#work.now);
    this.#unpassedBytes = bytes;
    this.#counted = counted;
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

  get unreadable(): number | undefined {
    return this.#unindexed ?? this.#stuckAt;
  }

  newest(key: DocumentKey): Version | undefined {
    this.#checkIndex();
    const place = this.#data.index.find(keyText(key));
    if (place === undefined || (place.isDeleted && place.lsn < this.base)) return undefined;
    return this.#versionAt(key, place);
  }

  glance(key: DocumentKey): Glance | undefined {
    this.#checkIndex();
    const place = this.#data.index.find(keyText(key));
    if (place === undefined || (place.isDeleted && place.lsn < this.base)) return undefined;
    if (place.partitionKey === '') return glanceAt(this.#versionAt(key, place));
    return place.expiresAt === 0 ? { ...place, expiresAt: Infinity } : place;
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
      this.#undone.add(entry, undoneAt, entry.lsn <= this.notes.gclsn);
      this.#unpassedBytes -= encodeEntry(entry).length;
    }
    this.#data.undo(undone, this.base);
    if (this.#flushing !== undefined && lsn < this.#flushing.lsn)
      this.#flushing = { lsn, bytes: this.#unpassedBytes };
    this.#change(withCut(this.#record, this.#work.storedCuts, lsn));
  }

  replace(entry: Entry, how: 'whole' | 'rest' = 'whole'): void {
    assert(entry.lsn <= this.#tail.lsn, 'only an entry of the log can be replaced');
    if (how === 'rest' && this.#unindexed === entry.lsn) return;
    this.#data.replace(entry, how);
    this.#stuckAt = undefined;
    if (this.#unindexed === entry.lsn) this.#readAgain();
    this.#node.touch(this);
  }

  giveUp(entries: readonly Entry[], undoneAt: number): void {
    for (const entry of entries) this.#undone.add(entry, undoneAt, entry.lsn <= this.notes.gclsn);
    this.#node.touch(this);
  }

  trim(lsn: number): void {
    assert(lsn <= this.#tail.lsn, 'only what is in the log can be trimmed');
    if (lsn < this.base) return;
    const { epoch } = this.#positionOf(lsn);
    this.#stuckAt = undefined;
    this.#isFlushWanted = true;
    this.#change({ base: lsn + 1, baseEpoch: epoch });
    this.#estimateTrimmed();
  }

  clear(base: number): void {
    const { tables, queue } = this.#node;
    const { name, number, data: old } = this.#record;
    const data = this.#node.newNumber();
    this.#node.discard(old);
    this.#work.remove(queue);
    this.#data = new PartitionData(tables, queue, data);
    this.#tail = BEGINNING;
    this.#unpassedBytes = 0;
    this.#trimmedBytes = 0;
    this.#unindexed = this.#stuckAt = undefined;
    this.#flushing = undefined;
    this.#passTo = base - 1;
    this.#change({ ...newRecord(name, number, data), base, passed: base - 1 });
    this.#work = new WorkRecord(tables, this.#record);
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

  /** Its data are given up: nothing is written for it any more. Returns where they lie. */
  drop(): PartitionRecord {
    const { name } = this.#record;
    const touch = (): never => {
      throw new EngineStorageError('CLOSED', `Partition-set ${name} was dropped from this node.`);
    };
    this.#node = { ...this.#node, queue: new WriteQueue(), touch };
    this.#flushing = undefined;
    this.#isFlushWanted = false;
    this.#stuckAt = 0;
    return this.#record;
  }

  /** Changes that wait for a flush of the indices. */
  get unflushed(): number {
    return this.#data.index.unflushed;
  }

  wantFlush(): void {
    this.#isFlushWanted = true;
  }

  get isFlushing(): boolean {
    return this.#flushing !== undefined;
  }

  /** Whether there is work that nobody waits for. */
  get hasWork(): boolean {
    const needsFlush = this.#isFlushWanted && (this.unflushed > 0 || this.#indexed < this.base - 1);
    const canPass =
      this.#stuckAt === undefined && this.#work.now.passed < Math.min(this.base - 1, this.#indexed);
    return (needsFlush && this.#unindexed === undefined) || this.isFlushing || canPass;
  }

  /** A commit of the database begins. Everything that was changed goes into the queue. */
  begin(): void {
    this.settle();
    this.#work.begin(this.#record.cuts);
    this.#data.begin();
    this.#undone.begin();
  }

  /** Everything that was changed and is not in the queue yet goes there. */
  settle(): void {
    const { queue, tables } = this.#node;
    const { number } = this.#record;
    if (this.#isRecordChanged) queue.put(tables.meta, recordKey(number), writeRecord(this.#record));
    if (this.#areNotesChanged) queue.put(tables.meta, notesKey(number), writeRecord(this.#notes));
    this.#isRecordChanged = false;
    this.#areNotesChanged = false;
  }

  /** Does some of the work, for the commit that has begun; everything that earlier ones began with is in the journal. Returns how
   * much. */
  work(limit: number, isLast: boolean): number {
    const flushed = this.#flush(limit);
    return isLast ? flushed : flushed + this.#pass(limit - flushed);
  }

  /** Nothing more is done for this commit. */
  endWork(): void {
    this.#work.write(this.#node.queue);
    this.#beginFlush();
    this.#passTo = this.base - 1;
  }

  committed(): void {
    this.#work.committed();
    this.#data.committed();
    this.#undone.committed();
  }

  get #indexed(): number {
    return indexedIn(this.#record, this.#work.now);
  }

  #beginFlush(): void {
    if (!this.#isFlushWanted || this.#flushing !== undefined || this.#unindexed !== undefined) return;
    if (this.#data.index.isFlushing) return;
    this.#isFlushWanted = false;
    this.#flushing = { lsn: this.#tail.lsn, bytes: this.#unpassedBytes };
    this.#data.index.beginFlush();
  }

  #flush(limit: number): number {
    if (this.#flushing === undefined) return 0;
    const { done, isDone } = this.#data.index.flush(limit, this.base);
    if (isDone) {
      const { lsn, bytes } = this.#flushing;
      this.#work.flushed({ indexed: lsn, bytes });
      this.#flushing = undefined;
    }
    return done;
  }

  #pass(limit: number): number {
    const { passed } = this.#work.now;
    // Behind the indices, so that what they say in the database is never taken away.
    const end = Math.min(this.#passTo, this.#indexed, passed + limit);
    if (this.#stuckAt !== undefined || passed >= end) return 0;
    let lsn = passed;
    let bytes = 0;
    try {
      while (lsn < end) {
        const entry = this.#data.log.get(lsn + 1);
        if (entry === undefined) throw new DamagedEntry(lsn + 1);
        this.#data.pass(entry);
        lsn += 1;
        bytes += encodeEntry(entry).length;
        this.#trimmedBytes -= this.#trimmedBytes / (this.base - lsn);
      }
    } catch (error) {
      // It waits until the damage is repaired.
      if (!(error instanceof DamagedEntry || error instanceof EngineStorageError)) throw error;
      this.#stuckAt = lsn + 1;
    }
    if (lsn === passed) return 0;
    this.#unpassedBytes -= bytes;
    if (this.#flushing !== undefined)
      this.#flushing = { ...this.#flushing, bytes: this.#flushing.bytes - bytes };
    this.#work.passed(lsn, bytes);
    return lsn - passed;
  }

  #change(changes: Partial<PartitionRecord>): void {
    this.#record = { ...this.#record, ...changes };
    this.#isRecordChanged = true;
    this.#node.touch(this);
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
    const { passed } = this.#work.now;
    const unpassed = this.#tail.lsn - passed;
    this.#trimmedBytes = unpassed <= 0 ? 0 : (this.#unpassedBytes * (this.base - 1 - passed)) / unpassed;
  }

  /** Brings the overlay of the indices up to the end of the log. */
  #readAgain(): void {
    this.#data.index.clear();
    this.#unindexed = undefined;
    for (const lsn of this.#lsnsAfter(this.#indexed)) {
      const entry = this.#data.peek(lsn);
      if (entry === undefined) {
        this.#unindexed = lsn;
        return;
      }
      if (lsn < this.base && lsn <= this.#work.now.passed) this.#data.indexCopied(entry);
      else this.#data.indexEntry(entry);
      if (lsn <= this.#counted) continue;
      if (lsn >= this.base) this.#unpassedBytes += encodeEntry(entry).length;
      this.#counted = lsn;
    }
  }
}
