/** What the conformance suite cannot see: the files, and what becomes of them. */
import { existsSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { bodyText, entryOf, put, remove } from '../../../test/conformance/partition-entries.ts';
import { ALL, synced } from '../../../test/conformance/partition-store.ts';
import { until } from '../../../test/support/until.ts';
import { DamagedEntry, type PartitionStore } from '../core/index.ts';
import { NodeStore, type NodeStoreOptions } from './node-store.ts';
import { writeRecord } from './records.ts';

const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'baton-store-files-'));
afterAll(() => rmSync(root, { recursive: true }));
let places = 0;

function newDirectory(): string {
  return join(root, String((places += 1)));
}

async function opened(
  directory = newDirectory(),
  options: Partial<NodeStoreOptions> = {},
): Promise<{ node: NodeStore; store: PartitionStore; directory: string }> {
  const node = await NodeStore.open({ directory, journalBytes: 1024 * 1024, ...options });
  onTestFinished(() => node.close());
  return { node, store: node.partition('p'), directory };
}

/** The tables of a store that is closed. */
async function edit<T>(directory: string, table: string, run: (pairs: Map<Buffer, Buffer>) => T): Promise<T> {
  const environment = open<Buffer, Buffer>({ path: directory, encoding: 'binary', noSubdir: false });
  const database = environment.openDB<Buffer, Buffer>(table, { encoding: 'binary', keyEncoding: 'binary' });
  const pairs = new Map(
    [...database.getRange()].map(({ key, value }) => [Buffer.from(key), Buffer.from(value)]),
  );
  const result = run(pairs);
  for (const [key, value] of pairs) await database.put(key, value);
  await environment.close();
  return result;
}

const countOf = (directory: string, table: string): Promise<number> =>
  edit(directory, table, (pairs) => pairs.size);

test('data of a newer format are refused', async () => {
  const { node, directory } = await opened();
  await node.close();
  await edit(directory, 'meta', (pairs) => pairs.set(Buffer.from('format'), writeRecord({ format: 2 })));
  await expect(NodeStore.open({ directory })).rejects.toMatchObject({ code: 'FORMAT_NEWER' });
  await expect(NodeStore.open({ directory })).rejects.toMatchObject({ code: 'FORMAT_NEWER' });
});

test.each([
  ['is empty', 0],
  ['was cut short', 2 * 4096],
])('a store whose database %s does not start as a new one, and says what to do', async (_, bytes) => {
  const { node, store, directory } = await opened();
  store.append([entryOf(1, 1, [put('a')])]);
  await synced(store);
  await node.close();
  truncateSync(join(directory, 'data.mdb'), bytes);
  for (let start = 0; start < 2; start += 1)
    await expect(NodeStore.open({ directory, journalBytes: 1024 * 1024 })).rejects.toMatchObject({
      code: 'DAMAGED',
      message: expect.stringMatching(/(was lost|was cut short).*Move the directory away/),
    });
});

test('a directory belongs to one store at a time', async () => {
  const { node, store, directory } = await opened();
  store.append([entryOf(1, 1, [put('a')])]);
  await expect(NodeStore.open({ directory })).rejects.toMatchObject({ code: 'DATA_IN_USE' });
  await synced(store);
  await node.close();
  expect((await opened(directory)).store.tail.lsn).toBe(1);
});

test('a store that is closed takes nothing more', async () => {
  const { node, store } = await opened();
  store.append([entryOf(1, 1, [put('a')])]);
  await node.close();
  expect(() => store.newest(put('a'))).toThrow();
  expect(() => store.note({ fence: 2 })).toThrow(expect.objectContaining({ code: 'CLOSED' }) as Error);
  await expect(synced(store)).rejects.toMatchObject({ code: 'CLOSED' });
});

test('what waits when a store is closed is written, without a sync', async () => {
  const { node, store, directory } = await opened();
  store.append([entryOf(1, 1, [put('a', 'x')])]);
  store.note({ fence: 3 });
  await node.close();
  const again = (await opened(directory)).store;
  expect(bodyText(again.newest(put('a')))).toBe('"x"');
  expect(again.notes.fence).toBe(3);
});

test('`maxBytes` is a full disk; a trim makes room', async () => {
  const { node, store } = await opened(undefined, { maxBytes: 400_000 });
  const append = (lsn: number): void =>
    store.append([entryOf(1, lsn, [put('a', 'x'.repeat(2000), { previous: lsn - 1 })])]);
  let lsn = 0;
  const fill = async (): Promise<unknown> => {
    for (;;) {
      append((lsn += 1));
      try {
        await synced(store);
      } catch (error) {
        return error;
      }
    }
  };
  expect(await fill()).toMatchObject({ code: 'DISK_FULL' });
  expect(lsn).toBeGreaterThan(50);
  expect(node.usedBytes).toBeLessThan(400_000);
  expect(store.newest(put('a'))?.lsn).toBe(lsn);
  // Room is made behind the queue as well: it holds one entry, and takes away many.
  store.trim(lsn - 2);
  await until('there is room', () => synced(store).then(() => true));
  append((lsn += 1));
  await synced(store);
  expect(store.entriesAfter(store.base - 1, 1e6).at(-1)?.lsn).toBe(lsn);
});

test('an entry that the indices lack and that is damaged stops reads by index until it is replaced', async () => {
  const { node, store, directory } = await opened();
  const entries = [1, 2, 3].map((lsn) => entryOf(1, lsn, [put('a', lsn, { previous: lsn - 1 })]));
  store.append([...entries, entryOf(1, 4, [put('b')])]);
  await synced(store);
  await node.abandon();
  // From the journal into the database, where the indices still lack them.
  await (await opened(directory)).node.abandon();
  await edit(directory, 'entries', (pairs) => {
    for (const [key, value] of pairs) if ([2, 3].includes(key.readUInt32BE(8))) value[60]! ^= 1;
  });
  const again = (await opened(directory)).store;
  expect(again.tail).toEqual({ epoch: 1, lsn: 4 });
  expect(() => again.newest(put('a'))).toThrow(new DamagedEntry(2));
  expect(() => again.newest(put('b'))).toThrow(new DamagedEntry(2));
  expect(() => again.scan(ALL)).toThrow(new DamagedEntry(2));
  // Of what is left of it they could not be made.
  again.replace(entryOf(1, 2, []), 'rest');
  expect(() => again.entry(2)).toThrow(new DamagedEntry(2));
  again.replace(entries[1]!);
  expect(() => again.newest(put('b'))).toThrow(new DamagedEntry(3));
  again.replace(entries[2]!);
  expect(bodyText(again.newest(put('a')))).toBe('3');
  expect(again.scan(ALL)).toHaveLength(2);
});

test('the epoch of a damaged last entry comes from the progress table', async () => {
  const { node, store, directory } = await opened();
  store.append([entryOf(1, 1, [put('a')]), entryOf(4, 2, [put('b')])]);
  store.note({
    table: [
      { epoch: 1, lsn: 1 },
      { epoch: 4, lsn: 2 },
    ],
  });
  await node.close();
  await edit(directory, 'entries', (pairs) => {
    for (const [key, value] of pairs) if (key.readUInt32BE(8) === 2) value[60]! ^= 1;
  });
  expect((await opened(directory)).store.tail).toEqual({ epoch: 4, lsn: 2 });
});

test('entries that changed places are not served for each other', async () => {
  const { node, store, directory } = await opened();
  store.append([entryOf(1, 1, [put('a', 1)]), entryOf(1, 2, [put('a', 2, { previous: 1 })])]);
  await node.close();
  await edit(directory, 'entries', (pairs) => {
    const [first, second] = [...pairs.keys()];
    const value = pairs.get(first!)!;
    pairs.set(first!, pairs.get(second!)!);
    pairs.set(second!, value);
  });
  const again = (await opened(directory)).store;
  expect(() => again.entry(1)).toThrow(new DamagedEntry(1));
  expect(() => again.newest(put('a'))).toThrow(new DamagedEntry(2));
});

test('a damaged record of an index is not followed', async () => {
  const { node, store, directory } = await opened();
  store.append([entryOf(1, 1, [put('a', 1)]), entryOf(1, 2, [put('a', 2, { previous: 1 })])]);
  await node.close();
  // To the version before, which exists.
  await edit(directory, 'documents', (pairs) => pairs.forEach((value) => value.writeDoubleLE(1, 0)));
  const again = (await opened(directory)).store;
  expect(() => again.newest(put('a'))).toThrow(expect.objectContaining({ code: 'DAMAGED' }) as Error);
  expect(() => again.scan(ALL)).toThrow(expect.objectContaining({ code: 'DAMAGED' }) as Error);
});

test('an index that leads to an entry that is not there has lost it', async () => {
  const { node, store, directory } = await opened();
  store.append([entryOf(1, 1, [put('a')]), entryOf(1, 2, [put('b')])]);
  store.trim(1);
  await node.close();
  const environment = open({ path: directory, noSubdir: false });
  const entries = environment.openDB<Buffer, Buffer>('entries', {
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const [key] = [...entries.getKeys({ limit: 1 })];
  await entries.remove(Buffer.from(key!));
  await environment.close();
  const again = (await opened(directory)).store;
  expect(() => again.newest(put('a'))).toThrow(new DamagedEntry(1));
});

test('trimmed entries and their records leave the files, a batch when its last change has', async () => {
  const { node, store, directory } = await opened();
  const count = 2000;
  for (let lsn = 1; lsn <= count; lsn += 1) {
    const id = `d${lsn % 10}`;
    const changes = [put(id, lsn, { previous: Math.max(0, lsn - 10) })];
    if (lsn <= 10) changes.push(put(`once${lsn}`));
    store.append([entryOf(1, lsn, changes, { operation: `o${lsn}` })]);
  }
  await synced(store);
  store.trim(count - 5);
  await node.settled();
  await node.close();
  // Ten batches that still hold a document, ten newest versions at the trim, five behind it.
  expect(await countOf(directory, 'entries')).toBe(25);
  expect(await countOf(directory, 'operations')).toBe(5);
  expect(await countOf(directory, 'superseded')).toBe(10);
  const again = await opened(directory);
  again.store.append(
    Array.from({ length: 10 }, (_, index) =>
      entryOf(1, count + 1 + index, [remove(`once${index + 1}`, index + 1)]),
    ),
  );
  again.store.trim(count + 10);
  await again.node.settled();
  await again.node.close();
  expect(await countOf(directory, 'entries')).toBe(10);
  expect(await countOf(directory, 'superseded')).toBe(0);
  expect(await countOf(directory, 'documents')).toBe(10);
});

test('what a full copy replaced leaves the files, also when the process died in between', async () => {
  const directory = newDirectory();
  const first = await opened(directory);
  first.store.append(
    Array.from({ length: 3000 }, (_, index) =>
      entryOf(1, index + 1, [put(`d${index}`, 1, { ttl: 5 })], { operation: `o${index}` }),
    ),
  );
  await synced(first.store);
  first.store.clear(3001);
  await synced(first.store);
  await first.node.abandon();
  const again = await opened(directory);
  again.store.append([entryOf(1, 3001, [put('new')])]);
  await again.node.settled();
  await again.node.close();
  for (const [table, count] of [
    ['entries', 1],
    ['documents', 1],
    ['operations', 0],
    ['expiries', 0],
  ] as const) {
    expect([table, await countOf(directory, table)]).toEqual([table, count]);
  }
});

test('an empty commit is none, and a sync without writes comes back', async () => {
  const { store } = await opened();
  await synced(store);
  await synced(store);
});
