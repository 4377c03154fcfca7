import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedRuns } from './sorted-runs.ts';

test('gives every text once, in order', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ maxLength: 6 }), { maxLength: 5000, size: 'max' }), (texts) => {
      const runs = new SortedRuns();
      for (const text of texts) runs.add(text);
      expect([...runs.merged()]).toEqual([...texts].sort());
    }),
    { numRuns: 60 },
  );
});

test('of many runs', () => {
  const runs = new SortedRuns();
  const texts = Array.from({ length: 20_000 }, (_, index) => `${(index * 7919) % 20_011}`);
  for (const text of texts) runs.add(text);
  expect([...runs.merged()]).toEqual(texts.sort());
});
