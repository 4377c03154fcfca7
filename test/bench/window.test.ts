import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Window } from '../../bench/support/window.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('a window counts what begins after the warm-up and ends before its end', () => {
  const from = performance.now();
  const window = new Window(100, 1);
  expect(window.counts(from + 99, from + 200)).toBe(false);
  expect(window.counts(from + 100, from + 200)).toBe(true);
  expect(window.counts(from + 1000, from + 1100)).toBe(true);
  expect(window.counts(from + 1000, from + 1101)).toBe(false);
  expect(window.isOpenAt(from + 1099)).toBe(true);
  expect(window.isOpenAt(from + 1100)).toBe(false);
  expect(window.rateOf(2)).toBe(2);
  expect(window.rateOf(1234)).toBe(1234);
});

test('a window in which nothing has ended stays open until something has', () => {
  const from = performance.now();
  const window = new Window(0, 0.3);
  expect(window.isOpenAt(from + 5000)).toBe(true);
  expect(window.counts(from + 100, from + 6000)).toBe(true);
  expect(window.isOpenAt(from + 6000)).toBe(false);
  expect(window.counts(from + 100, from + 6001)).toBe(false);
  expect(window.rateOf(1)).toBe(0.167);
});
