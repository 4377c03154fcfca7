/**
 * What the people who run a partition-set have decided about it. It is part of the state, so that every editor decides by
 * the same configuration; it changes through intents (`intents.ts`), some parts of it only when that has become safe.
 */
import type { RegionName } from './state.ts';

export const CONSISTENCY_LEVELS = [
  'Strong',
  'BoundedStaleness',
  'Session',
  'ConsistentPrefix',
  'Eventual',
] as const;
export type Consistency = (typeof CONSISTENCY_LEVELS)[number];

export interface Staleness {
  readonly writes: number;
  readonly seconds: number;
}

/** A consistency level, with its bound where it has one. */
export interface Level {
  readonly level: Consistency;
  readonly staleness?: Staleness;
}

export interface Timings {
  readonly intervalMs: number;
  readonly leaseMs: number;
  /** How long an election waits for regions that have not reported yet. */
  readonly settleMs: number;
}

export const PROFILES: Readonly<Record<'paper' | 'fast', Timings>> = {
  paper: { intervalMs: 30_000, leaseMs: 45_000, settleMs: 2000 },
  fast: { intervalMs: 1000, leaseMs: 3000, settleMs: 300 },
};

/** A daily window in UTC, `HH:MM` to `HH:MM`; one that ends before it begins goes over midnight. */
export interface FailbackWindow {
  readonly from: string;
  readonly to: string;
}

export type Failback = 'automatic' | 'off' | { readonly windows: readonly FailbackWindow[] };

/** What an external health signal about the write region does (paper 7.2). Signals that are not named do nothing. */
export type SignalPolicy = Readonly<Record<string, 'ignore' | 'graceful' | 'failover'>>;

export interface Configuration {
  readonly version: number;
  /** The regions that can be write region, the preferred one first. */
  readonly priorities: readonly RegionName[];
  readonly consistency: Consistency;
  /** The bound of bounded staleness: how far a lease-set member may lag behind the writer. */
  readonly staleness?: Staleness;
  readonly minDurability: number;
  /** Decided, and not yet safe to put in force. `staleness`: of a wish for another bound. */
  readonly wanted?: {
    readonly consistency?: Consistency;
    readonly staleness?: Staleness;
    readonly minDurability?: number;
  };
  readonly timings: Timings;
  readonly failback: Failback;
  /** No election may lose more known writes than this (levels weaker than bounded staleness). */
  readonly maxLossWrites?: number;
  readonly signals?: SignalPolicy;
}

/**
 * In how many regions a write must be, at the least, if nobody says otherwise: two, as long as the loss of any one region leaves as
 * many. Of two regions either may be lost, and a write that is taken then is in one place only.
 */
export function usualMinDurability(regions: number): number {
  return Math.max(1, Math.min(2, regions - 1));
}

/** What most partition-sets want; the preferred region first. */
export function configurationFor(
  regions: readonly RegionName[],
  changes: Partial<Configuration> = {},
): Configuration {
  return {
    version: 1,
    priorities: regions,
    consistency: 'Strong',
    minDurability: usualMinDurability(regions.length),
    timings: PROFILES.paper,
    failback: 'automatic',
    ...changes,
  };
}

/** Levels whose commits wait for the lease set, and whose writers are elected from it alone (rule 9). */
export function needsLeaseSet(consistency: Consistency): boolean {
  return consistency === 'Strong' || consistency === 'BoundedStaleness';
}

/** In force: what elections go by, what readers promise, and what a write was acknowledged under. */
export function heldLevel({ consistency, staleness }: Configuration): Level {
  return levelOf(consistency, staleness);
}

export function wantedLevel({ wanted, staleness }: Configuration): Level | undefined {
  return wanted?.consistency === undefined
    ? undefined
    : levelOf(wanted.consistency, wanted.staleness ?? staleness);
}

/**
 * What a writer keeps: both the level in force and the one that is wanted, so that what it acknowledges while the change is on its way is
 * good under either. A bound beside Strong is that of the readers.
 */
export function keptLevel(configuration: Configuration): Level {
  const held = heldLevel(configuration);
  const wish = wantedLevel(configuration);
  if (wish === undefined || strengthOf(wish) < strengthOf(held)) return held;
  if (held.staleness === undefined) return wish;
  // On the way to Strong readers still promise no more than the bound, and no less.
  if (wish.staleness === undefined) return { level: wish.level, staleness: held.staleness };
  const writes = Math.min(wish.staleness.writes, held.staleness.writes);
  const seconds = Math.min(wish.staleness.seconds, held.staleness.seconds);
  return { level: wish.level, staleness: { writes, seconds } };
}

export function levelOf(level: Consistency, staleness: Staleness | undefined): Level {
  return level === 'BoundedStaleness' && staleness !== undefined ? { level, staleness } : { level };
}

/** Whether the first promises something that the second does not: what is put in force needs its time then, and so does the way back. */
export function promisesMore(first: Level, second: Level): boolean {
  if (strengthOf(first) !== strengthOf(second)) return strengthOf(first) > strengthOf(second);
  const [one, other] = [first.staleness, second.staleness];
  if (one === undefined || other === undefined) return one !== undefined;
  return one.writes < other.writes || one.seconds < other.seconds;
}

export function sameLevel(first: Level | undefined, second: Level | undefined): boolean {
  const [one, other] = [first?.staleness, second?.staleness];
  return first?.level === second?.level && one?.writes === other?.writes && one?.seconds === other?.seconds;
}

function strengthOf({ level }: Level): number {
  return level === 'Strong' ? 2 : level === 'BoundedStaleness' ? 1 : 0;
}

/** Whether one of the signals has one of these policies; a signal that no policy names does nothing. */
export function hasSignal(
  { signals: policy = {} }: Configuration,
  signals: readonly string[] | undefined,
  policies: readonly string[] = ['graceful', 'failover'],
): boolean {
  return (signals ?? []).some(
    (signal) => Object.hasOwn(policy, signal) && policies.includes(policy[signal]!),
  );
}

/** `at` is an ISO timestamp; only people and this window look at it. */
export function allowsFailback(failback: Failback, at: string): boolean {
  if (failback === 'automatic') return true;
  if (failback === 'off') return false;
  const time = at.slice(11, 16);
  return failback.windows.some(({ from, to }) =>
    from <= to ? from <= time && time < to : from <= time || time < to,
  );
}
