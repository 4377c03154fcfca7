import {
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { missingInDatabase } from './database-file.ts';

const PAGE = 4096;

function database(path: string): RootDatabase<Buffer, string> {
  return open<Buffer, string>({ path, encoding: 'binary', noSubdir: false, pageSize: PAGE, maxDbs: 4 });
}

/** Two trees with several levels, and values on pages of their own. */
async function filled(): Promise<string> {
  const directory = join(temporaryDirectory(), 'data');
  const root = database(directory);
  const table = root.openDB<Buffer, string>('table', { encoding: 'binary' });
  for (let number = 0; number < 2000; number += 1) {
    void root.put(`key ${number}`, Buffer.alloc(200, number));
    void table.put(`key ${number}`, Buffer.alloc(number % 100 === 0 ? 3 * PAGE : 50, number));
  }
  await root.flushed;
  await root.close();
  return directory;
}

function cutTo(directory: string, bytes: number): string {
  const copy = join(temporaryDirectory(), 'copy');
  mkdirSync(copy);
  copyFileSync(join(directory, 'data.mdb'), join(copy, 'data.mdb'));
  truncateSync(join(copy, 'data.mdb'), bytes);
  return copy;
}

describe('a database file', () => {
  test('that is whole lacks nothing, nor does one that is not there or that LMDB makes anew', async () => {
    expect(missingInDatabase(await filled())).toBeUndefined();
    const directory = temporaryDirectory();
    expect(missingInDatabase(directory)).toBeUndefined();
    writeFileSync(join(directory, 'data.mdb'), '');
    expect(missingInDatabase(directory)).toBeUndefined();
  });

  test('that LMDB refuses is found out before the process would end for it', async () => {
    const directory = await filled();
    for (const bytes of [1, 100, 167, PAGE, PAGE + 100])
      expect(missingInDatabase(cutTo(directory, bytes))).toMatch(
        new RegExp(`first pages are damaged: it has ${bytes} bytes$`),
      );
    const damaged = (at: number, bytes: string): string => {
      const copy = cutTo(directory, statSync(join(directory, 'data.mdb')).size);
      const file = openSync(join(copy, 'data.mdb'), 'r+');
      writeSync(file, bytes, at);
      closeSync(file);
      return copy;
    };
    // Kind of page, magic, version, size of the map; of the first and the second page.
    for (const page of [0, PAGE])
      for (const at of [18, 24, 28, 46])
        expect(missingInDatabase(damaged(page + at, 'AA'))).toContain('first pages are damaged');
    const other = temporaryDirectory();
    writeFileSync(join(other, 'data.mdb'), 'no database at all');
    expect(missingInDatabase(other)).toContain('is no database');
  });

  test('that was cut short anywhere is found out before LMDB would read behind its end', async () => {
    const directory = await filled();
    const { size } = statSync(join(directory, 'data.mdb'));
    for (const bytes of [size - 1, size - PAGE, Math.floor(size / 2), 3 * PAGE, 2 * PAGE]) {
      const copy = cutTo(directory, bytes);
      expect(missingInDatabase(copy)).toMatch(new RegExp(`was cut short: it has ${bytes} of \\d+ bytes$`));
    }
  });

  test('may be shorter than its last page number says, if the pages at the end are free', async () => {
    const directory = await filled();
    const root = database(directory);
    // The last pages of the file are given back, and those before them stay.
    for (let number = 0; number < 50; number += 1)
      await root.put(`more ${number}`, Buffer.alloc(20 * PAGE, 1));
    for (let number = 0; number < 50; number += 1) await root.remove(`more ${number}`);
    await root.close();
    const { size } = statSync(join(directory, 'data.mdb'));
    const copy = cutTo(directory, size - 10 * PAGE);
    expect(missingInDatabase(copy)).toBeUndefined();
    const again = database(copy);
    expect([...again.getKeys()].filter((key) => key.startsWith('key '))).toHaveLength(2000);
    await again.close();
  });
});
