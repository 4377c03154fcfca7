/**
 * The failover state machine's spec: the configurations that are small enough for every run of the tests. A rule whose counterexample is long
 * has it in the full run only (`npm run spec`); `test/failover-model/rules.test.ts` takes out every part of every rule in each run.
 */
import { describe, expect, it } from 'vitest';
import type { ManifestEntry } from './bounds.ts';
import { expectationOf, FAILOVER_SPECS, resultOf, SpecRun, takenOut } from './failover-run.ts';
import { misreadLines } from './failover-traps.ts';

/** The slowest takes some seconds alone; the machine may be busy. */
const PATIENCE = 300_000;

const runs = FAILOVER_SPECS.map((name) => new SpecRun(name));

for (const run of runs) {
  describe(`spec/${run.manifest.module}`, () => {
    for (const entry of run.manifest.configurations.filter(({ large }) => !large)) {
      it(
        `${entry.name}: ${expectationOf(entry)}`,
        () => expect(resultOf(run.check(entry.name))).toBe(expectationOf(entry)),
        PATIENCE,
      );
    }
  });
}

describe('the configurations of spec/failover.tla', () => {
  const run = runs[0]!;
  const { configurations } = run.manifest;
  const small = configurations.filter(({ large }) => !large);
  const failing = configurations.filter((entry) => 'fails' in entry.expect);

  it('fail every invariant that any of them fails in small ones, too', () => {
    const brokenBy = (entries: readonly ManifestEntry[]): Set<string> =>
      new Set(entries.flatMap(({ expect: wanted }) => ('fails' in wanted ? [wanted.fails] : [])));
    expect([...brokenBy(configurations)].filter((name) => !brokenBy(small).has(name))).toEqual([]);
  });

  it('take out every rule of DESIGN section 5, one part of one rule at a time', () => {
    const parts = failing.map(({ name }) => takenOut(run.configuration(name)));
    expect(parts.filter((part) => part.length !== 1)).toEqual([]);
    const rules = new Set(parts.map(([part]) => Number.parseInt(part!, 10)));
    expect([...rules].sort((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, index) => index + 1));
  });

  it('take nothing out where they must pass, except for parts that other rules cover', () => {
    const passing = configurations.filter((entry) => 'pass' in entry.expect);
    const without = passing.filter(({ name }) => takenOut(run.configuration(name)).length > 0);
    expect(without.filter(({ name }) => !name.startsWith('pass-without-'))).toEqual([]);
  });

  it('reach every level of consistency, both minimum durabilities, two and three regions', () => {
    const seen = new Set<string>();
    for (const { name } of configurations.filter((entry) => 'pass' in entry.expect)) {
      const { constants } = run.configuration(name);
      const regions = (constants.get('Regions') as number[]).length;
      seen.add(constants.get('Consistency') as string);
      seen.add(`${regions} regions, minimum durability ${String(constants.get('MinDurability'))}`);
    }
    for (const level of ['Strong', 'Bounded', 'Session', 'Prefix', 'Eventual']) expect(seen).toContain(level);
    for (const regions of [2, 3]) {
      for (const durability of [1, 2])
        expect(seen).toContain(`${regions} regions, minimum durability ${durability}`);
    }
  });
});

describe('what the checker misreads', () => {
  it('is found', () => {
    expect(misreadLines('A ==\n  /\\ b => c /\\ d\n')).toHaveLength(1);
    expect(misreadLines('A == (\n  /\\ b \\/ c\n  /\\ d)\n')).toHaveLength(2);
    expect(misreadLines('A ==\n  /\\ b => (c /\\ d)\n  /\\ f(b, c)\n')).toEqual([]);
  });

  for (const run of runs) {
    it(`is not in spec/${run.manifest.module}`, () => {
      expect(misreadLines(run.module.source)).toEqual([]);
    });
  }
});
