import { expect, test } from 'vitest';
import { UpdatePace } from './update-pace.ts';

function paceAfter(...updates: readonly (readonly [ms: number, times: number])[]): UpdatePace {
  const pace = new UpdatePace();
  for (const [ms, times] of updates) for (let at = 0; at < times; at += 1) pace.updated(ms, 1000);
  return pace;
}

test('updates that take a twentieth of an interval are quick, and longer ones are not', () => {
  expect(paceAfter()).toMatchObject({ isSlow: false, quickness: 1 });
  expect(paceAfter([49, 1000])).toMatchObject({ isSlow: false, quickness: 1 });
  const slow = paceAfter([200, 1000]);
  expect(slow.isSlow).toBe(true);
  expect(slow.quickness).toBeCloseTo(1 / 4, 5);
});

test('one update does not make it slow, and a few do not make it quick again', () => {
  expect(paceAfter([10, 100], [1000, 1]).isSlow).toBe(false);
  expect(paceAfter([200, 1000], [10, 3]).isSlow).toBe(true);
  expect(paceAfter([200, 1000], [10, 300]).isSlow).toBe(false);
});
