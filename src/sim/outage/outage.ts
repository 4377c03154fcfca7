/**
 * The paper's outage experiment (6.1) in virtual time: a fleet of partition-sets whose preferred region fails and returns, and
 * how long each of them takes to write again, to notice the return, and to go home. Plain data in, plain data out: a fleet is
 * cut into pieces that any worker can take, and the pieces' results are added up.
 */
import { namedPolicy, PROFILES } from '../../failover/index.ts';
import { Random } from '../core/index.ts';
import { calmMsOf, durationMs, flapTimes, measuredTimes, type OutageCase, outageTimes } from './case.ts';
import { busyIntervals, mostIn, type OutageCounts } from './counts.ts';
import { type Bins, type Crowd, crowdFromMs } from './crowd.ts';
import { eventsOf } from './kinds.ts';
import { countFlaps, measureOutage, noteService } from './measure.ts';
import {
  type PartitionSetOptions,
  type PartitionSetResult,
  type RunningPartitionSet,
  simulatePartitionSet,
  startPartitionSet,
} from './partition-set.ts';
import { type OutageEvent, type Topology, topologyOf } from './topology.ts';

/** Partition-sets number `first` to `first + count - 1` of the fleet; `waits` is what the crowd of all makes them wait. */
export function runOutages(
  outageCase: OutageCase,
  first: number,
  count: number,
  counts: OutageCounts,
  waits?: Bins,
): void {
  const topology = topologyOf(outageCase);
  const crowd = waits && { fromMs: crowdFromMs(outageCase), waits };
  for (let number = first; number < first + count; number += 1) {
    const options = optionsOf(outageCase, topology, number, crowd);
    countOne(outageCase, simulatePartitionSet(options), counts);
  }
}

/** The first partition-sets of the fleet, all of them at their beginning. */
export function startSome(
  outageCase: OutageCase,
  count: number,
  crowd: Crowd,
): readonly RunningPartitionSet[] {
  const topology = topologyOf(outageCase);
  return Array.from({ length: count }, (_, number) =>
    startPartitionSet(optionsOf(outageCase, topology, number, crowd)),
  );
}

function optionsOf(
  outageCase: OutageCase,
  topology: Topology,
  number: number,
  crowd: Crowd | undefined,
): PartitionSetOptions {
  const { kind, profile } = outageCase;
  const { intervalMs } = PROFILES[profile];
  const seed = (Math.imul(outageCase.seed, 1_000_003) + number) >>> 0;
  const random = new Random(seed, 1000);
  const events = outageTimes(outageCase).flatMap((window): readonly OutageEvent[] =>
    eventsOf(kind, { ...window, intervalMs }, topology, random),
  );
  return {
    ...settingOf(outageCase),
    name: `ps-${number}`,
    topology,
    events,
    untilMs: durationMs(outageCase),
    seed,
    crowd,
  };
}

/** How a partition-set of this experiment is set up, whatever happens to it. */
export function settingOf({
  profile,
  consistency,
  minDurability,
  regionNames,
  hints,
}: OutageCase): Pick<PartitionSetOptions, 'configuration' | 'policy' | 'hints'> {
  return {
    configuration: {
      version: 1,
      priorities: regionNames,
      consistency,
      minDurability,
      timings: PROFILES[profile],
      failback: 'automatic',
      ...(consistency === 'BoundedStaleness' && { staleness: { writes: 100_000, seconds: 300 } }),
    },
    policy: namedPolicy('baton'),
    hints,
  };
}

function countOne(outageCase: OutageCase, result: PartitionSetResult, counts: OutageCounts): void {
  const { availability } = result;
  counts.partitionSets += 1;
  counts.doubleWriters += result.doubleWriters;
  counts.lostWrites += result.lostWrites;
  counts.requests += result.requests;
  counts.mostRequests = Math.max(counts.mostRequests, mostIn(busyIntervals(outageCase), result.requestsBy));
  counts.events += result.events;
  counts.failovers += availability.marks.filter(({ phase }) => phase === 'Ungraceful').length;
  const { regionNames } = outageCase;
  const calmMs = calmMsOf(outageCase);
  for (const window of measuredTimes(outageCase))
    measureOutage(window, availability, { regionNames, calmMs }, counts);
  countFlaps(flapTimes(outageCase), availability, calmMs, counts.flaps);
  noteService(availability.service, counts);
}
