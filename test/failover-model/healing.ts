/**
 * Worlds in which faults stop: from then on every region that is alive does all that it can, in a fixed order, and the
 * question is after how many ticks a new write is accepted and acknowledged (the paper's
 * `WritesEnabledAtEndOfHistoryWhenRegionsSetIsStable`). Some faults may stay for good: that is what the rules about reach,
 * about too few members and about dead targets are for.
 *
 * A tick is a whole lease on the holder's clock, so a schedule has several rounds of updates in it; waits of less than a tick
 * last one.
 */
import { mayLeave } from './agent.ts';
import { acceptsWrites, committed, mayReplicate, replicated, wrote } from './engine.ts';
import { FailoverModel } from './model.ts';
import {
  each,
  has,
  including,
  keeps,
  type Name,
  type Names,
  type Setting,
  withRegion,
  without,
  type World,
} from './world.ts';

export interface Faults {
  /** Regions that do nothing. */
  readonly dead?: Names;
  /** Regions that do not reach the register. */
  readonly blind?: Names;
  /** Regions that replicate with nobody. */
  readonly alone?: Names;
}

const ROUNDS = 3;
/** Longer than any wait of the machine: after so many ticks it will not come any more. */
const NEVER = 40;

export class Healing {
  readonly #model: FailoverModel;
  readonly #setting: Setting;
  readonly #faults: Faults;
  readonly #known = new Map<string, number>();

  constructor(setting: Setting, faults: Faults) {
    this.#setting = { ...setting, watchers: 'abc', isTimed: true, maxGcn: NEVER, maxLog: NEVER };
    this.#model = new FailoverModel(this.#setting);
    this.#faults = faults;
  }

  /** A world of another model, as this one would have it. */
  adopt(world: World): World {
    return this.#model.adopt(world);
  }

  get initial(): World {
    return this.#model.initial;
  }

  /** Whether writes can be back at all: enough regions to be durable on, one of them electable. */
  canHeal({ register }: World): boolean {
    const { minDurability, consistency, regions } = this.#setting;
    const useful = regions.filter((name) => this.#sees(name) && !has(this.#faults.alone ?? '', name));
    const isWeak = consistency !== 'Strong' && consistency !== 'BoundedStaleness';
    if (useful.length < (isWeak ? 1 : minDurability)) return false;
    return isWeak || useful.some((name) => register.leaseSet.includes(name));
  }

  /** Ticks until a new write is accepted and acknowledged. */
  ticksUntilWrites(world: World): number {
    let next = this.#model.adopt(world);
    const path: string[] = [];
    let after = NEVER;
    while (path.length < NEVER) {
      const key = this.#model.key(next);
      const known = this.#known.get(key);
      if (known !== undefined) {
        after = known;
        break;
      }
      path.push(key);
      const worked = this.#worked(next, (now) => this.#isBack(now));
      if (worked === undefined) {
        after = -1;
        break;
      }
      next = this.#model.tick(worked);
    }
    // One tick more for each step back along the path.
    for (const key of path.reverse()) this.#known.set(key, (after = Math.min(after + 1, NEVER)));
    return after;
  }

  /** All that can be done, and a tick. The faults may depend on what happens. */
  passed(world: World, faultsIn: (world: World) => Faults = () => this.#faults): World {
    return this.#model.tick(this.#worked(world, () => false, faultsIn)!);
  }

  /** Some rounds in which every region does what it can; undefined if `isEnough` is true after one of them. */
  #worked(
    world: World,
    isEnough: (world: World) => boolean,
    faultsIn: (world: World) => Faults = () => this.#faults,
  ): World | undefined {
    let next = world;
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of this.#setting.regions) {
        const faults = faultsIn(next);
        if (!has(faults.dead ?? '', name)) next = this.#act(next, name, faults, round === 0);
      }
      if (isEnough(next)) return undefined;
    }
    return next;
  }

  #isBack(world: World): boolean {
    const name = this.#setting.regions.find(
      (one) => !has(this.#faults.dead ?? '', one) && acceptsWrites(this.#setting, world.regions[one]!),
    );
    if (name === undefined) return false;
    const { told, regions } = this.#replicate(wrote(this.#setting, world, name), name, this.#faults);
    return told === regions[name]!.log;
  }

  #sees(name: Name, { dead = '', blind = '' }: Faults = this.#faults): boolean {
    return !has(dead, name) && !has(blind, name);
  }

  #reaches(name: Name, { dead = '', alone = '' }: Faults): Names {
    if (has(alone, name)) return name;
    return this.#setting.regions.filter((other) => !has(dead, other) && !has(alone, other)).join('');
  }

  #act(world: World, name: Name, faults: Faults, isScheduled: boolean): World {
    let next = world;
    if (next.regions[name]!.isStopped) next = this.#model.started(next, name);
    // Of a region that does not reach the register, what was on its way is lost.
    if (next.regions[name]!.pending !== null && this.#sees(name, faults))
      next = this.#model.settled(next, name);
    next = this.#replicate(next, name, faults);
    if (this.#sees(name, faults)) next = this.#update(next, name, faults, isScheduled);
    return this.#arrange(next, name, faults);
  }

  #update(world: World, name: Name, faults: Faults, isScheduled: boolean): World {
    const { writer, log, gclsn } = world.regions[name]!;
    const reaches = this.#reaches(name, faults);
    const common = { isScheduled, reaches };
    if (writer === null) return this.#model.update(world, name, common) ?? world;
    const { known, commit, acks, taken } = writer;
    const isDurable = (other: string): boolean => (acks[other] ?? 0) >= Math.max(gclsn, taken);
    // Rule 16 does not wait for the tail to commit: a dead member may block it.
    const mayAdd = keeps(this.#setting, '16-tail') || gclsn === log.length;
    const add = each(commit).filter((other) => !has(known, other) && has(reaches, other) && isDurable(other));
    const remove = each(known).filter((other) => !has(reaches, other));
    const isFinal = writer.isQuiesced && commit === known && writer.maybe === '';
    const caughtUp = this.#setting.regions.filter((other) => (acks[other] ?? 0) === log.length).join('');
    const choice = { ...common, add: mayAdd ? add.join('') : '', remove: remove.join(''), isFinal, caughtUp };
    return this.#model.update(world, name, choice) ?? world;
  }

  /** The whole log to everybody in reach. */
  #replicate(world: World, name: Name, faults: Faults): World {
    let next = world;
    for (const other of each(this.#reaches(name, faults))) {
      while (other !== name && this.#mayReplicate(next, name, other)) {
        next = replicated(this.#setting, next, name, other);
      }
    }
    return next;
  }

  #mayReplicate(world: World, name: Name, other: Name): boolean {
    return mayReplicate(this.#setting, world.regions[name]!, world.regions[other]!, other);
  }

  /** The commit set: whoever is in reach joins, whoever may go goes. */
  #arrange(world: World, name: Name, faults: Faults): World {
    let next = world;
    for (const other of this.#setting.regions) {
      const region = next.regions[name]!;
      const { writer } = region;
      if (writer === null || other === name) continue;
      const isReached = has(this.#reaches(name, faults), other);
      const commit = isReached
        ? including(writer.commit, other)
        : mayLeave(this.#setting, region, name, other)
          ? without(writer.commit, other)
          : writer.commit;
      next = committed(
        this.#setting,
        withRegion(next, name, { ...region, writer: { ...writer, commit } }),
        name,
      );
    }
    return next;
  }
}
