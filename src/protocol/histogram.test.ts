import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AssertionError, must, unreachable } from './assert.ts';
import { Histogram } from './histogram.ts';

test('an empty histogram is all zeros', () => {
  const histogram = new Histogram();
  expect([histogram.count, histogram.mean, histogram.max, histogram.percentile(0.99)]).toEqual([0, 0, 0, 0]);
});

test('a percentile is right to within an eighth of a doubling', () => {
  const durations = fc.array(fc.double({ min: 0.002, max: 100_000, noNaN: true }), { minLength: 1 });
  fc.assert(
    fc.property(durations, fc.constantFrom(0.5, 0.9, 0.99, 1), (values, share) => {
      const histogram = new Histogram();
      for (const value of values) histogram.record(value);
      const sorted = values.toSorted((a, b) => a - b);
      const exact = sorted[Math.max(0, Math.ceil(values.length * share) - 1)]!;
      expect(histogram.percentile(share)).toBeGreaterThanOrEqual(exact * 0.999_999);
      expect(histogram.percentile(share)).toBeLessThanOrEqual(exact * 2 ** (1 / 8) * 1.000_001);
      expect(histogram.max).toBe(sorted.at(-1));
      expect(histogram.count).toBe(values.length);
    }),
    { seed: 7, numRuns: 300 },
  );
});

test('a duration out of range is counted at the edge, not lost', () => {
  const histogram = new Histogram();
  histogram.record(0);
  histogram.record(1e12);
  expect(histogram.count).toBe(2);
  expect(histogram.percentile(1)).toBeLessThanOrEqual(1e12);
});

test('the helpers for programming errors throw an AssertionError', () => {
  expect(() => must(undefined)).toThrow(AssertionError);
  expect(() => must(null, 'gone')).toThrow('gone');
  expect(must(0)).toBe(0);
  expect(() => unreachable('x' as never)).toThrow(AssertionError);
});
