/** The same run in the simulator, as far as it can be the same: one machine's latencies, the same times. */
import { availableParallelism } from 'node:os';
import { azureRegion, type OutageCase, type OutageCounts, runOutageExperiment } from 'baton/sim';
import { type OutagePlan, REGIONS } from './plan.ts';

/** Between two processes of one machine, with what they do to answer. */
const ONE_WAY_MS = 0.5;
/** Names for places that are all the same distance apart. */
const PLACES = [
  'East Asia',
  'Southeast Asia',
  'South Central US',
  'East US',
  'West Europe',
  'Japan East',
  'Australia East',
];

export function simulatedCase(plan: OutagePlan): OutageCase {
  const places = PLACES.map((name) => azureRegion(name)!);
  return {
    regions: places.slice(0, REGIONS.length),
    regionNames: REGIONS,
    acceptors: places.slice(0, plan.acceptors),
    outages: plan.outages,
    minutes: plan.minutes,
    calmMinutes: plan.calmMinutes,
    profile: plan.profile,
    hints: true,
    kind: plan.kind,
    consistency: plan.consistency,
    minDurability: 1,
    seed: 1,
    oneWayMs: ONE_WAY_MS,
  };
}

export function simulate(
  plan: OutagePlan,
  onProgress: (done: number, inAll: number) => void,
): Promise<OutageCounts> {
  return runOutageExperiment({
    outageCase: simulatedCase(plan),
    partitionSets: plan.partitionSets,
    workers: availableParallelism(),
    onProgress,
  });
}
