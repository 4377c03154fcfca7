/**
 * A driver in memory: a partition-set whose copies live in one process, for tests, examples, and for learning the interface.
 * It keeps real logs of real entries, replicates at once to whoever it is connected to, commits when the commit set has an
 * entry, and undoes false progress when a copy follows a new writer. What it forgets when the process ends, a real driver
 * keeps on disk.
 */
import {
  type DriverStatus,
  type PeerStatus,
  type Progress,
  type RegionName,
  type Role,
  sameRole,
} from './core/index.ts';
import type { AgentView, Driver } from './driver.ts';

export interface Entry {
  readonly epoch: number;
  readonly value: string;
}

/** The copies of one partition-set, and the links between them. */
export class MemoryPartitionSet {
  readonly #copies = new Map<RegionName, MemoryDriver>();
  readonly #cut = new Set<string>();

  constructor(regions: readonly RegionName[]) {
    for (const region of regions) this.#copies.set(region, new MemoryDriver(region, this));
  }

  driver(region: RegionName): MemoryDriver {
    return this.#copies.get(region)!;
  }

  others(region: RegionName): readonly MemoryDriver[] {
    return [...this.#copies.values()].filter((copy) => copy.region !== region);
  }

  /** Cuts, or heals, the link between two regions, both ways. */
  connect(a: RegionName, b: RegionName, isConnected: boolean): void {
    for (const pair of [`${a}>${b}`, `${b}>${a}`]) {
      if (isConnected) this.#cut.delete(pair);
      else this.#cut.add(pair);
    }
    for (const copy of this.#copies.values()) copy.replicate();
  }

  isConnected(a: RegionName, b: RegionName): boolean {
    return !this.#cut.has(`${a}>${b}`);
  }
}

interface Waiting {
  readonly lsn: number;
  readonly done: () => void;
  readonly fail: (error: Error) => void;
}

export class MemoryDriver implements Driver {
  readonly region: RegionName;
  readonly #set: MemoryPartitionSet;
  #agent: AgentView | undefined;
  #incarnations = 0;
  #role: Role | undefined;
  #fenced = 0;
  #log: Entry[] = [];
  #gclsn = 0;
  #isUp = true;
  /** As writer: up to where each copy that followed this epoch has said to have the log (rule 5). */
  readonly #acknowledged = new Map<RegionName, number>();
  #waiting: Waiting[] = [];

  constructor(region: RegionName, set: MemoryPartitionSet) {
    this.region = region;
    this.#set = set;
  }

  async incarnation(): Promise<number> {
    this.#incarnations += 1;
    this.#isUp = true;
    return this.#incarnations;
  }

  attach(agent: AgentView): void {
    this.#agent = agent;
  }

  get log(): readonly Entry[] {
    return this.#log;
  }

  get progress(): Progress {
    return { epoch: this.#log.at(-1)?.epoch ?? 0, lsn: this.#log.length };
  }

  /** The process is gone: nothing is served, nothing is acknowledged, what is on disk stays. */
  crash(): void {
    this.#isUp = false;
    this.#role = undefined;
    this.#agent = undefined;
    this.#acknowledged.clear();
    this.#waiting = [];
  }

  status(): DriverStatus {
    const peers: Record<RegionName, PeerStatus> = {};
    for (const other of this.#set.others(this.region)) {
      const lsn = this.#acknowledged.get(other.region) ?? 0;
      const isHeard = this.#isHeardFrom(other);
      peers[other.region] = {
        acknowledgedMsAgo: isHeard ? 0 : Infinity,
        lsn,
        behindMs: isHeard ? this.#log.length - lsn : Infinity,
      };
    }
    return {
      build: 'Built',
      progress: this.progress,
      gclsn: this.#gclsn,
      canCommit: this.#isUp,
      peers,
      quiesced: this.#isQuiesced(),
    };
  }

  #isQuiesced(): boolean {
    return this.#role?.role !== 'writer' || (!this.#role.accepts && this.#waiting.length === 0);
  }

  async assume(role: Role): Promise<void> {
    if (sameRole(this.#role, role)) return;
    if (role.role !== 'writer' || this.#role?.role !== 'writer' || this.#role.epoch !== role.epoch)
      this.#endReign();
    this.#role = role;
    if ('epoch' in role) this.#fenced = Math.max(this.#fenced, role.epoch);
    this.replicate();
    for (const other of this.#set.others(this.region)) other.replicate();
    this.#agent?.changed();
  }

  /** What was acknowledged to it as writer of its last epoch counts no more, and what waits may yet be undone. */
  #endReign(): void {
    this.#acknowledged.clear();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { fail } of waiting)
      fail(new Error(`${this.region} is no longer writer: the outcome is unknown.`));
  }

  /** Resolves when the write is committed; throws when this copy does not take writes, or when nobody knows. */
  async write(value: string): Promise<Progress> {
    const role = this.#role;
    if (role?.role !== 'writer' || !role.accepts || this.#agent?.mayWrite() !== true) {
      throw new Error(`${this.region} does not accept writes.`);
    }
    this.#log.push({ epoch: role.epoch, value });
    const lsn = this.#log.length;
    const committed = new Promise<void>((done, fail) => this.#waiting.push({ lsn, done, fail }));
    this.replicate();
    await committed;
    return { epoch: role.epoch, lsn };
  }

  /** As writer: everybody who follows gets what it lacks, and what the commit set has is committed. */
  replicate(): void {
    const role = this.#role;
    if (role?.role !== 'writer' || !this.#isUp) return;
    let isNews = false;
    for (const other of this.#set.others(this.region)) {
      if (!other.#follow(this, role.epoch)) continue;
      isNews ||= this.#acknowledged.get(other.region) !== this.#log.length;
      this.#acknowledged.set(other.region, this.#log.length);
    }
    const committed = Math.min(
      this.#log.length,
      ...role.commitSet
        .filter((region) => region !== this.region)
        .map((region) => this.#acknowledged.get(region) ?? 0),
    );
    this.#gclsn = Math.max(this.#gclsn, committed);
    const done = this.#waiting.filter(({ lsn }) => lsn <= this.#gclsn);
    this.#waiting = this.#waiting.filter(({ lsn }) => lsn > this.#gclsn);
    for (const write of done) write.done();
    if (isNews || done.length > 0) this.#agent?.changed();
  }

  /** Takes over the writer's history: what this log has besides it is false progress and goes. Says whether it follows. */
  #follow(writer: MemoryDriver, epoch: number): boolean {
    const isLinked = this.#set.isConnected(writer.region, this.region);
    if (!this.#isUp || !isLinked || epoch < this.#fenced || !this.#isFollowing(writer, epoch)) return false;
    const shared = this.#sharedWith(writer);
    if (shared === this.#log.length && shared === writer.#log.length) return true;
    this.#log = [...writer.#log];
    this.#gclsn = Math.min(writer.#gclsn, this.#log.length);
    this.#agent?.changed();
    return true;
  }

  #isFollowing(writer: MemoryDriver, epoch: number): boolean {
    const role = this.#role;
    if (role?.role !== 'reader' && role?.role !== 'builder') return false;
    return role.writer === writer.region && role.epoch === epoch;
  }

  /** A writer hears from those that follow its epoch (rule 5); others prove by a probe that they are there. */
  #isHeardFrom(other: MemoryDriver): boolean {
    if (!this.#isUp || !other.#isUp || !this.#set.isConnected(this.region, other.region)) return false;
    return this.#role?.role !== 'writer' || other.#isFollowing(this, this.#role.epoch);
  }

  #sharedWith(other: MemoryDriver): number {
    const most = Math.min(this.#log.length, other.#log.length);
    for (let at = 0; at < most; at += 1) if (this.#log[at] !== other.#log[at]) return at;
    return most;
  }
}
