import { describe, expect, test } from 'vitest';
import { Durations } from './durations.ts';

function durationsOf(...seconds: readonly number[]): Durations {
  const durations = new Durations();
  for (const value of seconds) durations.record(value * 1000);
  return durations;
}

describe('durations', () => {
  test('percentiles are right to a tenth of a second, and never above the longest', () => {
    const durations = durationsOf(...Array.from({ length: 100 }, (_, at) => at + 1));
    expect(durations.percentile(0.5)).toBe(50_100);
    expect(durations.percentile(0.99)).toBe(99_100);
    expect(durations.percentile(1)).toBe(100_000);
    expect({ mean: durations.mean, max: durations.max, count: durations.count }).toEqual({
      mean: 50_500,
      max: 100_000,
      count: 100,
    });
  });

  test('nothing recorded is nothing, not an error', () => {
    const durations = durationsOf();
    expect([durations.percentile(0.5), durations.mean, durations.max]).toEqual([0, 0, 0]);
    expect(durations.histogram(5000)).toEqual([]);
  });

  test('bars are as wide as asked', () => {
    expect(durationsOf(0, 4.9, 5, 14.99, 15).histogram(5000)).toEqual([2, 1, 1, 1]);
  });

  test('pieces add up to the whole, in any order', () => {
    const pieces = [durationsOf(1.23, 40.07), durationsOf(0.4), durationsOf(77.7, 1.25)].map((piece) =>
      structuredClone(piece.snapshot()),
    );
    const [forwards, backwards] = [new Durations(), new Durations()];
    for (const piece of pieces) forwards.add(piece);
    for (const piece of pieces.toReversed()) backwards.add(piece);
    expect(backwards.snapshot()).toEqual(forwards.snapshot());
    expect(forwards.snapshot()).toEqual(durationsOf(1.23, 40.07, 0.4, 77.7, 1.25).snapshot());
  });
});
