/** For every rule of safety what goes wrong without it; and which parts of rules could be spared in these bounds. */
import type { Exploration } from 'baton/check';
import { afterAll, expect, test } from 'vitest';
import { Healing } from './healing.ts';
import { invariantsOf } from './invariants.ts';
import { MUTANTS, type RuleMutant, SPARE_PARTS } from './rules.ts';
import { expectSound, isExhaustive, Runs, TIMEOUT_MS } from './runs.ts';
import { BACK_WITHIN } from './settings.ts';
import type { World } from './world.ts';

const runs = new Runs();
afterAll(() => runs.print());

function run({ rule, setting, faults, breaks }: RuleMutant): Exploration<World> {
  const title = `without ${rule}: ${breaks}`;
  if (faults === undefined) return runs.run(title, setting, { [breaks]: invariantsOf(setting)[breaks]! });
  // The exploration keeps the rule: it is the healing that goes without it.
  const healing = new Healing(setting, faults);
  const isBack = (world: World): boolean =>
    !healing.canHeal(world) || healing.ticksUntilWrites(world) <= BACK_WITHIN;
  return runs.run(title, { ...setting, without: [] }, { [breaks]: isBack });
}

test.each(MUTANTS)(
  'without $rule: $about',
  (mutant) => {
    expect(run(mutant)).toMatchObject({ outcome: 'violated', invariant: mutant.breaks });
  },
  TIMEOUT_MS,
);

test('no rule is missing', () => {
  const numbers = new Set(MUTANTS.map(({ rule }) => Number.parseInt(rule, 10)));
  expect([...numbers].sort((one, other) => one - other)).toEqual(
    Array.from({ length: 22 }, (_, at) => at + 1),
  );
});

test.each(isExhaustive ? SPARE_PARTS : SPARE_PARTS.filter(({ rule }) => rule === '15-commit'))(
  'without $rule nothing goes wrong: $why',
  ({ rule, setting }) => {
    expectSound(runs.run(`without ${rule}: nothing goes wrong`, setting, invariantsOf(setting)));
  },
  TIMEOUT_MS,
);
