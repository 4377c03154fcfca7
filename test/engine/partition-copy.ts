/** One region of a scene. */
import {
  MemoryNodeStore,
  type PartitionEvent,
  type PartitionStateMachine,
  type PartitionStore,
  type RegionName,
  Requests,
} from 'baton/engine';
import type { SimHost } from '../failover/sim-host.ts';

const PARTITION_SET = 'orders-7';

/** A region: its disk, which outlives its processes, and the process that runs now. */
export class Copy {
  readonly region: RegionName;
  readonly disk: MemoryNodeStore;
  mayWrite = true;
  isStopping = false;
  /** What the agent would grant, and to whom; undefined: to everybody. */
  grantMs = 0;
  grantees: readonly RegionName[] | undefined;
  isUp = false;
  /** Syncs wait until the test lets them go on. */
  isDiskHeld = false;
  /** How much of what is not on disk the next crash keeps. */
  crashKeeps = 0;
  heardMsAgo = 0;
  changes: ('at once' | 'soon')[] = [];
  events: PartitionEvent[] = [];
  readonly full = new Set<RegionName>();
  readonly #held: (() => void)[] = [];
  #machine: PartitionStateMachine | undefined;
  #requests: Requests | undefined;

  constructor(region: RegionName, host: SimHost) {
    this.region = region;
    this.disk = new MemoryNodeStore({
      host: {
        after: (ms, run) => {
          if (!this.isDiskHeld) return host.after(ms, run);
          this.#held.push(run);
          return {};
        },
        cancel: (timer) => host.cancel(timer),
        random: () => (this.crashKeeps === 0 ? 0 : 0.9),
        randomInteger: (bound) => Math.min(this.crashKeeps, bound - 1),
      },
    });
  }

  get machine(): PartitionStateMachine {
    return this.#machine!;
  }

  get requests(): Requests {
    return this.#requests!;
  }

  get store(): PartitionStore {
    return this.disk.partition(PARTITION_SET);
  }

  run(machine: PartitionStateMachine): void {
    this.#machine = machine;
    this.#requests = new Requests(machine);
    this.isUp = true;
  }

  holdDisk(): void {
    this.isDiskHeld = true;
  }

  /** What the disk was asked for is done, and so is what it is asked for from now on. */
  releaseDisk(): void {
    this.isDiskHeld = false;
    for (const run of this.#held.splice(0)) run();
  }

  /** After a crash nobody waits for the disk any more. */
  forgetHeld(): void {
    this.isDiskHeld = false;
    this.#held.length = 0;
  }

  damage(lsn: number): void {
    this.disk.damage(PARTITION_SET, lsn);
  }
}
