/**
 * The store of a node without a disk: what the simulator runs. It keeps two states of every partition: what reads see, and
 * what a crash would leave. Writes go to the first at once and wait in one queue; a sync, which takes as long as the host
 * says, brings them to the second. A crash keeps some first part of the queue, and often nothing of it.
 */
import type { Host } from '../../protocol/index.ts';
import type {
  DocumentKey,
  Entry,
  PartitionNotes,
  PartitionStore,
  Position,
  ScanOptions,
} from '../core/index.ts';
import type { UndoneEntry, Glance, Version } from '../core/index.ts';
import { MemoryPartition, type MemoryWrite } from './memory-partition.ts';

export type MemoryHost = Pick<Host, 'after' | 'cancel' | 'random' | 'randomInteger'>;

export interface MemoryStoreOptions {
  readonly host: MemoryHost;
  /** How long the next sync takes, in milliseconds. */
  readonly syncMs?: () => number;
}

/** A copy of everything that was on a disk. */
export type DiskImage = ReadonlyMap<string, MemoryPartition>;

type Done = (error: Error | undefined) => void;

interface Queued {
  readonly partition: string;
  readonly write: MemoryWrite;
}

export class MemoryNodeStore {
  readonly #host: MemoryHost;
  readonly #syncMs: () => number;
  readonly #durable = new Map<string, MemoryPartition>();
  #stores = new Map<string, Store>();
  /** Gone with the next sync. */
  #dropped = new Set<string>();
  #queue: Queued[] = [];
  #waiting: Done[] = [];
  #isSyncing = false;
  /** Raised by a crash: what was under way before it is over. */
  #life = 0;
  #failure: Error | undefined;

  constructor({ host, syncMs = () => 0 }: MemoryStoreOptions) {
    this.#host = host;
    this.#syncMs = syncMs;
  }

  get partitionSets(): readonly string[] {
    return [...this.#durable.keys()];
  }

  /** This node's copy of a partition-set; made when there is none. */
  partition(partitionSet: string): PartitionStore {
    const known = this.#stores.get(partitionSet);
    if (known !== undefined) return known;
    const durable = this.#durable.get(partitionSet) ?? new MemoryPartition();
    this.#durable.set(partitionSet, durable);
    const life = this.#life;
    const store = new Store(
      durable.copy(),
      (write) => {
        if (life === this.#life) this.#queue.push({ partition: partitionSet, write });
      },
      (done) => {
        if (life === this.#life) this.#sync(done);
      },
    );
    this.#stores.set(partitionSet, store);
    return store;
  }

  /** Gives this node's copy up. It is gone from the disk when it resolves. */
  drop(partitionSet: string): Promise<void> {
    this.#stores.delete(partitionSet);
    this.#dropped.add(partitionSet);
    return new Promise((resolve, reject) => {
      this.#sync((error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  /** Writes that a crash could lose now. */
  get unsynced(): number {
    return this.#queue.length;
  }

  /** The power goes: the stores that were given out are dead, and `partition` gives new ones. Returns how many writes were lost. */
  crash(): number {
    const keepsNone = this.#host.random() < 0.5;
    const kept = keepsNone ? 0 : this.#host.randomInteger(this.#queue.length + 1);
    this.#makeDurable(kept);
    const lost = this.#queue.length;
    this.#queue = [];
    this.#waiting = [];
    this.#stores = new Map();
    this.#dropped = new Set();
    this.#isSyncing = false;
    this.#life += 1;
    return lost;
  }

  /** From now on the disk takes nothing; undefined: it does again. */
  fail(error: Error | undefined): void {
    this.#failure = error;
  }

  /** The entry cannot be read any more until it is replaced. */
  damage(partitionSet: string, lsn: number): void {
    this.#durable.get(partitionSet)?.damaged.add(lsn);
    this.#stores.get(partitionSet)?.state.damaged.add(lsn);
  }

  /** What is on disk now. */
  image(): DiskImage {
    return new Map([...this.#durable].map(([name, partition]) => [name, partition.copy()]));
  }

  /** The disk is replaced by one with that on it, or by an empty one. */
  replaceDisk(image: DiskImage = new Map()): void {
    this.crash();
    this.#durable.clear();
    for (const [name, partition] of image) this.#durable.set(name, partition.copy());
  }

  #sync(done: Done): void {
    this.#waiting.push(done);
    if (!this.#isSyncing) this.#beginSync();
  }

  #beginSync(): void {
    this.#isSyncing = true;
    const callbacks = this.#waiting;
    const { length } = this.#queue;
    const dropped = this.#dropped;
    this.#dropped = new Set();
    const life = this.#life;
    this.#waiting = [];
    this.#host.after(this.#syncMs(), () => {
      if (life !== this.#life) return;
      const failure = this.#failure;
      if (failure === undefined) {
        this.#makeDurable(length);
        for (const name of dropped) this.#durable.delete(name);
      } else for (const name of dropped) this.#dropped.add(name);
      for (const done of callbacks) if (life === this.#life) done(failure);
      if (life !== this.#life) return;
      this.#isSyncing = false;
      if (this.#waiting.length > 0) this.#beginSync();
    });
  }

  #makeDurable(count: number): void {
    for (const { partition, write } of this.#queue.splice(0, count))
      this.#durable.get(partition)?.apply(write);
  }
}

class Store implements PartitionStore {
  readonly state: MemoryPartition;
  readonly #queue: (write: MemoryWrite) => void;
  readonly sync: (done: Done) => void;

  constructor(state: MemoryPartition, queue: (write: MemoryWrite) => void, sync: (done: Done) => void) {
    this.state = state;
    this.#queue = queue;
    this.sync = sync;
  }

  get notes(): PartitionNotes {
    return this.state.notes;
  }

  get tail(): Position {
    return this.state.tail;
  }

  get base(): number {
    return this.state.base;
  }

  get logBytes(): number {
    return this.state.logBytes;
  }

  get unreadable(): number | undefined {
    return this.state.unreadable;
  }

  newest(key: DocumentKey): Version | undefined {
    return this.state.newest(key);
  }

  glance(key: DocumentKey): Glance | undefined {
    return this.state.glance(key);
  }

  version(key: DocumentKey, lsn: number): Version | undefined {
    return this.state.version(key, lsn);
  }

  entry(lsn: number): Entry | undefined {
    return this.state.entry(lsn);
  }

  entriesAfter(lsn: number, maxBytes: number): readonly Entry[] {
    return this.state.entriesAfter(lsn, maxBytes);
  }

  operation(id: string): Entry | undefined {
    return this.state.operation(id);
  }

  scan(options: ScanOptions): readonly Version[] {
    return this.state.scan(options);
  }

  expired(at: number, limit: number): readonly Version[] {
    return this.state.expired(at, limit);
  }

  undone(): Iterable<UndoneEntry> {
    return this.state.undone();
  }

  append(entries: readonly Entry[]): void {
    for (const entry of entries) this.#write({ type: 'append', entry });
  }

  truncate(lsn: number, undoneAt: number): void {
    this.#write({ type: 'truncate', lsn, undoneAt });
  }

  replace(entry: Entry, how: 'whole' | 'rest' = 'whole'): void {
    this.#write({ type: 'replace', entry, how });
  }

  giveUp(entries: readonly Entry[], undoneAt: number): void {
    this.#write({ type: 'give up', entries, undoneAt });
  }

  trim(lsn: number): void {
    this.#write({ type: 'trim', lsn });
  }

  clear(base: number): void {
    this.#write({ type: 'clear', base });
  }

  note(changes: Partial<PartitionNotes>): void {
    this.#write({ type: 'note', changes });
  }

  closeUndone(position: Position, how: NonNullable<UndoneEntry['closed']>): void {
    this.#write({ type: 'close', position, how });
  }

  #write(write: MemoryWrite): void {
    this.state.apply(write);
    this.#queue(write);
  }
}
