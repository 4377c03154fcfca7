import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareBytes, mergeShards, type PageReader } from './dynamodb-list.ts';
import { shardOf, shardsOf } from './shards.ts';

const SHARDS = 3;

/** Pages that are at times shorter than asked for, as when an answer is full. */
function readerOf(keys: readonly string[], fullAt: number): PageReader {
  return async (shard, after, limit) => {
    const there = keys
      .filter((key) => shardOf('p', SHARDS, key) === shard && compareBytes(key, after) > 0)
      .toSorted(compareBytes);
    const page = there.slice(0, Math.min(limit, fullAt));
    return { keys: page, next: page.length < there.length ? page.at(-1) : undefined };
  };
}

test('many ordered lists are one, whatever pages they come in', async () => {
  const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(key, { maxLength: 60 }),
      fc.oneof(fc.constant(''), key),
      fc.integer({ min: 1, max: 70 }),
      fc.integer({ min: 1, max: 5 }),
      async (keys, after, limit, fullAt) => {
        const expected = keys.filter((one) => compareBytes(one, after) > 0).toSorted(compareBytes);
        const found = await mergeShards(shardsOf('p', SHARDS), after, limit, readerOf(keys, fullAt));
        expect(found).toEqual(expected.slice(0, limit));
      },
    ),
    { seed: 7, numRuns: 200 },
  );
});

test('keys lie in all shards, and always in the same', () => {
  const keys = Array.from({ length: 200 }, (_, at) => `register/${at}`);
  expect(new Set(keys.map((key) => shardOf('p', 8, key)))).toEqual(new Set(shardsOf('p', 8)));
  expect(keys.map((key) => shardOf('p', 8, key))).toEqual(keys.map((key) => shardOf('p', 8, key)));
});
