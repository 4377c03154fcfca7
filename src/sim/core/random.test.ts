import { describe, expect, test } from 'vitest';
import { latencyModel } from './latency.ts';
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

describe('latency models', () => {
  test('have the forms that they name', () => {
    const random = new Random(5);
    expect(latencyModel('fixed:20')!.message(latencyModel('fixed:20')!.pair(random), random)).toBe(20);
    const uniform = draws(random, (one) => latencyModel('uniform:10-30')!.pair(one));
    expect(Math.min(...uniform)).toBeGreaterThanOrEqual(10);
    expect(Math.max(...uniform)).toBeLessThan(30);
    const tail = draws(random, (one) => latencyModel('lognormal:60,0.5')!.message(60, one));
    expect(Math.min(...tail)).toBeGreaterThanOrEqual(60);
    expect(mean(tail)).toBeGreaterThan(70);
  });

  test.each(['', 'azure', 'fixed', 'fixed:x', 'uniform:3', 'lognormal:60'])('%j is none', (name) => {
    expect(latencyModel(name)).toBeUndefined();
  });
});
