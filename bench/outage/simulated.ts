/**
 * The same run in the simulator, as far as it can be the same: the same times, and the same latencies. The simulator knows no processors
 * that are busy with other partition-sets: what a message takes, with everything it waits for on its way, is taken from the real run, from
 * the state updates of the calm before the first outage.
 */
import { availableParallelism } from 'node:os';
import { azureRegion, type OutageCase, type OutageCounts, runOutageExperiment } from 'baton/sim';
import { type OutagePlan, REGIONS } from './plan.ts';

/** Of a state update: two rounds, there and back. */
const MESSAGES = 4;
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

export function simulatedCase(plan: OutagePlan, updateMs: number): OutageCase {
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
    oneWayMs: updateMs / MESSAGES,
  };
}

export function simulate(
  plan: OutagePlan,
  updateMs: number,
  onProgress: (done: number, inAll: number) => void,
): Promise<OutageCounts> {
  return runOutageExperiment({
    outageCase: simulatedCase(plan, updateMs),
    partitionSets: plan.partitionSets,
    workers: availableParallelism(),
    onProgress,
  });
}
