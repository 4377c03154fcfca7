/**
 * A partition in a process: the pure state machine with a driver's face to its failover agent and promises to its clients.
 * Nothing in the engine knows how failover is decided; this is the only place that knows that there is such a thing.
 */
import type {
  AgentView,
  Driver,
  DriverStatus,
  LastSaid,
  Progress,
  Role,
  Sleeper,
} from '../failover/index.ts';
import type { Host } from '../protocol/index.ts';
import { type BackupManifest, writeBackup } from './backup.ts';
import {
  comparePositions,
  contains,
  type DocumentKey,
  epochOf,
  feed,
  type FeedAnswer,
  type FeedRequest,
  keyText,
  type PartitionEvent,
  type PartitionMessage,
  type PartitionOptions,
  PartitionStateMachine,
  type PartitionStore,
  type Position,
  type ReadAnswer,
  type ReadRequest,
  type Refused,
  type RegionName,
  Requests,
  type ScanAnswer,
  type ScanOptions,
  type ScanRequest,
  type TrimPolicy,
  TRIM_POLICY,
  trimTo,
  type UndoneEntry,
  type WriteAnswer,
  type WriteRequest,
} from './core/index.ts';
import { EngineError } from './errors.ts';
import { rewriting } from './lost-writes.ts';
import { compareTexts } from './storage/key-order.ts';

export interface EnginePartitionOptions extends PartitionOptions {
  readonly partitionSet: string;
  readonly trim?: TrimPolicy;
}

/** The node, as one of its partitions sees it. */
export interface PartitionNode {
  readonly host: Host;
  send(to: RegionName, partitionSet: string, message: PartitionMessage): void;
  canSend(to: RegionName): boolean;
  heardMsAgo(region: RegionName): number;
  /** Whether the node's disk took a write lately. */
  isDiskWell(): boolean;
  flushSoon(partition: EnginePartition): void;
  /** Its `wakeAt` may have changed. */
  look(partition: EnginePartition): void;
  event(partitionSet: string, event: PartitionEvent): void;
}

const TIMEOUT_MS = 5000;
/** The agent hears of what can wait a moment at most this often. */
const CHANGED_EVERY_MS = 50;
const EXPIRED_AT_ONCE = 100;

export class EnginePartition implements Driver, Sleeper {
  readonly partitionSet: string;
  readonly #options: EnginePartitionOptions;
  readonly #store: PartitionStore;
  readonly #node: PartitionNode;
  #core: PartitionStateMachine | undefined;
  #requests: Requests | undefined;
  #agent: AgentView | undefined;
  #isClosed = false;
  #toldAt = -Infinity;
  #isTelling = false;
  /** Under way: nothing is trimmed meanwhile. */
  #backups = 0;

  constructor(options: EnginePartitionOptions, store: PartitionStore, node: PartitionNode) {
    this.partitionSet = options.partitionSet;
    this.#options = options;
    this.#store = store;
    this.#node = node;
  }

  // ---- as a driver

  /**
   * Before `incarnation`: what the failover state has of this region. What it has reported was on disk before, so a disk that does not
   * know that process, or does not have those entries, is not the one that reported: it was emptied, or brought back from
   * an old copy. The same of what others reported to be committed on it. What it holds must not count for what was acknowledged, and is
   * built anew from the write region; what history does not contain of it is listed then (`following.ts`). Says whether that is so.
   */
  async isOutlived({ incarnation, progress, committed = 0 }: LastSaid): Promise<boolean> {
    const { notes, tail } = this.#store;
    const isOlder = notes.incarnation < incarnation;
    const isShort = tail.lsn < committed || (progress !== undefined && !this.#hasHad(progress));
    if (!isOlder && (notes.building || !isShort)) return false;
    this.#store.note({ incarnation: Math.max(notes.incarnation, incarnation), building: true });
    await synced(this.#store);
    return true;
  }

  /** It is in the log, or was undone. */
  #hasHad({ epoch: gcn, primary, lsn }: Progress): boolean {
    const { notes, tail } = this.#store;
    const position = { epoch: epochOf(gcn, primary), lsn };
    if (lsn === 0 || contains({ table: notes.table, tail }, position)) return true;
    return this.undone().some(({ entry }) => comparePositions(entry, position) === 0);
  }

  /** A new process of this copy: its number is on disk before anybody hears of it. */
  async incarnation(): Promise<number> {
    this.#store.note({ incarnation: this.#store.notes.incarnation + 1 });
    await synced(this.#store);
    if (this.#isClosed) throw notStarted(this.partitionSet);
    this.#start();
    return this.#store.notes.incarnation;
  }

  attach(agent: AgentView): void {
    this.#agent = agent;
  }

  status(): DriverStatus {
    const status = this.#partition.status();
    return status.canCommit && !this.#node.isDiskWell() ? { ...status, canCommit: false } : status;
  }

  assume(role: Role): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#partition.assume(role, (error) => (error === undefined ? resolve() : reject(error)));
      this.#node.look(this);
    });
  }

  // ---- for clients

  write(request: WriteRequest, timeoutMs = TIMEOUT_MS): Promise<WriteAnswer> {
    return this.#asked((requests, deadlineAt, done) => requests.write(request, deadlineAt, done), timeoutMs);
  }

  read(request: ReadRequest, timeoutMs = TIMEOUT_MS): Promise<ReadAnswer> {
    return this.#asked((requests, deadlineAt, done) => requests.read(request, deadlineAt, done), timeoutMs);
  }

  scan(
    options: ScanOptions,
    { level, session }: Pick<ScanRequest, 'level' | 'session'>,
    timeoutMs = TIMEOUT_MS,
  ): Promise<ScanAnswer> {
    const request: ScanRequest = { options, level, compare: compareKeys, ...(session && { session }) };
    return this.#asked((requests, deadlineAt, done) => requests.scan(request, deadlineAt, done), timeoutMs);
  }

  /** What has been committed behind that place in the log. */
  feed(request: FeedRequest): FeedAnswer {
    if (this.#isClosed) return ENDED;
    return feed(this.#partition, request);
  }

  /** What this region had taken and history does not contain. */
  undone(): readonly UndoneEntry[] {
    return [...this.#store.undone()];
  }

  /** In the write region: writes a lost write once more, wherever it was undone. One answer for each of its documents. */
  async rewrite(lost: UndoneEntry, { force = false } = {}): Promise<readonly WriteAnswer[]> {
    const answers: WriteAnswer[] = [];
    for (const request of rewriting(lost, this.#store.notes.table, force))
      answers.push(await this.write(request));
    return answers;
  }

  /** Where it was undone: somebody has seen to it. */
  async closeUndone(position: Position, how: 'reapplied' | 'dismissed'): Promise<void> {
    this.#store.closeUndone(position, how);
    await synced(this.#store);
  }

  /** Writes everything that is committed now into an empty directory, while writes go on. */
  async backup(directory: string): Promise<BackupManifest> {
    const { committed, isReadable } = this.#partition;
    if (!isReadable)
      throw new EngineError('NOT_STARTED', `This copy of ${this.partitionSet} is not complete yet.`);
    this.#backups += 1;
    const takenAt = new Date(this.#node.host.wallClock());
    const { partitionSet } = this;
    try {
      return await writeBackup(directory, { partitionSet, store: this.#store, committed, takenAt });
    } finally {
      this.#backups -= 1;
    }
  }

  /** Housekeeping, a bounded step of it: what nobody needs is trimmed, what has lived long enough is deleted. */
  tidy(): void {
    if (this.#core === undefined) return;
    const lsn = this.#backups > 0 ? 0 : trimTo(this.#core, this.#options.trim ?? TRIM_POLICY);
    if (lsn > 0) this.#store.trim(lsn);
    if (this.#backups === 0) this.#core.damage.settle();
    this.#requests!.expire(EXPIRED_AT_ONCE);
  }

  // ---- for the node

  get core(): PartitionStateMachine | undefined {
    return this.#core;
  }

  get wakeAt(): number {
    return this.#core?.nextAt ?? Infinity;
  }

  wake(): void {
    this.#core?.wake();
    this.#node.look(this);
  }

  onMessage(from: RegionName, message: PartitionMessage): void {
    this.#core?.onMessage(from, message);
    this.#node.look(this);
  }

  linkLost(region: RegionName): void {
    this.#core?.linkLost(region);
    this.#node.look(this);
  }

  linkReady(region: RegionName): void {
    this.#core?.linkReady(region);
    this.#node.look(this);
  }

  suspended(): void {
    this.#core?.suspended();
  }

  flush(): void {
    this.#core?.flush();
    this.#node.look(this);
  }

  /** Ends here, without a word to the other regions. Those who wait are answered: a write that was begun has no known outcome. */
  close(): void {
    const core = this.#core;
    this.#isClosed = true;
    this.#core = undefined;
    this.#requests = undefined;
    this.#agent = undefined;
    core?.assume({ role: 'gone' }, () => {});
  }

  get #partition(): PartitionStateMachine {
    if (this.#core === undefined) throw notStarted(this.partitionSet);
    return this.#core;
  }

  #asked<A>(
    ask: (requests: Requests, deadlineAt: number, done: (answer: A | Refused) => void) => void,
    timeoutMs: number,
  ): Promise<A | Refused> {
    return new Promise((resolve) => {
      if (this.#isClosed) {
        resolve(ENDED);
        return;
      }
      void this.#partition;
      ask(this.#requests!, this.#node.host.now() + timeoutMs, resolve);
      this.#node.look(this);
    });
  }

  #start(): void {
    const node = this.#node;
    this.#core = new PartitionStateMachine(this.#options, this.#store, {
      now: () => node.host.now(),
      wallClock: () => node.host.wallClock(),
      send: (to, message) => node.send(to, this.partitionSet, message),
      canSend: (to) => node.canSend(to),
      heardMsAgo: (region) => node.heardMsAgo(region),
      mayWrite: () => this.#agent?.mayWrite() ?? false,
      isStopping: () => this.#agent?.isStopping?.() ?? false,
      grant: (asker) => this.#agent?.grant(asker) ?? 0,
      changed: (how) => this.#tell(how),
      flushSoon: () => node.flushSoon(this),
      look: () => node.look(this),
      event: (event) => node.event(this.partitionSet, event),
    });
    this.#requests = new Requests(this.#core);
  }

  #tell(how: 'at once' | 'soon'): void {
    const { host } = this.#node;
    if (how === 'at once') {
      host.soon(() => this.#agent?.changed());
      return;
    }
    if (this.#isTelling) return;
    this.#isTelling = true;
    host.after(Math.max(0, this.#toldAt + CHANGED_EVERY_MS - host.now()), () => {
      this.#isTelling = false;
      this.#toldAt = host.now();
      this.#agent?.changed();
    });
  }
}

/** What a client hears that comes to a copy which is not there any more. */
const ENDED: Refused = { outcome: 'refused', code: 'NOT_READY' };

function notStarted(partitionSet: string): EngineError {
  return new EngineError('NOT_STARTED', `Partition-set ${partitionSet} has not been started here.`);
}

function compareKeys(a: DocumentKey, b: DocumentKey): number {
  return compareTexts(keyText(a), keyText(b));
}

function synced(store: PartitionStore): Promise<void> {
  return new Promise((resolve, reject) => {
    store.sync((error) => (error === undefined ? resolve() : reject(error)));
  });
}
