import type { RootDatabase } from 'lmdb';
import { expect, test } from 'vitest';
import { EMPTY_RECORD } from '../core/index.ts';
import { RecordTable } from './record-table.ts';

/** A database whose writes are decided by hand. */
function database(): { puts: { key: string; settle: (error?: Error) => void }[]; table: RecordTable } {
  const puts: { key: string; settle: (error?: Error) => void }[] = [];
  const put = (key: string): Promise<boolean> =>
    new Promise((resolve, reject) => {
      puts.push({ key, settle: (error) => (error === undefined ? resolve(true) : reject(error)) });
    });
  const fake = { put, get: () => undefined } as unknown as RootDatabase<string, string>;
  return { puts, table: new RecordTable(fake, 'test', 1000) };
}

const turn = (): Promise<void> => new Promise(setImmediate);

test('a checkpoint is written when everything that it speaks of is on disk', async () => {
  const { puts, table } = database();
  for (const key of ['a', 'b', 'c']) table.set(key, { ...EMPTY_RECORD, value: key }, EMPTY_RECORD);
  const saved = table.save(7);
  await turn();
  expect(puts.map(({ key }) => key.at(-1))).toEqual(['a', 'b', 'c']);
  puts[1]!.settle();
  puts[2]!.settle();
  await turn();
  expect(puts).toHaveLength(3);
  puts[0]!.settle();
  await turn();
  expect(puts.map(({ key }) => key).at(-1)).toBe('checkpoint');
  puts[3]!.settle();
  await saved;
});

test('one record that is refused, whichever it is, and there is no checkpoint', async () => {
  for (let refused = 0; refused < 3; refused += 1) {
    const { puts, table } = database();
    for (const key of ['a', 'b', 'c']) table.set(key, { ...EMPTY_RECORD, value: key }, EMPTY_RECORD);
    const saved = expect(table.save(7)).rejects.toThrow('disk');
    await turn();
    for (const [at, one] of puts.entries()) one.settle(at === refused ? new Error('disk') : undefined);
    await saved;
    expect(puts).toHaveLength(3);
  }
});
