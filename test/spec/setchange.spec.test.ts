/** The spec of changing the set of acceptors: the configurations that are small enough for every run of the tests. */
import { describe, expect, it } from 'vitest';
import { expectationOf, guardsOf, resultOf, SpecRun, takenOut } from './failover-run.ts';
import { misreadLines } from './failover-traps.ts';

/** The slowest takes a second alone; the machine may be busy. */
const PATIENCE = 300_000;

const run = new SpecRun('setchange');
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

describe('the configurations of spec/setchange.tla', () => {
  it('take out every guard, each alone, and none where they must pass', () => {
    const parts = failing.map(({ name }) => takenOut(run.configuration(name)));
    expect(parts.filter((part) => part.length !== 1)).toEqual([]);
    expect(parts.flat().sort()).toEqual(guardsOf(run.module.source));
    expect(passing.flatMap(({ name }) => takenOut(run.configuration(name)))).toEqual([]);
  });

  it('check every invariant where they must pass, and the one that names the harm where they must fail', () => {
    const everything = new Set(passing.map(({ name }) => run.configuration(name).invariants.join(' ')));
    expect(everything.size).toBe(1);
    const checked = [...everything][0]!.split(' ');
    const harms = failing.map(({ expect: wanted }) => ('fails' in wanted ? wanted.fails : ''));
    expect(failing.map(({ name }) => run.configuration(name).invariants)).toEqual(
      harms.map((harm) => [harm]),
    );
    expect([...new Set([...harms, 'TypeOK'])].sort()).toEqual([...checked].sort());
  });
});
