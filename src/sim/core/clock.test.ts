import { expect, test } from 'vitest';
import { DriftingClock } from './clock.ts';

test('a perfect clock shows true time', () => {
  const clock = new DriftingClock();
  expect(clock.monotonic(1234)).toBe(1234);
  expect(clock.wallClock(1234)).toBe(1234);
  expect(clock.trueDelay(10)).toBe(10);
});

test('a fast clock gains, and its waits are short in true time', () => {
  const clock = new DriftingClock({ offsetMs: 500, drift: 0.01 });
  expect(clock.monotonic(1000)).toBeCloseTo(1010);
  expect(clock.wallClock(1000)).toBeCloseTo(1510);
  expect(clock.monotonic(clock.trueDelay(77))).toBeCloseTo(77);
});

test('setting the wall clock moves it and not the monotonic one', () => {
  const clock = new DriftingClock();
  clock.jump(-3_600_000);
  expect(clock.wallClock(1000)).toBe(-3_599_000);
  expect(clock.monotonic(1000)).toBe(1000);
});
