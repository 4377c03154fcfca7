/**
 * One partition-set whose copies are real engines in this process: stores with a disk of their own, links that can be cut,
 * processes that can crash and start again. Whoever uses it plays the agents, or puts real ones on top.
 */
import { NODE_HOST } from 'baton/caspaxos';
import {
  type Consistency,
  Engine,
  type EngineDisk,
  type EnginePartition,
  type EnginePartitionOptions,
  type Entry,
  gcnOf,
  LIMITS,
  MemoryNodeStore,
  nodeJson,
  type NodeMessage,
  type PartitionStore,
  type RegionName,
} from 'baton/engine';
import type { Host } from 'baton/protocol';

export const PARTITION_SET = 'orders-7';

export interface EngineSetOptions {
  readonly regions: readonly RegionName[];
  readonly consistency?: Consistency;
  readonly host?: Host;
  /** What a region's process gets instead of the machine's clocks: those of the whole set otherwise. */
  readonly disk?: (region: RegionName) => EngineDisk & { crash(): unknown };
  readonly options?: Partial<EnginePartitionOptions>;
  readonly delayMs?: number;
}

/** A node's disk in memory; a probe is a sync. */
class MemoryDisk implements EngineDisk {
  readonly store: MemoryNodeStore;

  constructor(host: Host) {
    this.store = new MemoryNodeStore({ host, syncMs: () => 1 });
  }

  partition(partitionSet: string): PartitionStore {
    return this.store.partition(partitionSet);
  }

  drop(partitionSet: string): Promise<void> {
    return this.store.drop(partitionSet);
  }

  probe(done: (error: Error | undefined) => void): void {
    this.store.partition(PARTITION_SET).sync(done);
  }

  crash(): void {
    this.store.crash();
  }
}

interface Process {
  readonly engine: Engine;
  readonly partition: EnginePartition;
  isUp: boolean;
}

export class EngineSet {
  readonly regions: readonly RegionName[];
  readonly host: Host;
  readonly #options: EngineSetOptions;
  readonly #disks = new Map<RegionName, EngineDisk & { crash(): unknown }>();
  readonly #processes = new Map<RegionName, Process>();
  readonly #cut = new Set<string>();

  constructor(options: EngineSetOptions) {
    this.#options = options;
    this.regions = options.regions;
    this.host = options.host ?? NODE_HOST;
    for (const region of options.regions) {
      this.#disks.set(region, options.disk?.(region) ?? new MemoryDisk(this.host));
      this.start(region);
    }
  }

  partition(region: RegionName): EnginePartition {
    return this.#processes.get(region)!.partition;
  }

  engine(region: RegionName): Engine {
    return this.#processes.get(region)!.engine;
  }

  disk(region: RegionName): EngineDisk & { crash(): unknown } {
    return this.#disks.get(region)!;
  }

  isUp(region: RegionName): boolean {
    return this.#processes.get(region)!.isUp;
  }

  /** A process on the disk as the last one left it. */
  start(region: RegionName): void {
    const disk = this.#disks.get(region)!;
    const engine = new Engine({
      region,
      host: this.host,
      disk,
      others: this.regions.filter((other) => other !== region),
      links: {
        send: (to, message) => this.#send(region, to, message),
        canSend: (to) => this.#isLinked(region, to),
      },
      pulseMs: 20,
    });
    const partition = engine.open({
      partitionSet: PARTITION_SET,
      region,
      regions: this.regions,
      consistency: this.#options.consistency ?? { level: 'Strong' },
      settings: { partitionKeyPaths: ['/key'] },
      limits: LIMITS,
      json: nodeJson,
      maxWaiting: 10_000,
      ...this.#options.options,
    });
    this.#processes.set(region, { engine, partition, isUp: true });
    for (const other of this.regions) if (this.#isLinked(region, other)) this.#linked(region, other);
  }

  crash(region: RegionName): void {
    const process = this.#processes.get(region)!;
    process.isUp = false;
    process.engine.close();
    this.#disks.get(region)!.crash();
    for (const other of this.regions) if (other !== region) this.#lost(other, region);
  }

  connect(a: RegionName, b: RegionName, isConnected: boolean): void {
    for (const pair of [`${a}>${b}`, `${b}>${a}`]) {
      if (isConnected) this.#cut.delete(pair);
      else this.#cut.add(pair);
    }
    if (isConnected) {
      this.#linked(a, b);
    } else {
      this.#lost(a, b);
      this.#lost(b, a);
    }
  }

  /** The copy's durable log. */
  log(region: RegionName): readonly Entry[] {
    const entries = this.#disks.get(region)!.partition(PARTITION_SET).entriesAfter(0, Infinity);
    const { isUp, partition } = this.#processes.get(region)!;
    if (!isUp || partition.core === undefined) return entries;
    const { lsn } = partition.core.status().progress;
    return entries.filter((entry) => entry.lsn <= lsn);
  }

  gcnOfEntry(entry: Entry): number {
    return gcnOf(entry.epoch);
  }

  /** What a client does: an upsert of one document. */
  async put(region: RegionName, id: string, value: string): Promise<void> {
    const body = nodeJson.format({ id, key: 'k', value });
    const answer = await this.partition(region).write({
      partitionKey: ['k'],
      operations: [{ op: 'upsert', body }],
    });
    if (answer.outcome !== 'done') throw new Error(`the write is ${answer.outcome}`);
  }

  close(): void {
    for (const { engine } of this.#processes.values()) engine.close();
  }

  #isLinked(from: RegionName, to: RegionName): boolean {
    const [a, b] = [this.#processes.get(from), this.#processes.get(to)];
    return a?.isUp === true && b?.isUp === true && !this.#cut.has(`${from}>${to}`);
  }

  #send(from: RegionName, to: RegionName, message: NodeMessage): void {
    if (!this.#isLinked(from, to)) return;
    const target = this.#processes.get(to)!;
    this.host.after(this.#options.delayMs ?? 0, () => {
      const isStillThere = this.#processes.get(to) === target && this.#isLinked(from, to);
      if (isStillThere) target.engine.onMessage(from, message);
    });
  }

  #linked(a: RegionName, b: RegionName): void {
    if (a === b) return;
    this.#processes.get(a)?.engine.linkReady(b);
    this.#processes.get(b)?.engine.linkReady(a);
  }

  #lost(at: RegionName, other: RegionName): void {
    const process = this.#processes.get(at);
    if (process?.isUp === true) process.engine.linkLost(other);
  }
}
