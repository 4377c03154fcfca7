/**
 * Makes a schedule happen: wraps the network's link in the faults that concern messages, and sets the moments at which
 * processes stop and return and disks go bad. Each fault reports what it met to `Phases`.
 */
import { assert, unreachable } from '../../protocol/index.ts';
import {
  cutting,
  type DiskCopy,
  duplicating,
  type Link,
  losing,
  type Random,
  straggling,
  type WhenLink,
} from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import type { ScheduledFault } from '../seeded-run.ts';
import type { World } from '../world.ts';
import { type FaultName, STRAGGLING_SHARE } from './faults.ts';
import type { Copies } from './copies.ts';
import type { Lineages } from './lineages.ts';
import type { Phases } from './phases.ts';
import type { StoreServer } from './store-server.ts';

/** Whom the weather can reach. */
export interface Ground {
  readonly world: World;
  readonly phases: Phases;
  readonly lineages: Lineages;
  /** By the number of their process. */
  readonly servers: ReadonlyMap<number, StoreServer>;
  readonly copies: Copies;
  /** By their names: clients of a cluster that begins over an acceptor of this one. */
  readonly rivals: readonly string[];
  /** Has that client change the set of acceptors to those. */
  changeSet(client: string, acceptors: readonly string[]): void;
  count(what: string, times?: number): void;
}

/** Another disk in the place of a server's: empty, or a copy. */
type Replacement = (server: StoreServer, copy?: DiskCopy) => void;

/** What meets something only when a sync begins. */
const LATER: ReadonlySet<string> = new Set<FaultName>(['slow disk', 'crash in sync']);

const RIVALS_DOWN_MS = 50;
const RESTART_MS = 100;

export class Weather {
  readonly #ground: Ground;
  readonly #random: Random;
  /** How much slower the syncs of an acceptor are now. */
  readonly #slow = new Map<number, number>();
  /** Disks that stall, until the power of all of them goes in the middle of a sync of one. */
  readonly #stalls = new Set<ScheduledFault>();

  /** Who starts anew when an old copy in the place of an acceptor is found out. */
  readonly #restarting = new Map<string, SimProcess>();

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#random = ground.world.randomFor('weather');
  }

  /** A sync begins on that acceptor's disk that would take so long in calm weather: how long it takes. */
  syncMs(name: string, calmMs: number): number {
    const { world, phases } = this.#ground;
    const { index } = this.#processNamed(name);
    const extraMs = this.#slow.get(index) ?? 0;
    if (extraMs > 0) phases.metProcess('slow disk', index);
    let ms = calmMs + extraMs;
    for (const fault of this.#stalls) {
      if (!fault.targets.includes(name)) continue;
      ms += fault.strength;
      const at = world.now + this.#random.uniform() * ms;
      if (at < fault.untilMs) world.at(at, -1, () => this.#cutPower(fault));
    }
    return ms;
  }

  /** Before anything is sent. */
  bring(schedule: readonly ScheduledFault[]): void {
    for (const fault of schedule) {
      this.#ground.count(`fault ${fault.kind}`);
      this.#bring(fault);
    }
  }

  /** All is well from now on, but for what disks have lost. */
  heal(): void {
    this.#slow.clear();
    this.#stalls.clear();
    for (const process of this.#ground.world.processes) {
      process.resume();
      process.start();
    }
  }

  #bring(fault: ScheduledFault): void {
    const kind = fault.kind as FaultName;
    switch (kind) {
      case 'loss':
      case 'duplicate':
      case 'straggle':
      case 'cut':
      case 'one-way cut':
        this.#ground.world.link = this.#wrapped(kind, fault);
        return;
      case 'pause':
        return this.#window(fault, {
          begin: (process) => process.pause(),
          end: (process) => process.resume(),
        });
      case 'crash client':
      case 'crash store':
        return this.#window(fault, {
          begin: (process) => this.#crash(process),
          end: (process) => process.start(),
        });
      case 'crash in sync':
        this.#ground.world.at(fault.fromMs, -1, () => this.#stalls.add(fault));
        return this.#window(fault, {
          end: (process) => {
            this.#stalls.delete(fault);
            process.start();
          },
        });
      case 'forget':
        return this.#window(fault, {
          begin: (process) => this.#loseDisk(process, undefined, (server) => server.replaceDisk()),
          end: (process) => process.start(),
        });
      case 'roll back':
        return this.#putBack(fault, (server, copy) => server.replaceDisk(copy));
      case 'promote':
        return this.#putBack(fault, (server, copy) => server.promote(copy));
      case 'copy':
        return this.#copy(fault);
      case 'shared':
        return this.#startRivals(fault);
      case 'restore':
        return this.#restore(fault);
      case 'garble':
        return this.#window(fault, { begin: (process) => this.#garble(process) });
      case 'clock jump':
        return this.#window(fault, { begin: (process) => process.clock.jump(fault.strength) });
      case 'change set': {
        const [client, ...acceptors] = fault.targets;
        this.#ground.world.at(fault.fromMs, -1, () => this.#ground.changeSet(client!, acceptors));
        return;
      }
      case 'slow disk':
        return this.#window(fault, {
          begin: (process) => void this.#slow.set(process.index, fault.strength),
          end: (process) => void this.#slow.delete(process.index),
        });
      default:
        return unreachable(kind);
    }
  }

  #wrapped(kind: 'loss' | 'duplicate' | 'straggle' | 'cut' | 'one-way cut', fault: ScheduledFault): Link {
    const { world, phases } = this.#ground;
    const { link } = world;
    const targets = new Set(this.#processes(fault).map(({ index }) => index));
    const isNow = (): boolean => world.now >= fault.fromMs && world.now < fault.untilMs;
    const concerns: WhenLink = (from, to) => isNow() && (targets.has(from) || targets.has(to));
    const onMeet = (from: number, to: number): void => phases.metLink(kind, from, to);
    if (kind === 'cut' || kind === 'one-way cut') {
      return cutting(link, (from, to) => {
        const leaves = targets.has(from) && !targets.has(to);
        const enters = targets.has(to) && !targets.has(from);
        const isCut = isNow() && (leaves || (enters && kind === 'cut'));
        if (isCut) onMeet(from, to);
        return isCut;
      });
    }
    const random = world.randomFor(kind);
    if (kind === 'loss') return losing(link, { share: fault.strength, random, when: concerns, onMeet });
    if (kind === 'duplicate')
      return duplicating(link, { share: fault.strength, random, when: concerns, onMeet });
    const share = STRAGGLING_SHARE;
    return straggling(link, { share, extraMs: fault.strength, random, when: concerns, onMeet });
  }

  #window(
    fault: ScheduledFault,
    { begin, end }: { begin?: (process: SimProcess) => void; end?: (process: SimProcess) => void },
  ): void {
    const { world, phases } = this.#ground;
    for (const process of this.#processes(fault)) {
      world.at(fault.fromMs, process.index, () => {
        world.note(fault.kind, process.index);
        if (!LATER.has(fault.kind)) phases.metProcess(fault.kind, process.index);
        begin?.(process);
      });
      if (end !== undefined) world.at(fault.untilMs, process.index, () => end(process));
    }
  }

  /** Once: of the syncs that were under way, the first decides when. */
  #cutPower(fault: ScheduledFault): void {
    if (!this.#stalls.delete(fault)) return;
    for (const process of this.#processes(fault)) {
      this.#ground.phases.metProcess(fault.kind, process.index);
      this.#crash(process);
    }
  }

  #crash(process: SimProcess): void {
    if (!process.isUp) return;
    process.crash();
    this.#ground.phases.forget(process.index);
    const lost = this.#ground.servers.get(process.index)?.crash(this.#random) ?? 0;
    if (lost > 0) this.#ground.count('unsynced writes lost', lost);
  }

  #loseDisk(process: SimProcess, copy: DiskCopy | undefined, replace: Replacement): void {
    this.#crash(process);
    replace(this.#ground.servers.get(process.index)!, copy);
    if (copy !== undefined) this.#ground.lineages.onRolledBack(process.index, copy);
  }

  /** The copy was made `strength` milliseconds before it is restored. */
  #putBack(fault: ScheduledFault, replace: Replacement): void {
    const { world, servers } = this.#ground;
    for (const { index } of this.#processes(fault)) {
      let copy: DiskCopy | undefined;
      world.at(Math.max(world.now, fault.fromMs - fault.strength), index, () => {
        copy = servers.get(index)!.copy();
      });
      this.#window(
        { ...fault, targets: [world.processes[index]!.name] },
        {
          begin: (process) => this.#loseDisk(process, copy, replace),
          end: (process) => process.start(),
        },
      );
    }
  }

  /** Somebody has found out that an old copy stands in that acceptor's place: a client starts anew, and was never there. */
  onRetired(acceptor: string): void {
    const { world } = this.#ground;
    const client = this.#restarting.get(acceptor);
    if (client === undefined) return;
    world.at(world.now, client.index, () => this.#crash(client));
    world.at(world.now + RESTART_MS, client.index, () => client.start());
  }

  #restore(fault: ScheduledFault): void {
    const [acceptor, client] = fault.targets;
    if (client !== undefined) this.#restarting.set(acceptor!, this.#processNamed(client));
    this.#putBack({ ...fault, targets: [acceptor!] }, (server, copy) => server.restore(copy));
  }

  /** As for an old copy that is put back, but the original goes on, on the other side of a cut. */
  #copy({ kind, fromMs, untilMs, targets: [original, ...side], strength }: ScheduledFault): void {
    const { world, servers, copies, phases } = this.#ground;
    const { index } = this.#processNamed(original!);
    const inside = new Set(
      [copies.processOf(original!), ...side.map((name) => this.#processNamed(name))].map((one) => one.index),
    );
    world.link = cutting(
      world.link,
      (from, to) => world.now >= fromMs && world.now < untilMs && inside.has(from) !== inside.has(to),
    );
    let documents: DiskCopy | undefined;
    world.at(Math.max(world.now, fromMs - strength), index, () => {
      documents = servers.get(index)!.copy();
    });
    world.at(fromMs, index, () => {
      world.note(kind, index);
      phases.metProcess(kind, index);
      copies.begin(original!, side, documents);
    });
    world.at(untilMs, index, () => copies.end(original!));
  }

  /** In the moment in which the others start; some die in the middle of it, and come back. */
  #startRivals({ fromMs, untilMs, strength }: ScheduledFault): void {
    const { world, rivals } = this.#ground;
    for (const process of world.processes.filter(({ name }) => rivals.includes(name))) {
      world.at(fromMs, process.index, () => process.start());
      if (strength === 0) continue;
      world.at(untilMs, process.index, () => this.#crash(process));
      world.at(untilMs + RIVALS_DOWN_MS, process.index, () => process.start());
    }
  }

  #garble(process: SimProcess): void {
    const key = this.#ground.servers.get(process.index)!.garble(this.#random);
    if (key !== undefined) this.#ground.world.note(`garble ${key}`, process.index);
  }

  #processes({ targets }: ScheduledFault): readonly SimProcess[] {
    return targets.map((name) => this.#processNamed(name));
  }

  #processNamed(name: string): SimProcess {
    const process = this.#ground.world.processes.find((candidate) => candidate.name === name);
    assert(process !== undefined, `there is no process ${name}`);
    return process;
  }
}
