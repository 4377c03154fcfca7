/**
 * What a wish does to the configuration. Most of it is in force at once. Four things wait until they are safe: a raised
 * minimum durability (until the lease set is that large), a stronger consistency level (until the writer's whole log is
 * durable on its commit set), a weaker one (until nobody has a right any more that was given under the stronger), and the
 * removal of a region (until nobody depends on it). A level holds until an update of the write region has put the next one in force: until
 * then commits, reads and elections go by it.
 */
import { isNewIncarnation } from './beats.ts';
import {
  type Configuration,
  heldLevel,
  type Level,
  levelOf,
  needsLeaseSet,
  promisesMore,
  type Timings,
  wantedLevel,
} from './configuration.ts';
import type { OpenIntent } from './intent-list.ts';
import type { IntentBody } from './intents.ts';
import { type Refusal, refusal } from './refusal.ts';
import type { RegionReport } from './report.ts';
import {
  awakeIn,
  departedOf,
  type FailoverState,
  namesOf,
  type RegionName,
  regionOf,
  withRegion,
} from './state.ts';

/** What becomes of a wish: another state, or the reason why not. */
export type Effect = FailoverState | Refusal;

export function isRefusal(effect: Effect): effect is Refusal {
  return 'code' in effect;
}

export function refused(field: string, message: string): Refusal {
  return refusal('INTENT_REFUSED', field, message);
}

export function knows(state: FailoverState, target: RegionName): Refusal | undefined {
  const region = regionOf(state, target);
  if (region === undefined)
    return refused('intent.target', `${target} is not a region of this partition-set.`);
  if (region.leaving === true) return refused('intent.target', `${target} is being removed.`);
  return undefined;
}

/** New behaviour is switched on only when every region runs a version that has it. */
export function needsVersion(state: FailoverState, version: number, needed: number): Refusal | undefined {
  if (awakeIn(state, version) >= needed) return undefined;
  return refusal(
    'FEATURE_NOT_YET',
    'intent.kind',
    `Not every region runs version ${needed} yet; upgrade them first.`,
  );
}

export function without<K extends 'paused' | 'pin'>(state: FailoverState, field: K): FailoverState {
  const { [field]: _, ...rest } = state;
  return rest as FailoverState;
}

export function configured(state: FailoverState, changes: Partial<Configuration>): FailoverState {
  const { configuration } = state;
  return { ...state, configuration: { ...configuration, ...changes, version: configuration.version + 1 } };
}

export function limitLoss(state: FailoverState, writes: number | null): FailoverState {
  if (writes !== null) return configured(state, { maxLossWrites: writes });
  const { maxLossWrites: _, ...configuration } = state.configuration;
  return configured({ ...state, configuration }, {});
}

export function changeTimings(state: FailoverState, timings: Timings): Effect {
  if (timings.leaseMs > timings.intervalMs) return configured(state, { timings });
  const message = `A lease of ${timings.leaseMs} ms cannot be renewed every ${timings.intervalMs} ms; it must be longer.`;
  return refused('intent.timings.leaseMs', message);
}

export function addRegion(state: FailoverState, name: RegionName, priority: number | undefined): Effect {
  const known = regionOf(state, name);
  if (known !== undefined && known.leaving !== true) {
    return refused('intent.target', `${name} is a region of this partition-set already.`);
  }
  const { priorities } = state.configuration;
  const place = priority ?? priorities.length;
  const next = configured(state, {
    priorities: [...priorities.slice(0, place), name, ...priorities.slice(place)],
  });
  const { removed = [], ...rest } = next;
  const others = removed.filter((other) => other !== name);
  const stillRemoved = others.length === 0 ? {} : { removed: others };
  if (known !== undefined) {
    const { leaving: _, ...back } = known;
    return { ...rest, ...stillRemoved, regions: { ...next.regions, [name]: back } };
  }
  const { incarnation = 0, beat = 0 } = departedOf(state, name) ?? {};
  const region = { building: true, incarnation, version: 0, beat, seen: beat, missed: 0, live: 0 } as const;
  return {
    ...withoutDeparted(rest, name),
    ...stillRemoved,
    regions: { ...next.regions, [name]: region },
  };
}

function withoutDeparted(
  { departed, ...state }: Omit<FailoverState, 'removed'>,
  name: RegionName,
): Omit<FailoverState, 'removed'> {
  const others = departed?.filter(({ region }) => region !== name) ?? [];
  return others.length === 0 ? state : { ...state, departed: others };
}

export function removeRegion(state: FailoverState, name: RegionName): Effect {
  const problem = knows(state, name);
  if (problem !== undefined) return problem;
  const priorities = state.configuration.priorities.filter((other) => other !== name);
  const { minDurability, wanted: wishes } = state.configuration;
  const needed = Math.max(minDurability, wishes?.minDurability ?? 1);
  if (priorities.length < needed) {
    return refused('intent.target', `Without ${name} the minimum durability of ${needed} cannot be kept.`);
  }
  const next = state.pin === name ? without(state, 'pin') : state;
  return withRegion(configured(next, { priorities }), name, { leaving: true });
}

/** A wish that was cancelled before it was in force leaves nothing behind. */
export function takeBack(state: FailoverState, { kind, target }: OpenIntent): FailoverState {
  switch (kind) {
    case 'consistency':
      return unwanted(state, 'consistency');
    case 'durability':
      return unwanted(state, 'minDurability');
    case 'add region':
      return orLeave(state, removeRegion(state, target!));
    case 'remove region':
      return orLeave(state, addRegion(state, target!, undefined));
    default:
      return state;
  }
}

function orLeave(state: FailoverState, effect: Effect): FailoverState {
  return isRefusal(effect) ? state : effect;
}

export function reorder(state: FailoverState, priorities: readonly RegionName[]): Effect {
  const known = new Set(state.configuration.priorities);
  const isSame = priorities.length === known.size && new Set(priorities).size === known.size;
  if (!isSame || !priorities.every((name) => known.has(name))) {
    const list = state.configuration.priorities.join(', ');
    return refused('intent.priorities', `The list must have each of these regions once: ${list}.`);
  }
  // A changed list is a newer decision than an earlier pin.
  return without(configured(state, { priorities }), 'pin');
}

export function changeConsistency(
  state: FailoverState,
  { consistency, staleness }: Extract<IntentBody, { kind: 'consistency' }>,
  version: number,
): Effect {
  const { configuration } = state;
  const wish = levelOf(consistency, staleness ?? configuration.staleness);
  if (consistency === 'BoundedStaleness' && wish.staleness === undefined) {
    return refused('intent.staleness', 'Bounded staleness needs its bound: writes and seconds.');
  }
  if (state.phase === 'Ungraceful') {
    return refused('intent.kind', 'There is no write region; wait for the election, then change the level.');
  }
  const held = heldLevel(configuration);
  const isHeldBound = held.staleness !== undefined;
  const next = unwanted(state, 'consistency');
  // The bound of another level than that in force binds nobody yet.
  const bound = isHeldBound ? undefined : wish.staleness;
  if (!promisesMore(wish, held) && !promisesMore(held, wish)) return configured(next, { consistency });
  // Machines of before version 3 put a weaker level in force at once, and do not know of a wish for another bound.
  const isPlainRise = wish.level !== held.level && !promisesMore(held, wish);
  const problem = isPlainRise ? undefined : needsVersion(state, version, 3);
  if (problem !== undefined) return problem;
  const change = wish.staleness !== undefined && isHeldBound ? { staleness: wish.staleness } : {};
  const bounded = bound === undefined ? next : configured(next, { staleness: bound });
  return wanted(bounded, { consistency, ...change });
}

export function changeDurability(state: FailoverState, minDurability: number): Effect {
  const { configuration, leaseSet } = state;
  if (minDurability > configuration.priorities.length) {
    const count = configuration.priorities.length;
    return refused('intent.minDurability', `There are only ${count} regions; add one first.`);
  }
  if (minDurability > leaseSet.length) return wanted(state, { minDurability });
  return configured(unwanted(state, 'minDurability'), { minDurability });
}

function wanted(state: FailoverState, wish: NonNullable<Configuration['wanted']>): FailoverState {
  return configured(state, { wanted: { ...state.configuration.wanted, ...wish } });
}

function unwanted(state: FailoverState, field: 'consistency' | 'minDurability'): FailoverState {
  const { wanted: wishes, ...configuration } = state.configuration;
  if (wishes === undefined) return state;
  const { [field]: _, ...others } = wishes;
  const { staleness: _bound, ...unbound } = others;
  const rest = field === 'consistency' ? unbound : others;
  const left = Object.keys(rest).length > 0 ? { wanted: rest } : {};
  return { ...state, configuration: { ...configuration, ...left } };
}

/** What was decided earlier and has become safe now. In the writer's own update, in `Steady`. */
export function putInForce(
  state: FailoverState,
  report: RegionReport,
  before: FailoverState,
  awake: number,
): FailoverState {
  const isWriter = report.region === state.writer && report.region === before.writer;
  if (state.phase !== 'Steady' || !isWriter || report.writer === undefined) return state;
  if (isNewIncarnation(before, report)) return state;
  const { wanted: wishes } = state.configuration;
  let next = state;
  const wish = wantedLevel(state.configuration);
  if (wish !== undefined && report.writer.readyFor === wish.level)
    next = changeLevel(next, wish, report.writer.commitSet, awake);
  if (wishes?.minDurability !== undefined && next.leaseSet.length >= wishes.minDurability) {
    const { minDurability } = wishes;
    next = configured(unwanted(next, 'minDurability'), { minDurability });
  }
  return dropLeaving(next, report.writer.commitSet);
}

/**
 * The writer says that it is ready: what was acknowledged is good under the new level, and rights of the old one have ended. A writer of
 * before version 3 says it of a weaker level too soon.
 */
function changeLevel(
  state: FailoverState,
  wish: Level,
  commitSet: readonly RegionName[],
  awake: number,
): FailoverState {
  const held = heldLevel(state.configuration);
  if (promisesMore(held, wish) && awake < 3) return state;
  const next = promisesMore(wish, held) ? withCommitSet(state, commitSet) : state;
  if (next === undefined) return state;
  const { level: consistency, staleness } = wish;
  // What was committed before this GCN was committed by one region alone.
  const sureFrom = consistency === 'Strong' ? { sureFrom: state.gcn } : {};
  return configured(
    { ...unwanted(next, 'consistency'), ...sureFrom },
    { consistency, ...(staleness && { staleness }) },
  );
}

/** For a stronger level: everything up to the end of the log is durable on the commit set, which becomes the lease set. */
function withCommitSet(state: FailoverState, commitSet: readonly RegionName[]): FailoverState | undefined {
  const members = namesOf(state).filter((name) => commitSet.includes(name));
  // Rule 14: who is in the lease set is in the commit set, and leaves the one only through the other.
  const keepsAll = state.leaseSet.every((name) => members.includes(name));
  if (needsLeaseSet(state.configuration.consistency) && !keepsAll) return undefined;
  if (members.length < state.configuration.minDurability || !members.includes(state.writer!))
    return undefined;
  return { ...state, leaseSet: members };
}

/** A region that nobody waits for, and that is not the writer, can go. */
function dropLeaving(state: FailoverState, commitSet: readonly RegionName[]): FailoverState {
  const gone = namesOf(state).filter(
    (name) =>
      state.regions[name]!.leaving === true &&
      name !== state.writer &&
      !state.leaseSet.includes(name) &&
      !commitSet.includes(name),
  );
  if (gone.length === 0) return state;
  const regions = Object.fromEntries(Object.entries(state.regions).filter(([name]) => !gone.includes(name)));
  const statistics = Object.fromEntries(
    Object.entries(state.statistics).filter(([name]) => !gone.includes(name)),
  );
  const next = state.pin !== undefined && gone.includes(state.pin) ? without(state, 'pin') : state;
  const leaving = gone.map((region) => {
    const { incarnation, beat } = state.regions[region]!;
    return { region, incarnation, beat };
  });
  return {
    ...next,
    regions,
    statistics,
    removed: [...(state.removed ?? []), ...gone].slice(-8),
    departed: [...(state.departed ?? []), ...leaving],
  };
}
