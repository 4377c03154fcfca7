import { expect, test } from 'vitest';
import { followFastest } from './clock.ts';

test('ballots follow the own clock as long as nobody is ahead of it', () => {
  let now = 1000.7;
  const next = followFastest(() => now);
  expect(next(0)).toBe(1000);
  now = 31_000;
  expect(next(1000)).toBe(31_000);
});

test('one refusal is enough to keep pace with a faster clock', () => {
  let now = 1000;
  const next = followFastest(() => now);
  expect(next(11_000)).toBe(11_001);
  // The rival made another ballot ten seconds later, at 21,000 on its clock: ours is above it without having seen it.
  now = 11_000;
  expect(next(11_001)).toBe(21_001);
});

test('a counter always grows, whatever the clock does', () => {
  const times = [5000, 5000, 4000, -1, 5000, 9000];
  let at = 0;
  const next = followFastest(() => times[at]!);
  let floor = 0;
  for (; at < times.length; at += 1) {
    const counter = next(floor);
    expect(counter).toBeGreaterThan(floor);
    floor = counter;
  }
});
