import { expect, test } from 'vitest';
import { TokenBuckets } from './throttle.ts';

function buckets(rate: number | undefined): { readonly at: { ms: number }; readonly one: TokenBuckets } {
  const at = { ms: 1000 };
  return { at, one: new TokenBuckets({ now: () => at.ms }, () => rate) };
}

test('a second’s worth may go at once; what is used beyond must be waited for', () => {
  const { at, one } = buckets(100);
  for (let used = 0; used < 100; used += 10) expect(one.charge(7, 10)).toBeUndefined();
  expect(one.charge(7, 10)).toBe(10);
  expect(one.throttled).toBe(1);
  at.ms += 10;
  expect(one.charge(7, 10)).toBeUndefined();
  expect(one.charge(7, 1)).toBe(100);
  at.ms += 100;
  expect(one.charge(7, 1)).toBeUndefined();
});

test('a request that takes more than there is goes, and the next ones wait for it', () => {
  const { at, one } = buckets(100);
  expect(one.charge(7, 300)).toBeUndefined();
  expect(one.charge(7, 1)).toBe(2010);
  at.ms += 2010;
  expect(one.charge(7, 1)).toBeUndefined();
});

test('in the long run no more than the rate goes through, and nothing is saved up while nobody asks', () => {
  const { at, one } = buckets(100);
  at.ms += 3_600_000;
  let passed = 0;
  for (let ms = 0; ms < 10_000; ms += 1) {
    at.ms += 1;
    if (one.charge(7, 1) === undefined) passed += 1;
  }
  expect(passed).toBeGreaterThanOrEqual(1090);
  expect(passed).toBeLessThanOrEqual(1101);
});

test('containers do not take from each other, and one without throughput is not held back', () => {
  const { one } = buckets(1);
  expect(one.charge(1, 5)).toBeUndefined();
  expect(one.charge(1, 1)).toBeGreaterThan(0);
  expect(one.charge(2, 5)).toBeUndefined();
  const free = buckets(undefined).one;
  for (let at = 0; at < 1000; at += 1) expect(free.charge(1, 1000)).toBeUndefined();
});
