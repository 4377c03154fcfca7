import { expect, test } from 'vitest';
import { Random } from './core/index.ts';
import { drawSchedule, drawSwarm, type FaultKind } from './swarm.ts';

const KINDS = ['a', 'b', 'c', 'd'];

function kindOf(kind: string, targets: readonly string[] = ['p']): FaultKind {
  return { kind, most: 3, shortestMs: 10, longestMs: 500, targets: () => targets, strength: () => 0.5 };
}

test('every pair of kinds is met together, apart, and not at all', () => {
  const seen = new Map<string, Set<string>>();
  for (let seed = 0; seed < 100; seed += 1) {
    const on = drawSwarm(KINDS, new Random(seed));
    for (const first of KINDS) {
      for (const second of KINDS) {
        const how = `${on.has(first)} ${on.has(second)}`;
        seen.set(`${first}${second}`, (seen.get(`${first}${second}`) ?? new Set()).add(how));
      }
    }
  }
  for (const first of KINDS) {
    for (const second of KINDS) expect(seen.get(`${first}${second}`)!.size).toBe(first === second ? 2 : 4);
  }
});

test('a schedule keeps to its window and is in the order of time', () => {
  const window = { fromMs: 1000, untilMs: 2000 };
  for (let seed = 0; seed < 50; seed += 1) {
    const schedule = drawSchedule([kindOf('a'), kindOf('b')], window, new Random(seed));
    expect(new Set(schedule.map(({ kind }) => kind))).toEqual(new Set(['a', 'b']));
    for (const [at, { fromMs, untilMs }] of schedule.entries()) {
      expect(fromMs).toBeGreaterThanOrEqual(schedule[at - 1]?.fromMs ?? window.fromMs);
      expect(untilMs).toBeGreaterThanOrEqual(fromMs);
      expect(untilMs).toBeLessThanOrEqual(window.untilMs);
    }
  }
});

test('the same chance draws the same, and a kind without targets does not happen', () => {
  const draw = () => drawSchedule([kindOf('a'), kindOf('b', [])], { fromMs: 0, untilMs: 100 }, new Random(4));
  expect(draw()).toEqual(draw());
  expect(draw().every(({ kind }) => kind === 'a')).toBe(true);
});
