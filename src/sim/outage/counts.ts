/** What a piece of the fleet saw of its outages. Pieces add up to the whole, whoever simulated them and in whatever order. */
import { BUSY_INTERVALS, PROFILES } from '../../failover/index.ts';
import { durationMs, flapTimes, type OutageCase } from './case.ts';
import { Durations, type DurationsSnapshot } from './durations.ts';

/** The parts of a recovery, in the order in which they follow each other. */
export const RECOVERY_PARTS = [
  'leaseRemaining',
  'waking',
  'fencing',
  'reporting',
  'election',
  'takingOver',
] as const;
export type RecoveryPart = (typeof RECOVERY_PARTS)[number];

const TIMES = ['recovery', ...RECOVERY_PARTS, 'detect', 'failback', 'failbackGap'] as const;
type Times = (typeof TIMES)[number];

/** Of one flap of a flapping region: how many partition-sets left it, and how many came back before the next. */
export interface FlapCounts {
  failovers: number;
  failbacks: number;
}

export interface OutageCounts extends Readonly<Record<Times, Durations>> {
  partitionSets: number;
  /** Partition-sets, over all outages, whose writes stopped; and how many of them wrote again while it lasted. */
  affected: number;
  recovered: number;
  doubleWriters: number;
  lostWrites: number;
  /** That reached for an acceptor. */
  requests: number;
  /** The most of them of one partition-set in so many intervals. */
  mostRequests: number;
  events: number;
  failovers: number;
  readonly flaps: FlapCounts[];
  /** `serving[bucket][region]`: partition-sets that served writes then. */
  readonly serving: number[][];
}

export type OutageSnapshot = Omit<OutageCounts, Times> & Readonly<Record<Times, DurationsSnapshot>>;

export const BUCKET_MS = 10_000;

export function newOutageCounts(outageCase: OutageCase): OutageCounts {
  const buckets = Math.ceil(durationMs(outageCase) / BUCKET_MS);
  const times = Object.fromEntries(TIMES.map((name) => [name, new Durations()]));
  return {
    partitionSets: 0,
    affected: 0,
    recovered: 0,
    doubleWriters: 0,
    lostWrites: 0,
    requests: 0,
    mostRequests: 0,
    events: 0,
    failovers: 0,
    flaps: flapTimes(outageCase).map(() => ({ failovers: 0, failbacks: 0 })),
    serving: Array.from({ length: buckets }, () => outageCase.regions.map(() => 0)),
    ...(times as Record<Times, Durations>),
  };
}

export function outageSnapshot(counts: OutageCounts): OutageSnapshot {
  const times = Object.fromEntries(TIMES.map((name) => [name, counts[name].snapshot()]));
  return { ...counts, ...(times as Record<Times, DurationsSnapshot>) };
}

export function addOutage(counts: OutageCounts, snapshot: OutageSnapshot): void {
  for (const name of TIMES) counts[name].add(snapshot[name]);
  for (const [bucket, row] of snapshot.serving.entries()) {
    for (const [region, count] of row.entries()) counts.serving[bucket]![region]! += count;
  }
  for (const [at, { failovers, failbacks }] of snapshot.flaps.entries()) {
    counts.flaps[at]!.failovers += failovers;
    counts.flaps[at]!.failbacks += failbacks;
  }
  for (const [name, value] of Object.entries(snapshot)) {
    if (name === 'mostRequests') counts.mostRequests = Math.max(counts.mostRequests, snapshot.mostRequests);
    else if (typeof value === 'number') (counts as unknown as Record<string, number>)[name]! += value;
  }
}

/** The most in so many consecutive intervals. */
export function mostIn(intervals: number, requestsBy: readonly number[]): number {
  let [most, within] = [0, 0];
  for (const [at, requests] of requestsBy.entries()) {
    within += requests - (requestsBy[at - intervals] ?? 0);
    most = Math.max(most, within);
  }
  return most;
}

/** In how many intervals requests are bounded (`budget.ts` of the agent), or all that there are. */
export function busyIntervals(outageCase: OutageCase): number {
  const intervals = Math.floor(durationMs(outageCase) / PROFILES[outageCase.profile].intervalMs);
  return Math.min(BUSY_INTERVALS, intervals);
}

/** What a partition-set asks of its acceptors in that time while nothing is amiss: each region's two rounds in every interval. */
export function calmRequests(outageCase: OutageCase): number {
  return outageCase.regions.length * outageCase.acceptors.length * 2 * busyIntervals(outageCase);
}
