import { expect, test } from 'vitest';
import { describeRun, isWithinBounds, type RandomFaultCase, runRandomFaults } from './random-faults.ts';
import { azureRegion } from './topology.ts';

const NAMES = ['East Asia', 'Southeast Asia', 'South Central US'];
const ACCEPTORS = [...NAMES, 'East US', 'West Europe', 'Japan East', 'Australia East'];
const LEVELS = [
  { consistency: 'Strong', minDurability: 2 },
  { consistency: 'Strong', minDurability: 1 },
  { consistency: 'BoundedStaleness', minDurability: 2 },
  { consistency: 'Session', minDurability: 1 },
] as const;
const SEEDS_PER_LEVEL = 10;

function faultCase(seed: number, level: (typeof LEVELS)[number]): RandomFaultCase {
  return {
    regions: NAMES.map((name) => azureRegion(name)!),
    regionNames: NAMES,
    acceptors: ACCEPTORS.map((name) => azureRegion(name)!),
    profile: 'paper',
    hints: seed % 2 === 0,
    ...level,
    seed,
  };
}

// A seed that fails prints what happened to it.
test.each(LEVELS)(
  'random faults at $consistency, durability $minDurability: writes are back within three leases of healing',
  (level) => {
    const seeds = Array.from({ length: SEEDS_PER_LEVEL }, (_, at) => 1 + at + 1000 * LEVELS.indexOf(level));
    const runs = seeds.map((seed) => ({ ...runRandomFaults(faultCase(seed, level)), level }));
    const failed = runs.filter((run) => !isWithinBounds(run, faultCase(run.seed, level)));
    expect(failed.map(describeRun).join('\n')).toBe('');
    expect(
      runs.reduce((sum, { failovers }) => sum + failovers, 0),
      'faults that lead to nothing show nothing',
    ).toBeGreaterThan(2);
  },
);

// A writer that reached too few regions spent its whole budget of requests before the healing.
test.each([
  [178, LEVELS[0]],
  [178, LEVELS[2]],
  [136, LEVELS[0]],
  [276, LEVELS[1]],
] as const)('seed %i at %o, which failed once', (seed, level) => {
  const run = runRandomFaults(faultCase(seed, level));
  expect(isWithinBounds(run, faultCase(seed, level)), describeRun(run)).toBe(true);
});

test('the same seed gives the same run, and can be told', () => {
  const [one, other] = [1, 1].map((seed) => runRandomFaults(faultCase(seed, LEVELS[0])));
  expect(other).toEqual(one);
  expect(describeRun(one!)).toMatch(/^seed 1, healed at 855 s: \{.*\n {2}\d+\.\d s /);
});
