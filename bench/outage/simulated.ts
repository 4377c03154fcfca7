/**
 * The same run in the simulator, as far as it can be the same: the same times, the same latencies, and the same processors. What a message
 * takes, with everything it waits for on its way, and what each process uses of the processors are taken from the calm before the first
 * outage; what the outage makes of them is for the simulator to say.
 */
import { availableParallelism } from 'node:os';
import { azureRegion, type OutageCase, type OutageCounts, runOutageExperiment } from 'baton/sim';
import { type Calm, processorsOf } from './calm.ts';
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

/** What happens, and where; nothing of the machine. */
export function plannedCase(plan: OutagePlan): OutageCase {
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
  };
}

export function simulatedCase(plan: OutagePlan, calm: Calm): OutageCase {
  return {
    ...plannedCase(plan),
    oneWayMs: calm.updateMs / MESSAGES,
    processors: processorsOf(plan, calm),
  };
}

export function simulate(
  plan: OutagePlan,
  calm: Calm,
  onProgress: (done: number, inAll: number) => void,
): Promise<OutageCounts> {
  return runOutageExperiment({
    outageCase: simulatedCase(plan, calm),
    partitionSets: plan.partitionSets,
    workers: availableParallelism(),
    onProgress,
  });
}
