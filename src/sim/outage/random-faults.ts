/**
 * Fleets under random faults: regions crash, links are cut one way or both, acceptors are lost (a minority at a time, more
 * would only stop everything), regions turn slow; everything is healed at one moment. What must hold afterwards whatever the
 * seed: writes are back within three lease intervals, there were never two writers, and nothing acknowledged at Strong is lost.
 */
import { PROFILES } from '../../failover/index.ts';
import { Random } from '../core/index.ts';
import type { OutageCase } from './case.ts';
import type { Availability } from './monitor.ts';
import { settingOf } from './outage.ts';
import { simulatePartitionSet } from './partition-set.ts';
import { azureTopology, type OutageEvent, type Topology } from './topology.ts';

export type RandomFaultCase = Omit<OutageCase, 'outages' | 'minutes' | 'kind'>;

export interface RandomFaultRun {
  readonly seed: number;
  readonly events: readonly OutageEvent[];
  readonly healedAtMs: number;
  /** How long after the healing the first write was served; infinite when none was. */
  readonly backAfterMs: number;
  /** The longest time without writes from then to the end: going home to the preferred region takes a moment. */
  readonly longestGapMs: number;
  readonly failovers: number;
  readonly doubleWriters: number;
  readonly lostWrites: number;
}

/** In lease intervals: calm, faults, and what is watched after the healing. */
const CALM_LEASES = 3;
const FAULTS_LEASES = 16;
const WATCHED_LEASES = 6;
/** Within this many leases of the healing every partition-set writes again (DESIGN 10). */
export const BACK_WITHIN_LEASES = 3;
const MOST_FAULTS = 14;
/** Once writes are back, no gap is longer than this: nothing fails any more, so nobody waits for a lease to end. */
const LONGEST_GAP_LEASES = 1;

export function runRandomFaults(faultCase: RandomFaultCase): RandomFaultRun {
  const { seed, profile } = faultCase;
  const topology = azureTopology(faultCase.regions, faultCase.acceptors);
  const { leaseMs, intervalMs } = PROFILES[profile];
  const healedAtMs = (CALM_LEASES + FAULTS_LEASES) * leaseMs;
  const window = { fromMs: CALM_LEASES * leaseMs, untilMs: healedAtMs, intervalMs };
  const events = randomEvents(window, topology, new Random(seed, 2000));
  const untilMs = healedAtMs + WATCHED_LEASES * leaseMs;
  const setting = settingOf({ ...faultCase, outages: 0, minutes: 0, kind: 'region' });
  const result = simulatePartitionSet({ ...setting, name: `ps-${seed}`, topology, events, untilMs, seed });
  return {
    seed,
    events,
    healedAtMs,
    ...afterHealing(result.availability, healedAtMs, untilMs),
    failovers: result.availability.marks.filter(({ phase }) => phase === 'Ungraceful').length,
    doubleWriters: result.doubleWriters,
    lostWrites: result.lostWrites,
  };
}

export function isWithinBounds(run: RandomFaultRun, { profile }: RandomFaultCase): boolean {
  const { leaseMs } = PROFILES[profile];
  const isBack =
    run.backAfterMs <= BACK_WITHIN_LEASES * leaseMs && run.longestGapMs <= LONGEST_GAP_LEASES * leaseMs;
  return isBack && run.doubleWriters === 0 && run.lostWrites === 0;
}

export function describeRun({ seed, events, healedAtMs, ...found }: RandomFaultRun): string {
  const lines = events
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(({ atMs, ...event }) => `  ${(atMs / 1000).toFixed(1)} s ${Object.values(event).join(' ')}`);
  return [`seed ${seed}, healed at ${healedAtMs / 1000} s: ${JSON.stringify(found)}`, ...lines].join('\n');
}

function afterHealing(
  { service }: Availability,
  healedAtMs: number,
  untilMs: number,
): Pick<RandomFaultRun, 'backAfterMs' | 'longestGapMs'> {
  const later = service.filter(({ to }) => to > healedAtMs);
  const gaps = later.map(({ to }, at) => (later[at + 1]?.from ?? untilMs) - to);
  return {
    backAfterMs: Math.max(0, (later[0]?.from ?? Infinity) - healedAtMs),
    longestGapMs: Math.max(0, ...gaps),
  };
}

interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly intervalMs: number;
}

/** Each fault ends with its opposite, at the healing at the latest. */
function randomEvents(window: Window, topology: Topology, random: Random): readonly OutageEvent[] {
  const count = 1 + Math.floor(random.uniform() * MOST_FAULTS);
  const minority = Math.floor((topology.acceptors.length - 1) / 2);
  const mortal = topology.acceptors.map((_, acceptor) => acceptor).toSorted(() => random.uniform() - 0.5);
  const faults = Array.from({ length: count }, () => {
    const from = random.between(window.fromMs, window.untilMs);
    const until = Math.min(window.untilMs, from + random.between(1, (window.untilMs - window.fromMs) / 2));
    return oneFault({ ...window, fromMs: from, untilMs: until }, topology, mortal.slice(0, minority), random);
  });
  return [...faults.flat(), ...healing(window, topology)];
}

function oneFault(
  { fromMs, untilMs, intervalMs }: Window,
  { regions, acceptors }: Topology,
  mortal: readonly number[],
  random: Random,
): readonly OutageEvent[] {
  const pick = (count: number): number => Math.min(count - 1, Math.floor(random.uniform() * count));
  const region = pick(regions.length);
  switch (pick(5)) {
    case 0:
      return [
        { atMs: fromMs, what: 'region down', region },
        { atMs: untilMs, what: 'region up', region, withinMs: intervalMs },
      ];
    case 1: {
      const acceptor = mortal[pick(mortal.length)]!;
      return [
        { atMs: fromMs, what: 'acceptor down', acceptor },
        { atMs: untilMs, what: 'acceptor up', acceptor },
      ];
    }
    case 2:
      return [
        { atMs: fromMs, what: 'slow', region, factor: 2 + pick(30) },
        { atMs: untilMs, what: 'slow', region, factor: 1 },
      ];
    case 3: {
      const other = (region + 1 + pick(regions.length - 1)) % regions.length;
      return cut(`r${region}`, [`r${other}`], { fromMs, untilMs }, random.uniform() < 0.5);
    }
    default: {
      const others = acceptors.map((_, index) => `a${index}`).filter(() => random.uniform() < 0.7);
      return cut(`r${region}`, others, { fromMs, untilMs }, random.uniform() < 0.5);
    }
  }
}

function cut(
  place: string,
  others: readonly string[],
  { fromMs, untilMs }: Pick<Window, 'fromMs' | 'untilMs'>,
  isOneWay: boolean,
): readonly OutageEvent[] {
  return others.flatMap((other) => {
    const pairs = [[place, other], ...(isOneWay ? [] : [[other, place]])] as const;
    return pairs.flatMap(([from, to]): OutageEvent[] => [
      { atMs: fromMs, what: 'cut', from, to },
      { atMs: untilMs, what: 'heal', from, to },
    ]);
  });
}

/** Whatever was left broken, by faults that overlapped too. */
function healing({ untilMs, intervalMs }: Window, { regions, acceptors }: Topology): readonly OutageEvent[] {
  const atMs = untilMs;
  const places = [...regions.map((_, index) => `r${index}`), ...acceptors.map((_, index) => `a${index}`)];
  return [
    ...acceptors.map((_, acceptor): OutageEvent => ({ atMs, what: 'acceptor up', acceptor })),
    ...regions.flatMap((_, region): OutageEvent[] => [
      { atMs, what: 'region up', region, withinMs: intervalMs },
      { atMs, what: 'slow', region, factor: 1 },
      ...places.flatMap((other): OutageEvent[] => [
        { atMs, what: 'heal', from: `r${region}`, to: other },
        { atMs, what: 'heal', from: other, to: `r${region}` },
      ]),
    ]),
  ];
}
