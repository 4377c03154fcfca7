/** The spec of replication: the configurations that are small enough for every run of the tests. */
import { describe, expect, it } from 'vitest';
import { expectationOf, guardsOf, resultOf, SpecRun, takenOut } from './failover-run.ts';
import { misreadLines } from './failover-traps.ts';
import type { Configuration } from './tla-syntax.ts';

/** The slowest takes some seconds alone; the machine may be busy. */
const PATIENCE = 300_000;

/** DESIGN section 5: the rules that the data exhibits. The others are in spec/failover.tla. */
const RULES = [5, 6, 7, 9, 12, 13, 14, 15, 16, 17, 19, 21];

const run = new SpecRun('replication');
const { configurations } = run.manifest;
const passing = configurations.filter((entry) => 'pass' in entry.expect);
const failing = configurations.filter((entry) => 'fails' in entry.expect);

describe(`spec/${run.manifest.module}`, () => {
  for (const entry of configurations.filter(({ large }) => !large)) {
    it(
      `${entry.name}: ${expectationOf(entry)}`,
      () => expect(resultOf(run.check(entry.name))).toBe(expectationOf(entry)),
      PATIENCE,
    );
  }

  it('is read by the checker as TLA+ reads it', () => {
    expect(misreadLines(run.module.source)).toEqual([]);
  });
});

describe('the configurations of spec/replication.tla', () => {
  it('take out one guard at a time, every guard, and every rule that the data exhibits', () => {
    const parts = failing.map(({ name }) => takenOut(run.configuration(name)));
    expect(parts.filter((part) => part.length !== 1)).toEqual([]);
    const rules = parts.map(([part]) => Number.parseInt(part!, 10)).filter((rule) => !Number.isNaN(rule));
    expect([...new Set(rules)].sort((a, b) => a - b)).toEqual(RULES);
    const covered = passing.flatMap(({ name }) => takenOut(run.configuration(name)));
    expect([...new Set([...parts.flat(), ...covered])].sort()).toEqual(guardsOf(run.module.source));
  });

  it('take nothing out where they must pass, except for guards that others cover', () => {
    const without = passing.filter(({ name }) => takenOut(run.configuration(name)).length > 0);
    expect(without.filter(({ name }) => !name.startsWith('pass-without-'))).toEqual([]);
  });

  it('check every invariant where they must pass, and those that name a harm where they must fail', () => {
    const everything = new Set(passing.map(({ name }) => run.configuration(name).invariants.join(' ')));
    expect(everything.size).toBe(1);
    const checked = [...everything][0]!.split(' ');
    for (const { name, expect: wanted } of failing) {
      const { invariants } = run.configuration(name);
      expect(invariants).toContain('fails' in wanted ? wanted.fails : '');
      expect(invariants.filter((invariant) => !checked.includes(invariant))).toEqual([]);
    }
  });

  it('use every feature in a configuration that must pass, at both kinds of commit', () => {
    const used = passing.map(({ name }) => run.configuration(name));
    const features = new Set(used.flatMap((configuration) => strings(configuration, 'Features')));
    expect([...features].sort()).toEqual(
      ['change', 'crash', 'forced', 'graceful', 'reads', 'silence', 'unknown', 'wire'].sort(),
    );
    const levels = new Set(used.map(({ constants }) => constants.get('Consistency')));
    expect(levels).toEqual(new Set(['Strong', 'Session']));
  });
});

function strings({ constants }: Configuration, name: string): string[] {
  return constants.get(name) as string[];
}
