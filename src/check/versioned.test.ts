import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkLinearizability,
  checkVersioned,
  explainVersioned,
  operationsOfVersioned,
  plant,
  PLANTED_DEFECTS,
  type PlantedDefect,
  seededChoose,
  simulateVersioned,
  type VersionedOperation,
  versionedRegister,
} from 'baton/check';

const operation = (
  kind: 'change' | 'read',
  start: number,
  end: number | undefined,
  version: number | undefined,
  value: string | undefined,
): VersionedOperation => ({ process: 1, key: 'x', kind, start, end, version, value });
const change = (start: number, end: number, version: number, value?: string) =>
  operation('change', start, end, version, value);
const read = (start: number, end: number, version: number, value?: string) =>
  operation('read', start, end, version, value);
const unknown = (start: number, value?: string) => operation('change', start, undefined, undefined, value);
const rejected = (start: number, end: number, value: string): VersionedOperation => ({
  ...change(start, end, 1, value),
  kind: 'rejected',
  version: undefined,
});

const GOOD: Record<string, VersionedOperation[]> = {
  'nothing at all': [],
  'a read of a register never written': [read(0, 1, 0, 'nothing')],
  'a change and its read': [change(0, 1, 1, 'a'), read(2, 3, 1, 'a')],
  'a read that overlaps a change sees either version': [
    change(0, 10, 1, 'a'),
    read(1, 2, 0),
    read(3, 4, 1, 'a'),
  ],
  'an end at the instant of a start counts as concurrent': [change(0, 5, 1, 'a'), read(5, 6, 0)],
  'an unknown change that never happened': [unknown(0, 'a'), change(1, 2, 1, 'b')],
  'an unknown change that was seen': [unknown(0, 'a'), read(1, 2, 1, 'a')],
  'an unknown change that was not seen but counted': [unknown(0, 'a'), change(1, 2, 2, 'b')],
  'an unknown change that happened long after': [unknown(0, 'a'), change(1, 2, 1, 'b'), read(3, 4, 2, 'a')],
  'an unknown increment takes any value': [unknown(0), read(1, 2, 1, 'count 1')],
  'one value from two unknown changes': [
    unknown(0, 'a'),
    unknown(0, 'a'),
    read(1, 2, 1, 'a'),
    read(3, 4, 2, 'a'),
  ],
  'a rejected change that nobody saw': [rejected(0, 1, 'a'), change(2, 3, 1, 'b')],
  'rejected changes that met versions of any kind': [
    change(0, 1, 1, 'a'),
    { ...rejected(2, 3, 'b'), version: 0 },
    { ...rejected(2, 3, 'c'), version: 9 },
  ],
  'a version known without an answer': [{ ...unknown(0, 'a'), version: 2 }, change(1, 2, 1, 'b')],
  'an unanswered read': [operation('read', 0, undefined, undefined, undefined)],
  'the change of a seen value gives way to one of unknown value': [
    unknown(0, 'a'),
    change(1, 2, 2, 'b'),
    unknown(3),
    read(4, 5, 3, 'a'),
  ],
};

const BAD: Record<string, [kind: string, history: VersionedOperation[]]> = {
  'a change to version 0': ['impossible version', [change(0, 1, 0, 'a')]],
  'a version that is no whole number': ['impossible version', [read(0, 1, 1.5)]],
  'two changes made one version': [
    'two changes of one version',
    [change(0, 5, 1, 'a'), change(0, 5, 1, 'b')],
  ],
  'a reader saw another value than was written': [
    'two values of one version',
    [change(0, 1, 1, 'a'), read(2, 3, 1, 'b')],
  ],
  'two readers of one version disagree': [
    'two values of one version',
    [unknown(0), read(1, 2, 1, 'a'), read(1, 2, 1, 'b')],
  ],
  'a stale read': ['out of order', [change(0, 1, 1, 'a'), read(2, 3, 0)]],
  'two reads in turn that go back': [
    'out of order',
    [change(0, 9, 1, 'a'), read(1, 2, 1, 'a'), read(3, 4, 0)],
  ],
  'a change that made a version already read': [
    'out of order',
    [read(0, 1, 1, 'a'), change(2, 3, 1, 'a'), change(0, 9, 2, 'b')],
  ],
  'changes in turn with versions swapped': ['out of order', [change(0, 1, 2, 'a'), change(2, 3, 1, 'b')]],
  'a version from nowhere': ['unexplained version', [change(0, 1, 1, 'a'), read(2, 3, 3, 'b')]],
  'a change applied twice': ['unexplained version', [change(0, 1, 1, 'a'), read(2, 3, 2, 'a')]],
  'an unknown change applied twice': [
    'unexplained version',
    [unknown(0, 'a'), read(1, 2, 1, 'a'), read(3, 4, 2, 'a')],
  ],
  'an unknown change seen before its start': ['unexplained version', [read(0, 1, 1, 'a'), unknown(2, 'a')]],
  'a rejected change seen': ['unexplained version', [rejected(0, 1, 'a'), read(2, 3, 1, 'a')]],
  'a version far beyond all changes': ['unexplained version', [unknown(0), read(1, 2, 2 ** 50)]],
  'one change for two versions': [
    'unexplained version',
    [unknown(0, 'a'), change(1, 2, 2, 'b'), read(4, 5, 3, 'a')],
  ],
};

describe('a versioned register', () => {
  test.each(Object.entries(GOOD))('linearizable: %s', (_, history) => {
    expect(explainVersioned(checkVersioned(history))).toBe('linearizable');
    expect(generalVerdict(history)).toBe('linearizable');
  });

  test.each(Object.entries(BAD))('not linearizable: %s', (_, [kind, history]) => {
    expect(checkVersioned(history)).toMatchObject({ verdict: 'not linearizable', violation: { kind } });
    expect(generalVerdict(history)).toBe('not linearizable');
  });

  test('the explanations', () => {
    const lines = Object.values(BAD).map(([, history]) => explainVersioned(checkVersioned(history)));
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "not linearizable: key "x": change to version 0 = a (process 1, from 0 to 1) names a version that cannot be
      not linearizable: key "x": read of version 1.5 (process 1, from 0 to 1) names a version that cannot be
      not linearizable: key "x": version 1 was made twice: by change to version 1 = a (process 1, from 0 to 5) and by change to version 1 = b (process 1, from 0 to 5)
      not linearizable: key "x": version 1 has two values: change to version 1 = a (process 1, from 0 to 1) and read of version 1 = b (process 1, from 2 to 3)
      not linearizable: key "x": version 1 has two values: read of version 1 = a (process 1, from 1 to 2) and read of version 1 = b (process 1, from 1 to 2)
      not linearizable: key "x": read of version 0 (process 1, from 2 to 3) started after change to version 1 = a (process 1, from 0 to 1) had ended
      not linearizable: key "x": read of version 0 (process 1, from 3 to 4) started after read of version 1 = a (process 1, from 1 to 2) had ended
      not linearizable: key "x": change to version 1 = a (process 1, from 2 to 3) started after read of version 1 = a (process 1, from 0 to 1) had ended
      not linearizable: key "x": change to version 1 = b (process 1, from 2 to 3) started after change to version 2 = a (process 1, from 0 to 1) had ended
      not linearizable: key "x": no acknowledged change made version 2, implied by read of version 3 = b (process 1, from 2 to 3), and no change of unknown outcome can have made it
      not linearizable: key "x": no acknowledged change made version 2, implied by read of version 2 = a (process 1, from 2 to 3), and no change of unknown outcome can have made it; it has the value of change to version 1 = a (process 1, from 0 to 1)
      not linearizable: key "x": no acknowledged change made version 2, implied by read of version 2 = a (process 1, from 3 to 4), and the one change of unknown outcome that could have made it is needed for another version; it has the value of change = a (process 1, from 0 with no answer)
      not linearizable: key "x": no acknowledged change made version 1, implied by read of version 1 = a (process 1, from 0 to 1), and no change of unknown outcome can have made it; it has the value of change = a (process 1, from 2 with no answer)
      not linearizable: key "x": no acknowledged change made version 1, implied by read of version 1 = a (process 1, from 2 to 3), and no change of unknown outcome can have made it; it has the value of rejected change = a (process 1, from 0 to 1)
      not linearizable: key "x": no acknowledged change made version 2, implied by read of version 1125899906842624 (process 1, from 1 to 2), and the one change of unknown outcome that could have made it is needed for another version
      not linearizable: key "x": no acknowledged change made version 3, implied by read of version 3 = a (process 1, from 4 to 5), and the one change of unknown outcome that could have made it is needed for another version; it has the value of change = a (process 1, from 0 with no answer)"
    `);
  });

  test('keys are apart, and an operation can carry a name', () => {
    const history = [
      { ...change(0, 1, 1, 'a'), key: 'y' },
      { ...read(2, 3, 0), key: 'z' },
      { ...change(2, 3, 1, 'b'), key: 'y', operation: 'op-7' },
    ];
    expect(explainVersioned(checkVersioned(history))).toMatchInlineSnapshot(
      `"not linearizable: key "y": version 1 was made twice: by change to version 1 = a (process 1, from 0 to 1) and by change op-7 to version 1 = b (process 1, from 2 to 3)"`,
    );
  });
});

const runs = (maxOperations: number) =>
  fc.record({
    seed: fc.nat(),
    operations: fc.integer({ min: 1, max: maxOperations }),
    processes: fc.integer({ min: 1, max: 5 }),
    keys: fc.integer({ min: 1, max: 2 }),
    unknownPercent: fc.integer({ min: 0, max: 40 }),
    values: fc.constantFrom('unique' as const, 'repeated' as const, 'counter' as const),
  });

describe('what a real register did', () => {
  test('is accepted by both checkers', () => {
    fc.assert(
      fc.property(runs(80), ({ seed, ...options }) => {
        const history = simulateVersioned(options, seededChoose(seed));
        expect(explainVersioned(checkVersioned(history))).toBe('linearizable');
        expect(generalVerdict(history)).toBe('linearizable');
      }),
      { seed: 4, numRuns: 500 },
    );
  });

  test('a change whose client does not know its value is not taken for one that was applied twice', () => {
    const history = [change(0, 1, 1), change(2, 3, 2, 'b'), unknown(4, 'c')];
    for (let seed = 0; seed < 20; seed += 1) {
      const planted = plant('acknowledged change applied twice', history, seededChoose(seed))!;
      expect(checkVersioned(planted).verdict).toBe('not linearizable');
    }
  });

  test.each(Object.keys(PLANTED_DEFECTS) as PlantedDefect[])(
    'with a defect is rejected by both: %s',
    (defect) => {
      let planted = 0;
      fc.assert(
        fc.property(runs(25), ({ seed, ...options }) => {
          const choose = seededChoose(seed);
          const history = plant(defect, simulateVersioned({ ...options, values: 'unique' }, choose), choose);
          if (history === undefined) return;
          planted += 1;
          expect(checkVersioned(history).verdict).toBe('not linearizable');
          expect(generalVerdict(history)).toBe('not linearizable');
        }),
        { seed: 5, numRuns: 100 },
      );
      expect(planted).toBeGreaterThan(30);
    },
  );
});

describe('the two checkers agree', () => {
  test('on small histories of any kind', () => {
    const value = fc.option(fc.constantFrom('a', 'b'), { nil: undefined });
    const time = fc.record({ start: fc.nat(12), length: fc.nat(8) });
    const answered = fc
      .tuple(fc.constantFrom('change' as const, 'read' as const), time, fc.integer({ min: 1, max: 5 }), value)
      .map(([kind, { start, length }, ...rest]) => operation(kind, start, start + length, ...rest));
    const lost = fc.tuple(fc.nat(8), value).map((fields) => unknown(...fields));
    const histories = fc.array(fc.oneof(answered, lost, lost), { maxLength: 8 });
    const verdicts = agreeOn(histories, 6, 4000);
    expect(Math.min(...Object.values(verdicts))).toBeGreaterThan(500);
  });

  test('on histories where the attribution of versions is all that matters', () => {
    const value = fc.option(fc.constantFrom('a', 'b'), { nil: undefined, freq: 2 });
    const seenVersions = fc.array(value, { minLength: 1, maxLength: 6 });
    const lost = fc.array(fc.tuple(fc.nat(12), value), { maxLength: 6 });
    // One reader after another sees versions 1, 2, 3 and so on, while changes without an answer start in between.
    const histories = fc.tuple(seenVersions, lost).map(([seen, changes]) => {
      const reads = seen.map((each, index) => read(2 * index + 1, 2 * index + 2, index + 1, each));
      return reads.concat(changes.map((fields) => unknown(...fields)));
    });
    const verdicts = agreeOn(histories, 7, 4000);
    expect(Math.min(...Object.values(verdicts))).toBeGreaterThan(500);
  });

  test('on histories of a real register with one field changed', () => {
    const histories = fc
      .tuple(runs(14), fc.nat(), fc.constantFrom(-2, -1, 1, 2), fc.boolean())
      .map(([{ seed, ...options }, at, by, ofVersion]) => {
        const history = simulateVersioned(options, seededChoose(seed));
        const victim = history[at % history.length]!;
        const { version = 1, end = victim.start } = victim;
        const damaged = ofVersion
          ? { ...victim, version: Math.max(version + by, 1) }
          : { ...victim, end: Math.max(end + 2 * by, victim.start) };
        return history.with(at % history.length, damaged);
      });
    const verdicts = agreeOn(histories, 8, 1500);
    expect(Math.min(...Object.values(verdicts))).toBeGreaterThan(300);
  });
});

describe('long histories', () => {
  const options = { processes: 12, keys: 1, unknownPercent: 3, values: 'unique' } as const;

  test.each([10_000, 200_000])(
    '%i operations, three in a hundred of unknown outcome, are decided',
    (operations) => {
      const history = simulateVersioned({ ...options, operations }, seededChoose(9));
      const lost = history.filter(({ version }) => version === undefined).length;
      expect(lost).toBeGreaterThan(operations / 50);
      expect(explainVersioned(checkVersioned(history))).toBe('linearizable');
    },
  );

  test.each(Object.keys(PLANTED_DEFECTS) as PlantedDefect[])(
    'a defect among 10,000 operations: %s',
    (defect) => {
      const choose = seededChoose(10);
      const history = plant(defect, simulateVersioned({ ...options, operations: 10_000 }, choose), choose);
      expect(checkVersioned(history!)).toMatchObject({ verdict: 'not linearizable', key: 'key 0' });
    },
  );

  test('counters, whose lost increments have no value', () => {
    const counters = { ...options, keys: 3, values: 'counter', operations: 10_000 } as const;
    const history = simulateVersioned(counters, seededChoose(11));
    expect(explainVersioned(checkVersioned(history))).toBe('linearizable');
    const choose = seededChoose(11);
    expect(checkVersioned(plant('version from nowhere', history, choose)!).verdict).toBe('not linearizable');
  });
});

function generalVerdict(history: readonly VersionedOperation[]): string {
  return checkLinearizability(versionedRegister, operationsOfVersioned(history)).verdict;
}

/** Asserts that the verdicts are the same, and counts them. */
function agreeOn(
  histories: fc.Arbitrary<VersionedOperation[]>,
  seed: number,
  numRuns: number,
): Record<string, number> {
  const verdicts = { linearizable: 0, 'not linearizable': 0 };
  fc.assert(
    fc.property(histories, (history) => {
      const { verdict } = checkVersioned(history);
      verdicts[verdict] += 1;
      expect(generalVerdict(history)).toBe(verdict);
    }),
    { seed, numRuns },
  );
  return verdicts;
}
