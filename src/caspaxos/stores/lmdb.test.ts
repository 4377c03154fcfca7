import { statSync, truncateSync, writeFileSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { newDirectory } from '../../../test/caspaxos/directories.ts';
import { storeConformance, type StoreUnderTest } from '../../../test/conformance/store.ts';
import { storeAcceptorConformance } from '../../../test/conformance/store-acceptor.ts';
import { LmdbStore } from './lmdb.ts';

const root = newDirectory();
afterAll(() => rm(root, { recursive: true, force: true }));

const lmdb: StoreUnderTest = {
  open: async (place) => new LmdbStore(join(root, place)),
  empty: (place) => rm(join(root, place), { recursive: true }),
  snapshot: async (place) => {
    const copy = join(root, `${place}.copy`);
    await cp(join(root, place), copy, { recursive: true });
    return async () => {
      await rm(join(root, place), { recursive: true });
      await cp(copy, join(root, place), { recursive: true });
    };
  },
};

storeConformance('lmdb', lmdb);
storeAcceptorConformance('lmdb', lmdb);

test('a path that cannot be a directory is a clear error', () => {
  const file = join(root, 'a-file');
  writeFileSync(file, 'something else');
  expect(() => new LmdbStore(file)).toThrow(expect.objectContaining({ code: 'STORE_FAILED' }));
});

test('a data file that was cut short is refused, and not opened', async () => {
  const path = join(root, 'cut');
  const store = new LmdbStore(path);
  for (let at = 0; at < 20; at += 1)
    await store.write([{ key: `k${at}`, text: 'x'.repeat(10_000), expected: undefined }]);
  await store.close();
  const file = join(path, 'data.mdb');
  truncateSync(file, statSync(file).size / 2);
  expect(() => new LmdbStore(path)).toThrow(expect.objectContaining({ code: 'DATA_CORRUPT' }));
});

test('a directory that was put in the place of another is the one that is opened', async () => {
  const path = join(root, 'replaced');
  const old = new LmdbStore(path);
  await old.write([{ key: 'k', text: 'old', expected: undefined }]);
  await rm(path, { recursive: true });
  const fresh = new LmdbStore(path);
  expect(await fresh.read(['k'])).toEqual([undefined]);
  await fresh.write([{ key: 'k', text: 'new', expected: undefined }]);
  await old.close();
  await fresh.close();
  const again = new LmdbStore(path);
  expect(await again.read(['k'])).toMatchObject([{ text: 'new' }]);
  await again.close();
});

test('a directory with a dot in its name is a directory', async () => {
  const store = new LmdbStore(join(root, 'version.1'));
  await store.write([{ key: 'k', text: 'x', expected: undefined }]);
  expect(await store.read(['k'])).toMatchObject([{ text: 'x' }]);
  await store.close();
});
