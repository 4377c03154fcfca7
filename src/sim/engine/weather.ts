/**
 * Makes a schedule happen. A fault strikes at its time, or, when it is aimed at a phase (a target that begins with `@`), at the
 * first moment from then on at which some partition-set is in that phase; it lasts as long as was drawn. A fault that lasts
 * counts for every phase that it sees.
 */
import { formatPosition } from '../../check/index.ts';
import { assert, unreachable } from '../../protocol/index.ts';
import {
  cutting,
  duplicating,
  type Link,
  losing,
  type Random,
  straggling,
  type WhenLink,
} from '../core/index.ts';
import { contains, DamagedEntry, type DiskImage, type PartitionStore } from '../../engine/index.ts';
import type { SimProcess } from '../process.ts';
import type { ScheduledFault } from '../seeded-run.ts';
import type { World } from '../world.ts';
import { AIM, type FuzzFault, STRAGGLING_SHARE } from './faults.ts';
import { type FuzzPhase, meeting, phasesOf } from './phases.ts';
import type { SetRecorder } from './recorder.ts';
import type { Region } from './region.ts';

/** Whom the weather can reach. */
export interface Ground {
  readonly world: World;
  readonly regions: readonly Region[];
  readonly recorders: readonly SetRecorder[];
  /** By the name of their process. */
  readonly acceptors: ReadonlyMap<string, { crash(random: Random): number }>;
  /** Processes that are no part of the system. */
  readonly clients: ReadonlySet<number>;
  /** When all faults are over. */
  readonly untilMs: number;
  readonly count: (what: string, times?: number) => void;
}

interface Active {
  readonly fault: ScheduledFault;
  readonly wrap?: (link: Link) => Link;
  readonly met: Set<string>;
}

/** Faults after which the process starts again, besides crashes. */
const DOWN: ReadonlySet<string> = new Set<FuzzFault>(['empty disk', 'old disk']);
const LOOK_MS = 4;
const STOP_WITHIN_MS = 4000;

export class Weather {
  readonly #ground: Ground;
  readonly #random: Random;
  readonly #plain: Link;
  readonly #slow = new Map<string, number>();
  readonly #active = new Set<Active>();
  readonly #damaged = new Set<string>();
  readonly #lost = new Set<string>();
  /** What disks held that are going to come back old. */
  readonly #images = new Map<ScheduledFault, DiskImage>();

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#random = ground.world.randomFor('weather');
    this.#plain = ground.world.link;
  }

  /** How much longer a sync of that process takes now. */
  slowMs(name: string): number {
    return this.#slow.get(name) ?? 0;
  }

  bring(schedule: readonly ScheduledFault[]): void {
    for (const fault of schedule) {
      this.#processes(fault);
      const { world } = this.#ground;
      if (fault.kind === 'old disk')
        world.at(Math.max(0, fault.fromMs - fault.strength), -1, () => this.#takeImage(fault));
      world.at(fault.fromMs, -1, () => this.#await(fault));
    }
    this.#watch();
  }

  /** All is well from now on, but for acceptors that are lost. */
  heal(): void {
    const { world, regions } = this.#ground;
    this.#active.clear();
    this.#slow.clear();
    world.link = this.#plain;
    for (const region of regions) region.store.fail(undefined);
    for (const process of world.processes) {
      if (this.#lost.has(process.name)) continue;
      process.resume();
      this.#start(process);
    }
  }

  /** Waits for the phase that the fault is aimed at. */
  #await(fault: ScheduledFault): void {
    const { world, untilMs } = this.#ground;
    const aim = fault.targets.find((target) => target.startsWith(AIM))?.slice(AIM.length);
    if (world.now >= untilMs) return;
    if (aim === undefined || this.#phases().has(aim as FuzzPhase)) this.#strike(fault);
    else world.at(world.now + LOOK_MS, -1, () => this.#await(fault));
  }

  #strike(fault: ScheduledFault): void {
    const { world, count, untilMs } = this.#ground;
    count(`fault ${fault.kind}`);
    world.note(fault.kind, fault.fromMs);
    const endMs = Math.min(untilMs, world.now + fault.untilMs - fault.fromMs);
    const wrap = this.#wrapOf(fault);
    const active: Active = { fault, met: new Set(), ...(wrap && { wrap }) };
    this.#meet(active);
    this.#active.add(active);
    this.#relink();
    this.#begin(fault);
    world.at(endMs, -1, () => {
      if (!this.#active.delete(active)) return;
      this.#relink();
      this.#end(fault);
    });
  }

  #relink(): void {
    let link = this.#plain;
    for (const { wrap } of this.#active) if (wrap !== undefined) link = wrap(link);
    this.#ground.world.link = link;
  }

  #begin(fault: ScheduledFault): void {
    const kind = fault.kind as FuzzFault;
    switch (kind) {
      case 'loss':
      case 'duplicate':
      case 'straggle':
      case 'cut':
      case 'one-way cut':
      case 'cut pair':
        return;
      case 'pause':
        return this.#each(fault, (process) => this.#pause(fault, process));
      case 'crash':
      case 'crash acceptor':
        return this.#each(fault, (process) => this.#crash(process));
      case 'crash in sync':
        return this.#crashInSync(fault);
      case 'lose acceptor':
        return this.#each(fault, (process) => {
          this.#lost.add(process.name);
          this.#crash(process);
        });
      case 'stop':
        return this.#each(fault, (process) => {
          const region = this.#region(process);
          process.inside(() => void region?.stop(STOP_WITHIN_MS))();
        });
      case 'slow disk':
        return this.#each(fault, ({ name }) => void this.#slow.set(name, fault.strength));
      case 'disk full':
        return this.#each(fault, (process) =>
          this.#region(process)?.store.fail(new Error('The disk is full.')),
        );
      case 'damage':
        return this.#each(fault, (process) => this.#damage(this.#region(process)!, fault.strength));
      case 'empty disk':
      case 'old disk':
        return this.#each(fault, (process) => this.#loseDisk(fault, process));
      case 'clock jump':
        return this.#each(fault, (process) => process.clock.jump(fault.strength));
      case 'switchover':
      case 'failover':
        return this.#wish(kind, fault);
      default:
        return unreachable(kind);
    }
  }

  #end(fault: ScheduledFault): void {
    this.#each(fault, (process) => {
      if (fault.kind === 'pause') process.resume();
      if (fault.kind === 'slow disk') this.#slow.delete(process.name);
      if (fault.kind === 'disk full') this.#region(process)?.store.fail(undefined);
      if (fault.kind === 'crash in sync') this.#slow.delete(process.name);
      const isOver = DOWN.has(fault.kind) || fault.kind.startsWith('crash');
      if (isOver && !this.#lost.has(process.name)) this.#start(process);
      if (fault.kind !== 'stop') return;
      // What has not stopped by then is killed, as a supervisor does.
      this.#crash(process);
      this.#start(process);
    });
  }

  #wrapOf(fault: ScheduledFault): ((link: Link) => Link) | undefined {
    const { clients } = this.#ground;
    const { kind, strength } = fault;
    const targets = new Set(this.#processes(fault).map(({ index }) => index));
    const random = this.#random;
    const when: WhenLink = (from, to) => targets.has(from) || targets.has(to);
    switch (kind) {
      case 'loss':
        return (link) => losing(link, { share: strength, random, when });
      case 'duplicate':
        return (link) => duplicating(link, { share: strength, random, when });
      case 'straggle':
        return (link) => straggling(link, { share: STRAGGLING_SHARE, extraMs: strength, random, when });
      case 'cut pair':
        return (link) => cutting(link, (from, to) => from !== to && targets.has(from) && targets.has(to));
      case 'cut':
      case 'one-way cut':
        return (link) =>
          cutting(link, (from, to) => {
            if (strength === 1 && (clients.has(from) || clients.has(to))) return false;
            const leaves = targets.has(from) && !targets.has(to);
            return leaves || (kind === 'cut' && targets.has(to) && !targets.has(from));
          });
      default:
        return undefined;
    }
  }

  /** Every other pause is one of the whole machine, whose monotonic clock stands still with it. */
  #pause({ fromMs }: ScheduledFault, process: SimProcess): void {
    if (fromMs % 2 === 0) return process.pause();
    this.#ground.count('machine suspended');
    process.suspend();
  }

  #crash(process: SimProcess): void {
    if (!process.isUp) return;
    const { count, acceptors } = this.#ground;
    const region = this.#region(process);
    if (region === undefined) process.crash();
    const lost = region?.crash() ?? acceptors.get(process.name)?.crash(this.#random) ?? 0;
    if (lost > 0) count('unsynced writes lost', lost);
  }

  /** The disks stall, and some time later the power of all of them goes: what was not on disk is many writes. */
  #crashInSync(fault: ScheduledFault): void {
    const { world } = this.#ground;
    this.#each(fault, ({ name }) => void this.#slow.set(name, fault.strength));
    world.at(world.now + this.#random.between(0.2, 1) * fault.strength, -1, () => {
      this.#each(fault, (process) => {
        if (this.#slow.delete(process.name)) this.#crash(process);
      });
    });
  }

  #start(process: SimProcess): void {
    process.start();
  }

  /** An entry that another region has on disk too, and that has been damaged nowhere yet. */
  #damage(region: Region, draw: number): void {
    const { regions, recorders, count, world } = this.#ground;
    const { partitionSet } = recorders[draw % recorders.length]!;
    const own = region.store.partition(partitionSet);
    const lsn = own.base + (draw % Math.max(1, own.tail.lsn - own.base + 1));
    const name = `${partitionSet} ${lsn}`;
    if (lsn > own.tail.lsn || this.#damaged.has(name)) return;
    const { epoch } = own.entry(lsn)!;
    const isElsewhere = regions.some((other) => {
      const core = other === region ? undefined : other.partition(partitionSet)?.core;
      if (core === undefined || core.store.notes.building) return false;
      const { lsn: durable } = core.status().progress;
      return durable >= lsn && core.store.base <= lsn && core.store.entry(lsn)?.epoch === epoch;
    });
    if (!isElsewhere) return;
    this.#damaged.add(name);
    region.store.damage(partitionSet, lsn);
    count('entry damaged');
    world.note(`damage ${name}`, region.process.index);
  }

  #takeImage(fault: ScheduledFault): void {
    this.#each(fault, (process) => this.#images.set(fault, this.#region(process)!.store.image()));
  }

  /** The power goes, and what comes back is an empty disk, or an old one. */
  #loseDisk(fault: ScheduledFault, process: SimProcess): void {
    const { recorders, count, world } = this.#ground;
    const region = this.#region(process)!;
    const image = this.#images.get(fault);
    const isFair = ({ partitionSet }: SetRecorder): boolean =>
      this.#keepsList(region, partitionSet, image) &&
      (this.#isElsewhere(region, partitionSet) || this.#isInImage(region, partitionSet, image));
    if (!process.isUp || !recorders.every(isFair)) return;
    region.loseDisk(image);
    count(fault.kind === 'empty disk' ? 'disk emptied' : 'disk rolled back');
    world.note(`lose disk ${region.name}`, process.index);
  }

  /** What was undone is in the list of this region, which goes with its disk. */
  #keepsList(region: Region, partitionSet: string, image: DiskImage | undefined): boolean {
    const kept = new Set(
      [...(image?.get(partitionSet)?.undone() ?? [])].map(({ entry }) => formatPosition(entry)),
    );
    const own = region.partition(partitionSet)?.core;
    return own !== undefined && [...own.store.undone()].every(({ entry }) => kept.has(formatPosition(entry)));
  }

  /** Nothing that is committed is lost with the disk, and any other region may be elected, whatever it lacks. */
  #isInImage(region: Region, partitionSet: string, image: DiskImage | undefined): boolean {
    const own = region.partition(partitionSet)?.core;
    const old = image?.get(partitionSet);
    if (own === undefined || old === undefined || isLogDamaged(old)) return false;
    const { level } = own.consistency;
    if (level === 'Strong' || level === 'BoundedStaleness') return false;
    const isElectable = this.#ground.regions.some((other) => {
      const core = other === region ? undefined : other.partition(partitionSet)?.core;
      return core?.isReadable === true && !other.process.isPaused;
    });
    return isElectable && contains({ table: old.notes.table, tail: old.tail }, own.committed);
  }

  /** Another region that may be elected has what this one knows to be committed, and takes part now. */
  #isElsewhere(region: Region, partitionSet: string): boolean {
    const own = region.partition(partitionSet)?.core;
    const state = region.agentOf(partitionSet)?.state;
    if (own === undefined || state === undefined) return false;
    return this.#ground.regions.some((other) => {
      const core = other === region ? undefined : other.partition(partitionSet)?.core;
      if (core === undefined || core.store.notes.building || other.process.isPaused) return false;
      const known = other.agentOf(partitionSet)?.state;
      const isCurrent = known?.gcn === state.gcn && known.phase === 'Steady';
      if (!isCurrent || !state.leaseSet.includes(other.name) || !known.leaseSet.includes(other.name))
        return false;
      const { lsn } = core.status().progress;
      // What is damaged there may be here alone.
      if (isLogDamaged(core.store)) return false;
      return (
        own.committed.lsn <= lsn &&
        contains({ table: core.store.notes.table, tail: core.store.tail }, own.committed)
      );
    });
  }

  /** What an operator wants: any agent that is there takes it. */
  #wish(kind: 'switchover' | 'failover', fault: ScheduledFault): void {
    const { regions, recorders, count } = this.#ground;
    const { partitionSet } = recorders[Math.min(recorders.length - 1, fault.strength)]!;
    const [target] = this.#processes(fault);
    const via = regions.find(
      (region) => region.agentOf(partitionSet) !== undefined && !region.process.isPaused,
    );
    if (target === undefined || via === undefined) return;
    via.process.inside(() => {
      const by = { id: via.process.randomId(), who: 'operator' };
      void via
        .agentOf(partitionSet)!
        .post({ kind, target: target.name }, by)
        .then(
          () => count(`${kind}: taken`),
          () => count(`${kind}: refused`),
        );
    })();
  }

  /** What lasts meets every phase that comes while it does. */
  #watch(): void {
    const { world, untilMs } = this.#ground;
    for (const active of this.#active) this.#meet(active);
    if (world.now < untilMs) world.at(world.now + 10, -1, () => this.#watch());
  }

  #meet({ fault, met }: Active): void {
    for (const { partitionSet } of this.#ground.recorders) {
      for (const phase of phasesOf(this.#ground.regions, partitionSet)) {
        const name = `${partitionSet} ${phase}`;
        if (met.has(name)) continue;
        met.add(name);
        this.#ground.count(meeting(fault.kind, phase));
      }
    }
  }

  #phases(): ReadonlySet<FuzzPhase> {
    const { recorders, regions } = this.#ground;
    return new Set(recorders.flatMap(({ partitionSet }) => [...phasesOf(regions, partitionSet)]));
  }

  #region({ name }: SimProcess): Region | undefined {
    return this.#ground.regions.find((region) => region.name === name);
  }

  #each(fault: ScheduledFault, run: (process: SimProcess) => void): void {
    for (const process of this.#processes(fault)) run(process);
  }

  #processes({ targets }: ScheduledFault): readonly SimProcess[] {
    return targets
      .filter((name) => !name.startsWith(AIM))
      .map((name) => {
        const process = this.#ground.world.processes.find((candidate) => candidate.name === name);
        assert(process !== undefined, `there is no process ${name}`);
        return process;
      });
  }
}

function isLogDamaged(store: Pick<PartitionStore, 'base' | 'tail' | 'entry'>): boolean {
  try {
    for (let { base: lsn } = store; lsn <= store.tail.lsn; lsn += 1) store.entry(lsn);
    return false;
  } catch (error) {
    if (error instanceof DamagedEntry) return true;
    throw error;
  }
}
