import { expect, test } from 'vitest';
import { chunksOf, inParallel } from './in-parallel.ts';

async function turns(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await Promise.resolve();
}

test('results stand in the order of the items, whoever is done first', async () => {
  const results = await inParallel([5, 1, 3], 3, async (item) => {
    await turns(item);
    return item * 10;
  });
  expect(results).toEqual([50, 10, 30]);
  expect(await inParallel([], 3, async () => 1)).toEqual([]);
});

test('no more are under way than the bound, and as many as it allows', async () => {
  let underWay = 0;
  let most = 0;
  await inParallel(
    Array.from({ length: 20 }, (_, at) => at),
    4,
    async (item) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await turns(item % 3);
      underWay -= 1;
    },
  );
  expect([most, underWay]).toEqual([4, 0]);
});

test('after a failure nothing more is begun', async () => {
  const begun: number[] = [];
  const failing = inParallel([0, 1, 2, 3, 4, 5, 6, 7], 2, async (item) => {
    begun.push(item);
    await turns(2);
    if (item === 2) throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  await turns(50);
  expect(begun).toEqual([0, 1, 2, 3]);
});

test('a batch in pieces', () => {
  expect(chunksOf([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(chunksOf([], 2)).toEqual([]);
});
