import { expect, test } from 'vitest';
import { PROFILES } from '../../failover/index.ts';
import type { OutageCase } from './case.ts';
import { newOutageCounts } from './counts.ts';
import { dieAtHome } from './flapping.ts';
import { runOutages } from './outage.ts';
import { azureRegion } from './topology.ts';

const NAMES = ['East Asia', 'Southeast Asia', 'South Central US'];
const OUTAGE_CASE: OutageCase = {
  regions: NAMES.map((name) => azureRegion(name)!),
  regionNames: NAMES,
  acceptors: NAMES.map((name) => azureRegion(name)!),
  outages: 2,
  minutes: 30,
  profile: 'paper',
  hints: true,
  kind: 'flapping',
  consistency: 'Strong',
  minDurability: 1,
  seed: 1,
};

test('a region that dies whenever it has the writes again has to beat for twice as long each time', () => {
  const flaps = dieAtHome(OUTAGE_CASE, 5);
  expect(flaps).toHaveLength(5);
  const { intervalMs } = PROFILES.paper;
  for (const [at, { provedMs }] of flaps.entries()) {
    const beats = 2 ** (at + 1);
    expect(provedMs / intervalMs).toBeGreaterThan(beats - 1);
    expect(provedMs / intervalMs).toBeLessThan(beats + 3);
  }
});

test('a region that flaps at a steady pace is left alone after a few flaps, in every outage anew', () => {
  const counts = newOutageCounts(OUTAGE_CASE);
  runOutages(OUTAGE_CASE, 0, 4, counts);
  const failovers = counts.flaps.map((flap) => flap.failovers);
  expect(failovers).toHaveLength(12);
  for (const outage of [failovers.slice(0, 6), failovers.slice(6)]) {
    expect(outage[0]).toBe(4);
    expect(outage.toSorted((a, b) => b - a)).toEqual(outage);
    expect(outage.at(-1)).toBe(0);
  }
  expect(counts.doubleWriters).toBe(0);
  expect(counts.flaps.at(-1)!.failbacks, 'it is forgiven in the end').toBe(4);
});
