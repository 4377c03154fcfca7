import { expect, test } from 'vitest';
import { durationMs, type OutageCase } from './case.ts';
import { newOutageCounts, type OutageCounts } from './counts.ts';
import { BIN_MS, type Bins, CALM_BINS, crowdFromMs, newBins } from './crowd.ts';
import { runOutages, startSome } from './outage.ts';
import { azureRegion } from './topology.ts';

const NAMES = ['East Asia', 'Southeast Asia', 'South Central US'];
const PLACES = NAMES.map((name) => azureRegion(name)!);
const SETS = 8;
const CASE: OutageCase = {
  regions: PLACES,
  regionNames: NAMES,
  acceptors: PLACES,
  outages: 1,
  minutes: 0.5,
  calmMinutes: 0.5,
  profile: 'fast',
  hints: true,
  kind: 'region',
  consistency: 'Strong',
  minDurability: 1,
  seed: 1,
  oneWayMs: 5,
};

/** Of these processes, from the outage on. */
function waitsOf(waitMs: number, ...processes: readonly number[]): Bins {
  const waits = newBins(CASE);
  for (const process of processes) waits[process]!.fill(waitMs, CALM_BINS);
  return waits;
}

function run(waits?: Bins): OutageCounts {
  const counts = newOutageCounts(CASE);
  runOutages(CASE, 0, SETS, counts, waits);
  return counts;
}

const alone = run();

test('no waits are as good as no crowd', () => {
  expect(run(newBins(CASE))).toEqual(alone);
});

test.each([
  ['the regions', [0, 1, 2]],
  ['the acceptors', [3, 4, 5]],
])('what arrives at %s is dealt with later', (_, processes) => {
  const late = run(waitsOf(100, ...processes));
  expect(late).toMatchObject({ affected: SETS, recovered: SETS, doubleWriters: 0, lostWrites: 0 });
  for (const part of ['fencing', 'reporting'] as const)
    expect(late[part].mean + late.election.mean).toBeGreaterThan(alone[part].mean + alone.election.mean);
  expect(late.recovery.mean).toBeGreaterThan(alone.recovery.mean + 200);
});

test('a timer rings late, and rings: whatever else its process does meanwhile', () => {
  const late = run(waitsOf(900, 0, 1, 2));
  expect(late.recovered).toBe(SETS);
  expect(late.waking.mean).toBeGreaterThan(alone.waking.mean + 800);
});

test('work is counted where it is done, and the dead have none', () => {
  const crowd = { fromMs: crowdFromMs(CASE), waits: newBins(CASE), work: newBins(CASE) };
  for (const one of startSome(CASE, SETS, crowd)) one.goOn(durationMs(CASE));
  const perSecond = (process: number, fromBin: number, bins: number): number =>
    crowd.work[process]!.subarray(fromBin, fromBin + bins).reduce((sum, count) => sum + count, 0) /
    ((bins * BIN_MS) / 1000);
  // In the calm each region asks each acceptor twice a second for each partition-set.
  for (const process of [0, 1, 2, 3, 4, 5]) {
    expect(perSecond(process, 0, CALM_BINS) / (SETS * 6)).toBeGreaterThan(0.9);
    expect(perSecond(process, 0, CALM_BINS) / (SETS * 6)).toBeLessThan(1.3);
  }
  // The first region's power is away, and its acceptor's; what was under way when they died has arrived.
  const away = [0, 3].map((process) => perSecond(process, CALM_BINS + 10, 2900));
  expect(away).toEqual([0, 0]);
  expect(perSecond(1, CALM_BINS + 10, 2900)).toBeGreaterThan(0);
});
