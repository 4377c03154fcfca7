import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chosenSeed } from '../../process/support/seed.ts';
import { ROOT } from '../../process/support/nursery.ts';
import { runKills } from './kills.ts';

test('a store whose process is killed has everything that was durable, and its indices are those of its log', async () => {
  const seed = chosenSeed();
  const writer = join(ROOT, 'build/test/engine/storage/writer.js');
  const { kills, durable, underLoad, wrong } = await runKills({ kills: 40, seed, writer });
  expect(wrong.slice(0, 5), `seed ${seed}`).toEqual([]);
  expect(kills).toBe(40);
  expect(underLoad).toBeGreaterThan(20);
  expect(durable).toBeGreaterThan(500);
});
