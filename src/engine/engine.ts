/**
 * The engine of one node: its partitions on one disk and one set of links to the other regions' nodes. What the partitions
 * write in one turn goes to the disk in one commit and to each region in few messages. Nodes send each other a pulse, which
 * says that they are there and that their disk takes writes: it stands for all their idle partitions at once.
 */
import { SuspensionWatch, WakeQueue } from '../failover/index.ts';
import type { Host, Timer } from '../protocol/index.ts';
import {
  parsePath,
  type PartitionEvent,
  type PartitionMessage,
  type PartitionStore,
  type RegionName,
} from './core/index.ts';
import { EnginePartition, type EnginePartitionOptions, type PartitionNode } from './engine-partition.ts';
import { EngineError } from './errors.ts';

/** What nodes say to each other. */
export type NodeMessage =
  | { readonly type: 'pulse'; readonly isWell: boolean }
  | { readonly type: 'partition'; readonly partitionSet: string; readonly message: PartitionMessage };

export interface EngineLinks {
  /** Dropped if there is no link. */
  send(to: RegionName, message: NodeMessage): void;
  /** Whether the link is there and takes more now. */
  canSend(to: RegionName): boolean;
}

export interface EngineDisk {
  partition(partitionSet: string): PartitionStore;
  /** What there is of it is gone from the disk when it resolves. */
  drop(partitionSet: string): Promise<void>;
  /** Writes something small and says when it is on disk. */
  probe(done: (error: Error | undefined) => void): void;
}

export interface EngineOptions {
  readonly region: RegionName;
  readonly host: Host;
  readonly disk: EngineDisk;
  readonly links: EngineLinks;
  /** The other regions of this node's partition-sets. */
  readonly others: readonly RegionName[];
  readonly onEvent?: (partitionSet: string, event: PartitionEvent) => void;
  readonly pulseMs?: number;
}

const PULSE_MS = 250;
/** A disk that has not taken a probe for so many pulses is not well. */
const PULSES_UNWELL = 4;
const TIDY_MS = 1000;
const TIDY_AT_ONCE = 64;
const MOST_TIDY_PARTS = 50;
const STALLED_MS = 1000;

export class Engine {
  readonly #options: EngineOptions;
  readonly #host: Host;
  readonly #partitions = new Map<string, EnginePartition>();
  #untidied = this.#partitions.values();
  readonly #wakes: WakeQueue;
  readonly #suspension: SuspensionWatch;
  readonly #heardAt = new Map<RegionName, number>();
  readonly #node: PartitionNode;
  #dirty = new Set<EnginePartition>();
  #isFlushing = false;
  /** Since the disk last took a probe. */
  #pulsesInVain = 0;
  #isProbing = false;
  #timers: (Timer | undefined)[] = [];
  #isClosed = false;

  constructor(options: EngineOptions) {
    const { host, links } = options;
    this.#options = options;
    this.#host = host;
    this.#wakes = new WakeQueue(host);
    this.#suspension = new SuspensionWatch(host, STALLED_MS, () => this.#suspended());
    this.#node = {
      host,
      send: (to, partitionSet, message) => links.send(to, { type: 'partition', partitionSet, message }),
      canSend: (to) => links.canSend(to),
      heardMsAgo: (region) => host.now() - (this.#heardAt.get(region) ?? -Infinity),
      isDiskWell: () => this.isWell,
      flushSoon: (partition) => this.#flushSoon(partition),
      look: (partition) => this.#wakes.look(partition),
      event: (partitionSet, event) => options.onEvent?.(partitionSet, event),
    };
    this.#pulse();
    this.#tidy();
  }

  /**
   * Whether the disk takes writes. What counts is how many pulses a probe has outlasted, not how long it took: in a process that
   * is behind with everything, or stood still, a disk that is well looks slow.
   */
  get isWell(): boolean {
    return !this.#isClosed && this.#pulsesInVain < PULSES_UNWELL;
  }

  /** A copy of a partition-set, as its disk has it. Its failover agent starts it. */
  open(options: EnginePartitionOptions): EnginePartition {
    const { partitionSet, settings } = options;
    const [path, ...more] = settings.partitionKeyPaths;
    if (path === undefined || more.length > 0 || parsePath(path) === undefined)
      throw new EngineError(
        'PARTITION_KEY_INVALID',
        `A container has one partition key path, like /customer; not ${JSON.stringify(settings.partitionKeyPaths)}.`,
      );
    const store = this.#options.disk.partition(partitionSet);
    const partition = new EnginePartition(options, store, this.#node);
    this.#partitions.set(partitionSet, partition);
    return partition;
  }

  partition(partitionSet: string): EnginePartition {
    const partition = this.#partitions.get(partitionSet);
    if (partition === undefined)
      throw new EngineError(
        'UNKNOWN_PARTITION_SET',
        `This node has no copy of partition-set ${partitionSet}.`,
      );
    return partition;
  }

  /** Ends this copy here; its data stay. Whoever waits for an answer is told that there is none. */
  release(partitionSet: string): void {
    const partition = this.#partitions.get(partitionSet);
    this.#partitions.delete(partitionSet);
    partition?.close();
  }

  /** Ends this copy and gives its data up. For good: a partition-set of that name is never made again. */
  async remove(partitionSet: string): Promise<void> {
    this.release(partitionSet);
    await this.#options.disk.drop(partitionSet);
  }

  onMessage(from: RegionName, message: NodeMessage): void {
    if (this.#isClosed) return;
    if (message.type === 'pulse') {
      if (message.isWell) this.#heardAt.set(from, this.#host.now());
    } else {
      this.#partitions.get(message.partitionSet)?.onMessage(from, message.message);
    }
  }

  linkLost(region: RegionName): void {
    this.#heardAt.delete(region);
    for (const partition of this.#partitions.values()) partition.linkLost(region);
  }

  /** The link is there, or takes more again. */
  linkReady(region: RegionName): void {
    this.#options.links.send(region, { type: 'pulse', isWell: this.isWell });
    for (const partition of this.#partitions.values()) partition.linkReady(region);
  }

  close(): void {
    this.#isClosed = true;
    this.#wakes.close();
    this.#suspension.close();
    for (const timer of this.#timers) this.#host.cancel(timer);
  }

  get #pulseMs(): number {
    return this.#options.pulseMs ?? PULSE_MS;
  }

  #flushSoon(partition: EnginePartition): void {
    this.#dirty.add(partition);
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    this.#host.soon(() => {
      this.#isFlushing = false;
      if (this.#isClosed) return;
      const dirty = this.#dirty;
      this.#dirty = new Set();
      for (const one of dirty) one.flush();
    });
  }

  readonly #pulse = (): void => {
    if (!this.#isProbing) {
      this.#isProbing = true;
      this.#options.disk.probe((error) => {
        this.#isProbing = false;
        if (error === undefined) this.#pulsesInVain = 0;
      });
    }
    this.#pulsesInVain += 1;
    for (const region of this.#options.others)
      this.#options.links.send(region, { type: 'pulse', isWell: this.isWell });
    this.#timers[0] = this.#host.after(this.#pulseMs, this.#pulse);
  };

  /** All of them once in `TIDY_MS`; thousands in small parts, because a step that takes long makes everything else late. */
  readonly #tidy = (): void => {
    const { size } = this.#partitions;
    const parts = Math.max(1, Math.min(MOST_TIDY_PARTS, Math.ceil(size / TIDY_AT_ONCE)));
    for (let left = Math.ceil(size / parts); left > 0; left -= 1) this.#nextUntidied()?.tidy();
    this.#timers[1] = this.#host.after(TIDY_MS / parts, this.#tidy);
  };

  #nextUntidied(): EnginePartition | undefined {
    const { value } = this.#untidied.next();
    if (value !== undefined) return value;
    this.#untidied = this.#partitions.values();
    return this.#untidied.next().value;
  }

  #suspended(): void {
    for (const partition of this.#partitions.values()) partition.suspended();
  }
}
