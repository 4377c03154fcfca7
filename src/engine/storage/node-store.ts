/**
 * The store of a node: one database for all its partitions, one queue of writes. Everything that is written in one moment,
 * however many partitions it concerns, is one record of the journal and one sync; the database takes it later, with some work
 * in the background that does not stand in the journal: a piece of an index flush, a piece of trimming.
 *
 *   append, truncate, note ... ─▶ queue ─▶ journal ─▶ callbacks of `sync`
 *                                             └─▶ commit of the database, now and then ◀─ flush, trimming
 */
import { growthOf } from '../../caspaxos/index.ts';
import type { Host, Timer } from '../../protocol/index.ts';
import type { PartitionStore } from '../core/index.ts';
import { EngineStorageError } from './errors.ts';
import { GarbageCollector } from './garbage.ts';
import { LmdbPartition } from './lmdb-partition.ts';
import type { Node } from './partition-node.ts';
import {
  newRecord,
  notesKey,
  type PartitionRecord,
  recordKey,
  RECORDS,
  workKey,
} from './partition-record.ts';
import { readRecord, writeRecord } from './records.ts';
import { diskFull, Tables, type Write } from './tables.ts';
import { bytesOf, RedoLog } from './redo-log.ts';
import { inOrder, WriteQueue } from './write-queue.ts';

export type StoreHost = Pick<Host, 'after' | 'cancel' | 'soon'>;

export interface NodeStoreOptions {
  readonly directory: string;
  readonly host?: StoreHost;
  /** The database may hold this much; more is refused as if the disk were full. */
  readonly maxBytes?: number;
  /** The indices are flushed when so many changes wait for it, or after so many milliseconds. */
  readonly flushChanges?: number;
  readonly flushMs?: number;
  /** How much of that a commit takes along; unless told, more if there is more to commit. */
  readonly flushPiece?: number;
  /** The database takes what is in the journal after so many milliseconds, or when it is so many bytes. */
  readonly commitMs?: number;
  readonly commitBytes?: number;
  /** Of each of the journal's two files. */
  readonly journalBytes?: number;
}

const NUMBERS_KEY = Buffer.from('numbers');
const FLUSH_CHANGES = 40_000;
const FLUSH_MS = 5000;
const FLUSH_PIECE = 1024;
/** Of that, without a pause. */
const AT_ONCE = 256;
/** A write gives two records of indices to flush, and later an entry to trim. */
const WORK_PER_WRITE = 4;
const COMMIT_MS = 100;
const COMMIT_BYTES = 4 * 1024 * 1024;

const REAL_HOST: StoreHost = {
  after: (ms, run) => setTimeout(run, ms).unref(),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  soon: (run) => {
    setImmediate(run);
  },
};

type Done = (error: Error | undefined) => void;

export class NodeStore {
  readonly #tables: Tables;
  readonly #redo: RedoLog;
  readonly #host: StoreHost;
  readonly #options: NodeStoreOptions;
  readonly #queue = new WriteQueue();
  readonly #garbage: GarbageCollector;
  readonly #records = new Map<string, PartitionRecord>();
  readonly #partitions = new Map<string, LmdbPartition>();
  readonly #node: Node;
  /** Partitions with something to commit or work to do. */
  #touched = new Set<LmdbPartition>();
  #waiting: Done[] = [];
  /** The loop that writes to the journal and begins commits. */
  #isScheduled = false;
  #isRunning = false;
  #running: Promise<void> | undefined;
  /** The commit of the database that is under way. */
  #committing: Promise<void> | undefined;
  /** It holds writes that are not in the journal: until it has ended they are not durable, and nothing behind them may be. */
  #isPastJournal = false;
  #commitTimer: Timer | undefined;
  #isCommitDue = false;
  /** Why the database did not take what it was last given. */
  #commitError: Error | undefined;
  #flushTimer: Timer | undefined;
  /** Writes since the last flush of all indices began. */
  #unflushed = 0;
  #numbers: number;
  #maxBytes: number;
  /** As it was after the last commit; the database cannot be asked while it commits. */
  #usedBytes: number;
  /** What the commit under way will add to it. */
  #growing = 0;
  #settling: ((value: undefined) => void)[] = [];
  #isClosed = false;
  #isAbandoned = false;

  private constructor(tables: Tables, redo: RedoLog, options: NodeStoreOptions) {
    this.#tables = tables;
    this.#redo = redo;
    this.#options = options;
    this.#host = options.host ?? REAL_HOST;
    this.#maxBytes = options.maxBytes ?? Infinity;
    this.#usedBytes = tables.usedBytes;
    this.#garbage = new GarbageCollector(tables, this.#queue);
    this.#numbers = readRecord<{ next: number }>(tables.meta.get(NUMBERS_KEY), 'the numbers')?.next ?? 1;
    for (const { value } of tables.meta.getRange(RECORDS)) {
      const record = readRecord<PartitionRecord>(value, 'a partition')!;
      this.#records.set(record.name, record);
    }
    this.#node = {
      tables,
      queue: this.#queue,
      touch: (partition) => this.#touch(partition),
      sync: (done) => this.#sync(done),
      newNumber: () => this.#newNumber(),
      discard: (number) => this.#garbage.add(number),
    };
    if (this.#garbage.hasWork) this.#commitSoon();
  }

  static async open(options: NodeStoreOptions): Promise<NodeStore> {
    const tables = await Tables.open(options.directory);
    try {
      return new NodeStore(tables, await RedoLog.open(tables, options.journalBytes), options);
    } catch (error) {
      await tables.close();
      throw error;
    }
  }

  /** Names of the partition-sets that have a partition here. */
  get partitionSets(): readonly string[] {
    return [...this.#records.keys()];
  }

  /** This node's copy of a partition-set; made when there is none. */
  partition(partitionSet: string): PartitionStore {
    if (this.#isClosed) throw closed();
    const known = this.#partitions.get(partitionSet);
    if (known !== undefined) return known;
    const partition = new LmdbPartition(
      this.#node,
      this.#records.get(partitionSet) ?? this.#newRecord(partitionSet),
    );
    this.#partitions.set(partitionSet, partition);
    return partition;
  }

  /**
   * Gives this node's copy of a partition-set up. When it resolves that is on disk: nobody finds the copy any more. What it held is
   * taken away in the background, and if this process ends before, by the next one.
   */
  drop(partitionSet: string): Promise<void> {
    if (this.#isClosed) throw closed();
    const partition = this.#partitions.get(partitionSet);
    const record = partition?.drop() ?? this.#records.get(partitionSet);
    this.#partitions.delete(partitionSet);
    this.#records.delete(partitionSet);
    if (partition !== undefined) this.#touched.delete(partition);
    if (record !== undefined) this.#forget(record, partition?.logBytes ?? 0);
    return new Promise((resolve, reject) => {
      this.#sync((error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** One moment, and so one record of the journal: a crash leaves all of the copy or none. */
  #forget(record: PartitionRecord, bytes: number): void {
    const { meta } = this.#tables;
    const { number, data } = record;
    this.#queue.remove(meta, recordKey(number), bytes + writeRecord(record).length);
    this.#queue.remove(meta, notesKey(number));
    this.#queue.remove(meta, workKey(data));
    this.#garbage.add(data);
    this.#garbage.add(number);
    this.#commitSoon();
  }

  /** Bytes that the database uses. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  set maxBytes(bytes: number) {
    this.#maxBytes = bytes;
  }

  /** Commits what was written, flushes the indices so that the next start has little to read, and gives the directory up. What
   * the disk does not take is lost. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#host.cancel(this.#flushTimer);
    for (const partition of this.#partitions.values()) {
      partition.wantFlush();
      this.#touched.add(partition);
    }
    await this.#idle();
    this.#host.cancel(this.#commitTimer);
    await this.#redo.close();
    await this.#tables.close();
  }

  /** Resolves when everything is written and nothing is left to flush, to trim and to remove; or when the disk failed. */
  async settled(): Promise<void> {
    this.#wantFlushes();
    await this.#idle();
  }

  /** Gives the directory up without writing what is in the queue: what a crash leaves, for tests. */
  async abandon(): Promise<void> {
    this.#isClosed = true;
    this.#isAbandoned = true;
    this.#host.cancel(this.#flushTimer);
    this.#host.cancel(this.#commitTimer);
    this.#waiting = [];
    await this.#running;
    await this.#committing;
    this.#queue.take('all');
    this.#queue.takeWork();
    this.#touched.clear();
    await this.#redo.close();
    await this.#tables.close();
  }

  async #idle(): Promise<void> {
    await new Promise<undefined>((resolve) => {
      this.#settling.push(resolve);
      this.#schedule();
    });
  }

  #newRecord(name: string): PartitionRecord {
    const number = this.#newNumber();
    const record = newRecord(name, number, this.#newNumber());
    this.#queue.put(this.#tables.meta, recordKey(number), writeRecord(record));
    this.#records.set(name, record);
    return record;
  }

  #newNumber(): number {
    const number = this.#numbers;
    this.#numbers += 1;
    this.#queue.put(this.#tables.meta, NUMBERS_KEY, writeRecord({ next: this.#numbers }));
    return number;
  }

  #touch(partition: LmdbPartition): void {
    if (this.#isClosed) throw closed();
    this.#touched.add(partition);
    this.#flushTimer ??= this.#host.after(this.#options.flushMs ?? FLUSH_MS, () => {
      this.#flushTimer = undefined;
      if (this.#isClosed) return;
      this.#wantFlushes();
      this.#commitSoon();
    });
    this.#commitSoon();
  }

  #wantFlushes(): void {
    this.#unflushed = 0;
    for (const partition of this.#partitions.values()) {
      if (partition.unflushed === 0) continue;
      partition.wantFlush();
      this.#touched.add(partition);
    }
  }

  #sync(done: Done): void {
    if (this.#isClosed) {
      this.#host.soon(() => done(closed()));
      return;
    }
    this.#waiting.push(done);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isRunning) return;
    this.#isScheduled = true;
    this.#host.soon(() => {
      this.#isScheduled = false;
      if (!this.#isAbandoned) this.#running = this.#run();
    });
  }

  /** There is something for the database. It is given to it after a while, or when it is much. */
  #commitSoon(): void {
    const { commitMs = COMMIT_MS } = this.#options;
    this.#commitTimer ??= this.#host.after(commitMs, () => {
      this.#commitTimer = undefined;
      this.#isCommitDue = true;
      this.#schedule();
    });
  }

  /** The database takes its share, when it is due, while the journal goes on. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (!this.#isAbandoned) {
      if (this.#committing === undefined && this.#mustCommit) {
        await this.#beginCommit();
      } else if (this.#waiting.length > 0) {
        const callbacks = this.#waiting;
        this.#waiting = [];
        const error = await this.#write();
        // After a crash nobody is told anything.
        if (!this.#isAbandoned) for (const done of callbacks) done(error);
      } else {
        break;
      }
    }
    this.#isRunning = false;
    this.#tellSettled();
  }

  get #mustCommit(): boolean {
    if (this.#isCommitDue) return true;
    // What failed is tried again when it is due, or when somebody waits: at once it would fail again, and nobody else have a turn.
    if (this.#commitError !== undefined) return false;
    const { commitBytes = COMMIT_BYTES } = this.#options;
    const isWanted = this.#queue.bytes > commitBytes || this.#redo.needsCheckpoint;
    return isWanted || (this.#settling.length > 0 && this.#hasAny);
  }

  /** Whether there is anything at all that the database has not got. */
  get #hasAny(): boolean {
    return this.#queue.length > 0 || this.#touched.size > 0 || this.#hasWork || this.#queue.hasWork;
  }

  #tellSettled(): void {
    const isDone = this.#committing === undefined && (!this.#hasAny || this.#commitError !== undefined);
    if (isDone) for (const resolve of this.#settling.splice(0)) resolve(undefined);
  }

  /** Makes what was written before this call durable. Returns why it could not. */
  async #write(): Promise<Error | undefined> {
    if (this.#isPastJournal) await this.#committing;
    const writes = this.#unjournaled();
    if (writes.length === 0 && this.#commitError === undefined) return undefined;
    try {
      this.#checkRoom(growthOf(this.#queue.bytes) - this.#queue.removedBytes);
      // A disk that is full is found out here, not when the journal is full too.
      const isForDatabase = this.#commitError !== undefined || this.#redo.isFullFor(bytesOf(writes));
      // Either: what comes meanwhile may be more than a record holds, and has its own turn.
      await (isForDatabase ? this.#commitNow() : this.#journal());
    } catch (error) {
      return error as Error;
    }
    return this.#commitError;
  }

  /** With the records of the partitions as they are now: a write must never be on the disk without what was noted for it. */
  #unjournaled(): readonly Write[] {
    for (const partition of this.#touched) partition.settle();
    return this.#queue.unjournaled();
  }

  async #journal(): Promise<void> {
    const writes = this.#unjournaled();
    if (writes.length === 0) return;
    await this.#redo.append(writes);
    this.#queue.noteJournaled(writes.length);
  }

  /** The database takes everything that there is now, also what is too much for the journal. */
  async #commitNow(): Promise<void> {
    await this.#committing;
    await this.#beginCommit();
    await this.#committing;
  }

  /** Nothing else writes to the journal meanwhile: what the database is given and what it notes of the journal agree. */
  async #beginCommit(): Promise<void> {
    this.#isCommitDue = false;
    const partitions = new Set<LmdbPartition>();
    let what: 'journaled' | 'all' = 'all';
    try {
      this.#begin(partitions);
      if (!this.#redo.isFullFor(bytesOf(this.#queue.unjournaled()))) {
        await this.#journal();
        what = 'journaled';
      }
    } catch (error) {
      this.#commitError = error as Error;
      // All of it is taken now, also what was written while the journal failed.
      this.#begin(partitions);
    }
    if (this.#isAbandoned) return;
    this.#isPastJournal = what === 'all' && this.#queue.unjournaled().length > 0;
    this.#committing = this.#commit(partitions, what).finally(() => {
      this.#committing = undefined;
      this.#isPastJournal = false;
      this.#growing = 0;
      if (!this.#isAbandoned) this.#usedBytes = this.#tables.usedBytes;
      if (this.#hasWork || this.#commitError !== undefined) this.#commitSoon();
      if (this.#settling.length > 0 || this.#mustCommit) this.#schedule();
    });
  }

  #begin(partitions: Set<LmdbPartition>): void {
    for (const partition of this.#touched) {
      partition.begin();
      partitions.add(partition);
    }
    this.#touched = new Set();
  }

  /** What it takes of the queue it takes at once; then some of the work in the background is done for it. */
  async #commit(partitions: ReadonlySet<LmdbPartition>, what: 'journaled' | 'all'): Promise<void> {
    const { journaled } = this.#redo;
    const taken = this.#queue.take(what);
    this.#growing = Math.max(0, growthOf(taken.bytes) - taken.removedBytes);
    let problem: unknown;
    try {
      await this.#work(partitions, taken.writes.length);
    } catch (error) {
      problem = error;
    }
    const work = this.#queue.takeWork();
    try {
      if (problem !== undefined) throw problem as Error;
      const { writes, bytes, removedBytes } = inOrder(taken, work);
      const growth = growthOf(bytes) - removedBytes;
      this.#growing = 0;
      this.#checkRoom(growth);
      this.#growing = Math.max(0, growth);
      if (writes.length > 0 && !this.#isAbandoned) await this.#tables.commit(writes, journaled);
      this.#redo.checkpointed(journaled.sequence);
      this.#commitError = undefined;
      for (const partition of partitions) {
        partition.committed();
        if (this.#isClosed ? partition.isFlushing : partition.hasWork) this.#touched.add(partition);
      }
    } catch (error) {
      this.#queue.putBack(taken, work);
      for (const partition of partitions) this.#touched.add(partition);
      this.#garbage.wait();
      this.#commitError = error as Error;
    }
  }

  /** In short pieces, between which others have their turn. */
  async #work(partitions: ReadonlySet<LmdbPartition>, writes: number): Promise<void> {
    this.#unflushed += writes;
    if (this.#unflushed > (this.#options.flushChanges ?? FLUSH_CHANGES)) this.#wantFlushes();
    // More than what is added to it, so that it never falls behind for long.
    let left = this.#options.flushPiece ?? Math.max(FLUSH_PIECE, WORK_PER_WRITE * writes);
    for (const partition of partitions) {
      let done: number;
      do {
        const piece = Math.min(left, AT_ONCE);
        done = this.#queue.inBackground(() => partition.work(piece, this.#isClosed));
        left -= done;
        if (done > AT_ONCE / 4) await this.#turn();
      } while (done > 0 && left > 0 && !this.#isAbandoned);
    }
    this.#queue.inBackground(() => {
      for (const partition of partitions) partition.endWork();
      if (!this.#isClosed) this.#garbage.step(Math.max(0, left));
    });
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#host.soon(resolve);
    });
  }

  #checkRoom(growth: number): void {
    if (growth <= 0 || this.#maxBytes === Infinity) return;
    if (this.#usedBytes + this.#growing + growth > this.#maxBytes) throw diskFull(this.#tables.directory);
  }

  get #hasWork(): boolean {
    if (this.#isClosed) return this.#touched.size > 0;
    for (const partition of this.#touched) if (partition.hasWork) return true;
    return this.#garbage.hasWork;
  }
}

function closed(): EngineStorageError {
  return new EngineStorageError('CLOSED', 'The store of this node is closed.');
}
