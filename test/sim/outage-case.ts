/** Three regions that are their own acceptors, in the fast profile: a small outage experiment for tests. */
import { azureRegion, type OutageCase } from 'baton/sim';

const NAMES = ['East Asia', 'Southeast Asia', 'South Central US'];
export const PLACES: readonly number[] = NAMES.map((name) => azureRegion(name)!);

/** The outage lasts as long as the calm after it. */
export function smallOutage(minutes: number): OutageCase {
  return {
    regions: PLACES,
    regionNames: NAMES,
    acceptors: PLACES,
    outages: 1,
    minutes,
    calmMinutes: minutes,
    profile: 'fast',
    hints: true,
    kind: 'region',
    consistency: 'Strong',
    minDurability: 1,
    seed: 1,
    oneWayMs: 5,
  };
}
