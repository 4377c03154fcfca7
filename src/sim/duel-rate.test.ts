import { describe, expect, test } from 'vitest';
import { type DuelCounts, newDuelCounts } from './duel-counts.ts';
import { designEffect, failureRate, percentileOf } from './duel-rate.ts';

/** `failures` of each hour, of 100 due ones. */
function countsOf(failures: readonly number[]): DuelCounts {
  return {
    ...newDuelCounts(),
    hours: failures.length,
    due: 100 * failures.length,
    failures: failures.reduce((sum, one) => sum + one, 0),
    squaredFailures: failures.reduce((sum, one) => sum + one * one, 0),
  };
}

describe('a failure rate', () => {
  test('of zero still has an upper end: about 3.84 of the due updates', () => {
    const { rate, low, high } = failureRate(countsOf(Array.from({ length: 100 }, () => 0)));
    expect([rate, low]).toEqual([0, 0]);
    expect(high).toBeCloseTo(3.84 / 10_000, 5);
  });

  test('is Wilson’s where failures are spread evenly', () => {
    const { rate, low, high } = failureRate(countsOf(Array.from({ length: 100 }, () => 1)));
    expect(rate).toBe(0.01);
    expect(low).toBeCloseTo(0.00823, 4);
    expect(high).toBeCloseTo(0.01215, 4);
  });

  test('is far less sure where the same failures come in one hour', () => {
    const clustered = countsOf([100, ...Array.from({ length: 99 }, () => 0)]);
    expect(designEffect(clustered)).toBeCloseTo(101, 0);
    const { rate, low, high } = failureRate(clustered);
    expect(rate).toBe(0.01);
    expect(low).toBeLessThan(0.003);
    expect(high).toBeGreaterThan(0.04);
  });
});

test('percentiles are values that occurred', () => {
  expect(percentileOf([5, 1, 4, 2, 3], 0.5)).toBe(3);
  expect(percentileOf([5, 1, 4, 2, 3], 0.99)).toBe(5);
  expect(percentileOf([7], 0)).toBe(7);
  expect(percentileOf([], 0.5)).toBeUndefined();
});
