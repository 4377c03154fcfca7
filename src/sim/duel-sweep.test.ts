import { describe, expect, test } from 'vitest';
import type { DuelCase } from './duel-case.ts';
import { newDuelCounts } from './duel-counts.ts';
import type { DuelResult } from './duel-experiment.ts';
import { sweepLines, sweepOf } from './duel-sweep.ts';

const CASE: DuelCase = {
  policy: 'initial',
  baseMs: 1000,
  proposers: 9,
  acceptors: 7,
  latency: 'fixed:50',
  intervalMs: 30_000,
  leaseMs: 45_000,
  skewMs: 0,
  writerDies: false,
  seed: 1,
};

function result(duelCase: Partial<DuelCase>, failures: number, attempts = 200): DuelResult {
  const counts = { ...newDuelCounts(), due: 100, updates: 100, attempts, failures };
  return { duelCase: { ...CASE, ...duelCase }, counts };
}

describe('the sweep of the static base', () => {
  test('plays initial with every base and the one asked for, in order, and the others once', () => {
    const cases = sweepOf([CASE, { ...CASE, policy: 'adaptive' }], [2000, 50]);
    expect(cases.map(({ policy, baseMs }) => `${policy} ${baseMs}`)).toEqual([
      'initial 50',
      'initial 1000',
      'initial 2000',
      'adaptive 1000',
    ]);
    expect(sweepOf([CASE], [1000])).toHaveLength(1);
  });

  test('takes the best base of each number of proposers by itself', () => {
    const lines = sweepLines(
      [
        result({ proposers: 3, baseMs: 50 }, 2),
        result({ proposers: 3, baseMs: 1000 }, 1),
        result({ proposers: 9, baseMs: 50 }, 3),
        result({ proposers: 9, baseMs: 1000 }, 30),
        result({ proposers: 9, policy: 'adaptive' }, 0),
      ],
      1000,
    );
    expect(lines.map(({ proposers, best }) => [proposers, best.duelCase.baseMs])).toEqual([
      [3, 1000],
      [9, 50],
    ]);
    expect(lines[1]!.plausible.counts.failures).toBe(30);
    expect(lines[1]!.others.map(({ duelCase }) => duelCase.policy)).toEqual(['adaptive']);
  });

  test('of several bases without failures, the one with the fewest attempts', () => {
    const results = [result({ baseMs: 50 }, 0, 220), result({ baseMs: 200 }, 0, 205), result({}, 0, 210)];
    expect(sweepLines(results, 1000)[0]!.best.duelCase.baseMs).toBe(200);
  });

  test('has no line where the sweep was stopped before the base that was asked for', () => {
    expect(sweepLines([result({ baseMs: 50 }, 1)], 1000)).toEqual([]);
  });
});
