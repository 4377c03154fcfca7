import { describe, expect, test } from 'vitest';
import { Random } from './random.ts';

const DRAWS = 20_000;

function draws(random: Random, draw: (random: Random) => number): number[] {
  return Array.from({ length: DRAWS }, () => draw(random));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('seeded randomness', () => {
  test('repeats itself for the same seed and stream, and for no other', () => {
    const first = draws(new Random(1, 2), (random) => random.next());
    expect(draws(new Random(1, 2), (random) => random.next())).toEqual(first);
    expect(draws(new Random(2, 2), (random) => random.next())).not.toEqual(first);
    expect(draws(new Random(1, 3), (random) => random.next())).not.toEqual(first);
  });

  test('is uniform where it says so', () => {
    const values = draws(new Random(3), (random) => random.uniform());
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    expect(mean(values)).toBeCloseTo(0.5, 1);
    const tenths = new Set(values.map((value) => Math.floor(value * 10)));
    expect(tenths.size).toBe(10);
  });

  test('is normal where it says so', () => {
    const values = draws(new Random(4), (random) => random.normal());
    expect(mean(values)).toBeCloseTo(0, 1);
    expect(mean(values.map((value) => value * value))).toBeCloseTo(1, 1);
  });
});
