import { expect, test } from 'vitest';
import { Throttle } from './throttled.ts';

test('an expensive value is computed once a second, and its last change is not left out', () => {
  let count = 0;
  const throttle = new Throttle<number>();
  const read = (now: number, choice = '') => throttle.read(() => count, count, choice, now);
  expect(read(0)).toEqual({ value: 0, staleForMs: undefined });
  count = 14;
  expect(read(1000)).toEqual({ value: 14, staleForMs: undefined });
  count = 16;
  expect(read(1250)).toEqual({ value: 14, staleForMs: 750 });
  expect(read(1900)).toEqual({ value: 14, staleForMs: 100 });
  expect(read(2000)).toEqual({ value: 16, staleForMs: undefined });
  expect(read(2001)).toEqual({ value: 16, staleForMs: undefined });
});

test('a choice of the user is followed at once', () => {
  let computed = 0;
  const throttle = new Throttle<string>();
  const read = (choice: string, now: number) =>
    throttle.read(() => `${choice} ${(computed += 1)}`, 1, choice, now).value;
  expect([read('failover', 0), read('failover', 1), read('planned', 2)]).toEqual([
    'failover 1',
    'failover 1',
    'planned 2',
  ]);
});
