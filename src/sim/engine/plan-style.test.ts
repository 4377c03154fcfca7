import { expect, test } from 'vitest';
import { describePlans, drawPlans } from './plan-style.ts';

const SEEDS = Array.from({ length: 200 }, (_, at) => at + 1);
const SIZES = { clients: 4, regions: 3 };

test('some seeds have no clients that follow plans, some a few, some as many as there may be', () => {
  const counts = SEEDS.map((seed) => drawPlans(seed, SIZES, 'drawn').filter(Boolean).length);
  expect(new Set(counts)).toEqual(new Set([0, 1, 2, 3]));
});

test('hedges, operation ids, conditions and preferred regions all occur in every way', () => {
  const styles = SEEDS.flatMap((seed) => drawPlans(seed, SIZES, 'drawn')).filter(
    (style) => style !== undefined,
  );
  expect(new Set(styles.map(({ hedgeAfterMs }) => hedgeAfterMs))).toEqual(
    new Set([undefined, 'p95', 15, 60]),
  );
  expect(new Set(styles.map(({ namelessShare }) => namelessShare)).size).toBe(2);
  expect(new Set(styles.map(({ conditions }) => conditions)).size).toBe(2);
  expect(new Set(styles.map(({ preferred }) => preferred))).toEqual(new Set([0, 1, 2]));
});

test('the first client never is one of them, whatever is asked for', () => {
  for (const seed of SEEDS) {
    const all = drawPlans(seed, SIZES, 'all');
    expect(all[0]).toBeUndefined();
    expect(all.slice(1).every(Boolean)).toBe(true);
    expect(drawPlans(seed, SIZES, 'none').some(Boolean)).toBe(false);
  }
});

test('each of them is told', () => {
  const style = { hedgeAfterMs: 15, namelessShare: 0.25, conditions: true, preferred: 2 };
  expect(describePlans([undefined, style])).toEqual([
    'client-1: plans, hedges after 15, operation ids but for 0.25 of the writes, repeats by condition, prefers region-2',
  ]);
});
