/** How far the work in the background has got (`partition-record.ts`): in memory, in the commit under way, and in the database. */
import { newWork, type PartitionRecord, type Work, workKey } from './partition-record.ts';
import { readRecord, writeRecord } from './records.ts';
import type { Tables } from './tables.ts';
import type { WriteQueue } from './write-queue.ts';

export class WorkRecord {
  readonly #tables: Tables;
  readonly #key: Buffer;
  #work: Work;
  #isChanged = false;
  /** Undos that are in the journal: those that the commit under way began with. */
  #knownCuts: number;
  #storedCuts: number;
  #writtenCuts: number;

  constructor(tables: Tables, record: PartitionRecord) {
    this.#tables = tables;
    this.#key = workKey(record.data);
    const stored = readRecord<Work>(tables.meta.get(this.#key), `the work for partition-set ${record.name}`);
    this.#work = stored ?? newWork(record);
    this.#knownCuts = record.cuts;
    this.#storedCuts = this.#writtenCuts = this.#work.cuts;
  }

  get now(): Work {
    return this.#work;
  }

  /** Undos that the database's record knows of. */
  get storedCuts(): number {
    return this.#storedCuts;
  }

  /** The indices are flushed up to an LSN. */
  flushed(flush: Pick<Work, 'indexed' | 'bytes'>): void {
    this.#set({ ...flush, counted: flush.indexed, cuts: this.#knownCuts });
  }

  /** Trimming has got as far as this LSN, and past so many bytes more. */
  passed(lsn: number, bytes: number): void {
    this.#set({ passed: lsn, bytes: this.#work.bytes - bytes });
  }

  /** A commit begins: these undos will be in the journal before any work is done for it. */
  begin(cuts: number): void {
    this.#knownCuts = cuts;
  }

  write(queue: WriteQueue): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.#writtenCuts = this.#work.cuts;
    queue.put(this.#tables.meta, this.#key, writeRecord(this.#work));
  }

  committed(): void {
    this.#storedCuts = this.#writtenCuts;
  }

  /** The data that it belongs to are given up. */
  remove(queue: WriteQueue): void {
    queue.remove(this.#tables.meta, this.#key);
  }

  #set(changes: Partial<Work>): void {
    this.#work = { ...this.#work, ...changes };
    this.#isChanged = true;
  }
}
