import { expect, test } from 'vitest';
import { type Counted, loadOf } from '../../bench/outage/load.ts';

const counted = (atMs: number, a1: number, a2: number): Counted => ({ atMs, requests: { a1, a2, west: 0 } });

test('the load of an outage is that of the acceptors that live, beside their calm', () => {
  const calm = [counted(0, 0, 0), counted(10_000, 100, 50)] as const;
  expect(loadOf(calm, [counted(20_000, 200, 100), counted(30_000, 200, 200)])).toBe(2);
  expect(loadOf(calm, [counted(20_000, 200, 100), counted(40_000, 400, 200)])).toBe(1);
  expect(loadOf([calm[0], counted(1000, 0, 0)], [counted(2000, 0, 0), counted(3000, 5, 5)])).toBeUndefined();
});
