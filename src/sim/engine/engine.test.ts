import { describe, expect, test } from 'vitest';
import type { SeededRun } from '../seeded-run.ts';
import { FUZZ_DEFECTS, type FuzzDefect, FUZZ_FAULTS, FUZZ_SIMULATIONS, fuzzSimulationWith } from './index.ts';

const LONG_MS = 180_000;
/** How many seeds a defect may survive. */
const PATIENCE = 12;

describe('a seed', () => {
  test.each([1, 2, 3])('%i passes, and is the same run every time', { timeout: LONG_MS }, async (seed) => {
    const simulation = fuzzSimulationWith();
    const run = await simulation.run(seed);
    expect(run.failure).toBeUndefined();
    expect(run.counts['acknowledged writes']).toBeGreaterThan(20);
    expect(await simulation.run(seed)).toEqual(run);
  });

  test('without faults loses nothing, fails over for no reason but priority, and undoes nothing', { timeout: LONG_MS }, async () => {
    const { failure, counts } = await fuzzSimulationWith({ level: 'Strong' }).run(5, []);
    expect(failure).toBeUndefined();
    const failovers = Object.keys(counts).filter((name) => name.startsWith('failover: '));
    expect(failovers.filter((name) => name !== 'failover: planned, priority')).toEqual([]);
    expect(counts['entries undone']).toBeUndefined();
  });

  test('draws its level, unless it is given', { timeout: LONG_MS }, async () => {
    const run = await fuzzSimulationWith({ level: 'ConsistentPrefix' }).run(9, []);
    expect(run.configuration).toContain('level: ConsistentPrefix');
  });
});

/** Where to begin to look: most seeds do not meet the defect. */
const DEFECTS: Readonly<Record<FuzzDefect, { level: 'Strong' | 'Session'; first: number; checks: RegExp }>> = {
  'syncs before durable': { level: 'Strong', first: 8, checks: /undone|strong|log|two/ },
  'shows above the GCLSN': { level: 'Strong', first: 1, checks: /undone|strong|eventual|prefix/ },
  'skips undo': { level: 'Strong', first: 1, checks: /log|copies|eventual|healing|crash/ },
  'writes without a lease': { level: 'Strong', first: 1, checks: /two writers/ },
  'grants for ever': { level: 'Strong', first: 1, checks: /strong/ },
  'forgets operations': { level: 'Strong', first: 1, checks: /log\.once/ },
  'hides undone writes': { level: 'Session', first: 1, checks: /loss|eventual|session|prefix/ },
};

describe('a defect on purpose is caught', () => {
  test.each(FUZZ_DEFECTS)('%s', { timeout: LONG_MS }, async (defect) => {
    const { level, first, checks } = DEFECTS[defect];
    const simulation = fuzzSimulationWith({ level, defect });
    let run: SeededRun | undefined;
    for (let seed = first; seed < first + PATIENCE && run?.failure === undefined; seed += 1)
      run = await simulation.run(seed);
    expect(run?.failure?.check).toMatch(checks);
  });
});

test('every simulation has a name under which the command can be called again', () => {
  expect(FUZZ_SIMULATIONS.map(({ name }) => name)).toEqual([
    'fuzz',
    ...['Strong', 'BoundedStaleness', 'Session', 'ConsistentPrefix', 'Eventual'].map(
      (level) => `fuzz --consistency ${level}`,
    ),
  ]);
  for (const fault of FUZZ_FAULTS) expect(FUZZ_SIMULATIONS[0]!.mustOccur).toContain(`${fault} x steady`);
});
