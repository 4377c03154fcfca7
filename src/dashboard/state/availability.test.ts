import { expect, test } from 'vitest';
import { Availability, type Sample, shareOver, stacked } from './availability.ts';

const sample = (at: number, writable: readonly number[], nobody: number): Sample => ({
  at,
  writable,
  nobody,
  total: writable.reduce((sum, value) => sum + value, nobody),
});

test('the share over time weighs each moment by how long it lasted', () => {
  const samples = [sample(0, [4], 0), sample(1000, [4], 0), sample(2000, [2], 2), sample(4000, [0], 4)];
  // One second whole, one half, two without any.
  expect(shareOver(samples, 0)).toBeCloseTo(1.5 / 4);
  expect(shareOver(samples, 2000)).toBe(0);
  expect(shareOver([], 0)).toBeUndefined();
});

test('what the page did not see does not count, and is a gap in the picture', () => {
  const samples = [sample(0, [2], 0), sample(1000, [2], 0), sample(60_000, [0], 2), sample(61_000, [2], 0)];
  expect(shareOver(samples, 0)).toBe(1);
  const { at, upTo } = stacked(samples, 1);
  expect(at).toEqual([0, 1, 1.001, 60, 61]);
  expect(upTo).toEqual([
    [1, 1, undefined, 0, 1],
    [1, 1, undefined, 1, 1],
  ]);
});

test('regions lie upon each other, and nobody on top', () => {
  expect(stacked([sample(0, [1, 2], 1)], 2).upTo).toEqual([[0.25], [0.75], [1]]);
});

test('nothing is noted while something is unknown, and the oldest are forgotten', () => {
  const availability = new Availability();
  availability.note({ total: 2, writable: [1], nobody: 0, unknown: 1, moving: 0 }, 1);
  expect(availability.samples).toEqual([]);
  for (let at = 0; at < 10_000; at += 1)
    availability.note({ total: 2, writable: [2], nobody: 0, unknown: 0, moving: 0 }, at);
  expect(availability.samples.length).toBeLessThan(4000);
  expect(availability.last!.at).toBe(9999);
});
