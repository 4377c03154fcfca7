/**
 * The store of a node: one database for all its partitions, one queue of writes, one commit at a time. Everything that is
 * written while a commit is under way forms the next, however many partitions it concerns: one transaction, one sync.
 *
 *   append, truncate, note ... ─▶ queue ─▶ commit (transaction, sync) ─▶ callbacks of `sync`
 *                                  ▲
 *      some index flush, trimming ─┘  a bounded piece with each commit
 */
import type { Host, Timer } from '../../protocol/index.ts';
import type { PartitionStore } from '../core/index.ts';
import { EngineStorageError } from './errors.ts';
import { GarbageCollector } from './garbage.ts';
import {
  LmdbPartition,
  newRecord,
  type Node,
  type PartitionRecord,
  recordKey,
  RECORDS,
} from './lmdb-partition.ts';
import { readRecord, writeRecord } from './records.ts';
import { diskFull, growthOf, Tables } from './tables.ts';
import { WriteQueue } from './write-queue.ts';

export type StoreHost = Pick<Host, 'after' | 'cancel' | 'soon'>;

export interface NodeStoreOptions {
  readonly directory: string;
  readonly host?: StoreHost;
  /** The database may hold this much; more is refused as if the disk were full. */
  readonly maxBytes?: number;
  /** The indices are flushed when so many changes wait for it, or after so many milliseconds. */
  readonly flushChanges?: number;
  readonly flushMs?: number;
  /** How much of that a commit takes along at least; more if there is more to commit. */
  readonly flushPiece?: number;
}

const NUMBERS_KEY = Buffer.from('numbers');
const FLUSH_CHANGES = 10_000;
const FLUSH_MS = 1000;
const FLUSH_PIECE = 512;
/** A write gives two records of indices to flush, and later an entry to trim. */
const WORK_PER_WRITE = 4;

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
  #committing: Done[] | undefined;
  #isScheduled = false;
  #flushTimer: Timer | undefined;
  /** Writes since the last flush of all indices began. */
  #unflushed = 0;
  #numbers: number;
  #maxBytes: number;
  #settling: ((value: undefined) => void)[] = [];
  #isClosed = false;

  private constructor(tables: Tables, options: NodeStoreOptions) {
    this.#tables = tables;
    this.#options = options;
    this.#host = options.host ?? REAL_HOST;
    this.#maxBytes = options.maxBytes ?? Infinity;
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
    if (this.#garbage.hasWork) this.#schedule();
  }

  static async open(options: NodeStoreOptions): Promise<NodeStore> {
    const tables = await Tables.open(options.directory);
    try {
      return new NodeStore(tables, options);
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

  /** Bytes that the database uses. */
  get usedBytes(): number {
    return this.#tables.usedBytes;
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
    this.#host.cancel(this.#flushTimer);
    this.#queue.take();
    this.#touched.clear();
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
      this.#schedule();
    });
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
    // When nothing has been written since the commit that is under way began, it is the one to wait for.
    const isUnderWay = this.#committing !== undefined && this.#queue.length === 0 && this.#touched.size === 0;
    if (isUnderWay && this.#waiting.length === 0) this.#committing!.push(done);
    else {
      this.#waiting.push(done);
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#committing !== undefined) return;
    this.#isScheduled = true;
    this.#host.soon(() => {
      this.#isScheduled = false;
      void this.#commitUntilIdle();
    });
  }

  async #commitUntilIdle(): Promise<void> {
    if (this.#committing !== undefined) return;
    let failed: Error | undefined;
    do {
      this.#committing = this.#waiting;
      this.#waiting = [];
      failed = await this.#commit();
      const callbacks: readonly Done[] = this.#committing;
      for (const done of callbacks) done(failed);
      this.#committing = undefined;
    } while (this.#waiting.length > 0 || (failed === undefined && this.#hasWork));
    for (const resolve of this.#settling.splice(0)) resolve(undefined);
  }

  /** Returns why it failed. */
  async #commit(): Promise<Error | undefined> {
    const partitions = this.#touched;
    this.#touched = new Set();
    try {
      this.#fillQueue(partitions);
      await this.#commitQueue();
    } catch (error) {
      for (const partition of partitions) this.#touched.add(partition);
      this.#garbage.wait();
      return error as Error;
    }
    for (const partition of partitions) {
      partition.committed();
      if (this.#isClosed ? partition.isFlushing : partition.hasWork) this.#touched.add(partition);
    }
    return undefined;
  }

  #fillQueue(partitions: ReadonlySet<LmdbPartition>): void {
    this.#unflushed += this.#queue.length;
    if (this.#unflushed > (this.#options.flushChanges ?? FLUSH_CHANGES)) this.#wantFlushes();
    // More than what is added to it, so that it never falls behind for long.
    let work = Math.max(this.#options.flushPiece ?? FLUSH_PIECE, WORK_PER_WRITE * this.#queue.length);
    for (const partition of partitions) work -= partition.begin(Math.max(0, work), this.#isClosed);
    if (!this.#isClosed) this.#garbage.step(Math.max(0, work));
  }

  async #commitQueue(): Promise<void> {
    const taken = this.#queue.take();
    if (taken.writes.length === 0) return;
    try {
      this.#checkRoom(growthOf(taken.writes) - taken.removedBytes);
      await this.#tables.commit(taken.writes);
    } catch (error) {
      this.#queue.putBack(taken);
      throw error;
    }
  }

  #checkRoom(growth: number): void {
    if (growth <= 0 || this.#maxBytes === Infinity) return;
    if (this.#tables.usedBytes + growth > this.#maxBytes) throw diskFull(this.#tables.directory);
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
