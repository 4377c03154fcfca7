import type { RootDatabase } from 'lmdb';
import { expect, test } from 'vitest';
import { EMPTY_RECORD } from '../core/index.ts';
import { RecordTable } from './record-table.ts';

interface Batch {
  readonly keys: string[];
  readonly settle: (error?: Error) => void;
}

/** A database whose commits are decided by hand. */
function database(): { batches: Batch[]; table: RecordTable } {
  const batches: Batch[] = [];
  let keys: string[] = [];
  const batch = (run: () => void): Promise<boolean> =>
    new Promise((resolve, reject) => {
      keys = [];
      run();
      batches.push({ keys, settle: (error) => (error === undefined ? resolve(true) : reject(error)) });
    });
  const put = (key: string): void => void keys.push(key);
  const fake = { batch, put, get: () => undefined } as unknown as RootDatabase<string, string>;
  return { batches, table: new RecordTable(fake, '.', 1000) };
}

const turn = (): Promise<void> => new Promise(setImmediate);

test('a checkpoint is written when everything that it speaks of is on disk', async () => {
  const { batches, table } = database();
  for (const key of ['a', 'b', 'c']) table.set(key, { ...EMPTY_RECORD, value: key }, EMPTY_RECORD);
  const saved = table.save(7);
  await turn();
  expect(batches.map(({ keys }) => keys.map((key) => key.at(-1)))).toEqual([['a', 'b', 'c']]);
  batches[0]!.settle();
  await turn();
  expect(batches[1]!.keys).toEqual(['checkpoint']);
  batches[1]!.settle();
  await saved;
  expect(table.hasUnsaved).toBe(false);
});

test('records that are refused leave no checkpoint, and are saved again, the newer ones of them', async () => {
  const { batches, table } = database();
  for (const key of ['a', 'b']) table.set(key, { ...EMPTY_RECORD, value: key }, EMPTY_RECORD);
  const saved = expect(table.save(7)).rejects.toThrow('disk');
  await turn();
  table.set('b', { ...EMPTY_RECORD, value: 'newer' }, EMPTY_RECORD);
  batches[0]!.settle(new Error('disk'));
  await saved;
  expect(batches).toHaveLength(1);
  expect(table.get('b').value).toBe('newer');
  const again = table.save(8);
  await turn();
  expect(batches[1]!.keys.map((key) => key.at(-1))).toEqual(['a', 'b']);
  batches[1]!.settle();
  await turn();
  batches[2]!.settle();
  await again;
});
