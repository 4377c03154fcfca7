/**
 * The real machine, exhaustively, with a model of agents and engines around it: every invariant in every world of every
 * setting. `BATON_EXHAUSTIVE=1` explores the large settings too.
 */
import { afterAll, expect, test } from 'vitest';
import { invariantsOf } from './invariants.ts';
import { expectSound, isDue, Runs, TIMEOUT_MS } from './runs.ts';
import { CASES } from './settings.ts';

const runs = new Runs();
afterAll(() => runs.print());

test.each(CASES.filter(isDue))(
  'every invariant holds: $setting.name',
  ({ setting }) => {
    expectSound(runs.run(setting.name, setting, invariantsOf(setting)));
  },
  TIMEOUT_MS,
);

test('and everything of interest was reached', () => {
  expect(runs.reached.size).toBeGreaterThan(0);
  expect([...runs.reached].filter(([, count]) => count === 0)).toEqual([]);
  runs.lines.push([...runs.reached].map(([what, count]) => `${what}: ${count}`).join(', '));
});
