/** A partition-set that is given up: what is left of it, whenever the process ends. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { bodyText, entryOf, put } from '../../../test/conformance/partition-entries.ts';
import { synced } from '../../../test/conformance/partition-store.ts';
import { until } from '../../../test/support/until.ts';
import type { PartitionStore } from '../core/index.ts';
import { MemoryNodeStore } from './memory-store.ts';
import { NodeStore, type NodeStoreOptions } from './node-store.ts';

const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'baton-store-drop-'));
afterAll(() => rmSync(root, { recursive: true }));
let places = 0;

async function opened(
  directory = join(root, String((places += 1))),
  options: Partial<NodeStoreOptions> = {},
): Promise<{ node: NodeStore; directory: string }> {
  const node = await NodeStore.open({ directory, journalBytes: 1024 * 1024, ...options });
  onTestFinished(() => node.close());
  return { node, directory };
}

/** What the tables hold, but for what every store has. */
async function leftIn(directory: string): Promise<readonly string[]> {
  const environment = open<Buffer, Buffer>({ path: directory, encoding: 'binary', noSubdir: false });
  const left = ['meta', 'entries', 'documents', 'operations', 'expiries', 'superseded', 'undone'].flatMap(
    (name) => {
      const table = environment.openDB<Buffer, Buffer>(name, { encoding: 'binary', keyEncoding: 'binary' });
      const keys = [...table.getKeys()].map((key) => key.toString('latin1'));
      return name === 'meta'
        ? keys.filter((key) => !['format', 'journaled', 'numbers', 'owner'].includes(key))
        : keys.map((key) => `${name} ${key}`);
    },
  );
  await environment.close();
  return left;
}

const COUNT = 300;

/** Entries, indices, a cut with undone writes, notes: something in every table. */
async function filled(node: NodeStore, name: string): Promise<PartitionStore> {
  const store = node.partition(name);
  for (let lsn = 1; lsn <= COUNT; lsn += 1) {
    const change = put(`d-${lsn % 50}`, 'x', { previous: Math.max(0, lsn - 50), ttl: 1000 });
    store.append([{ ...entryOf(1, lsn, [change]), operation: `op-${lsn}` }]);
  }
  await synced(store);
  await node.settled();
  store.truncate(COUNT - 20, 5);
  store.note({ fence: 7 });
  await synced(store);
  return store;
}

describe('a partition-set that is dropped', () => {
  test('leaves nothing behind, and nothing of the others is touched', async () => {
    const { node, directory } = await opened();
    const kept = node.partition('kept');
    kept.append([entryOf(1, 1, [put('a', 'here')])]);
    await filled(node, 'gone');
    await node.drop('gone');
    expect(node.partitionSets).toEqual(['kept']);
    await node.settled();
    expect(bodyText(kept.newest(put('a')))).toBe('"here"');
    await node.close();
    const left = await leftIn(directory);
    expect(left.filter((key) => key.startsWith('garbage/'))).toEqual([]);
    expect(left.filter((key) => key.startsWith('partition/'))).toHaveLength(1);
    const again = (await opened(directory)).node;
    expect(again.partitionSets).toEqual(['kept']);
    await again.drop('kept');
    await again.settled();
    await again.close();
    expect(await leftIn(directory)).toEqual([]);
  });

  test('is gone after a crash as soon as the drop was done, and the next start takes the rest away', async () => {
    const { node, directory } = await opened(undefined, { commitMs: 60_000 });
    await filled(node, 'gone');
    await node.drop('gone');
    await node.abandon();
    const second = await opened(directory);
    expect(second.node.partitionSets).toEqual([]);
    await second.node.abandon();
    const third = (await opened(directory)).node;
    await third.settled();
    await third.close();
    expect(await leftIn(directory)).toEqual([]);
  });

  test('is all there after a crash before the drop was on disk', async () => {
    const { node, directory } = await opened();
    await filled(node, 'p');
    void node.drop('p').catch(() => {});
    await node.abandon();
    const { tail, notes } = (await opened(directory)).node.partition('p');
    expect([tail.lsn, notes.fence]).toEqual([COUNT - 20, 7]);
  });

  test('need not have been opened, nor be there at all', async () => {
    const { node, directory } = await opened();
    await filled(node, 'gone');
    await node.close();
    const again = (await opened(directory)).node;
    await again.drop('gone');
    await again.drop('gone');
    await again.drop('none');
    await again.settled();
    await again.close();
    expect(await leftIn(directory)).toEqual([]);
  });

  test('takes nothing more, and what is tried brings nothing back', async () => {
    const { node, directory } = await opened();
    const store = await filled(node, 'gone');
    store.append([entryOf(1, COUNT - 19, [put('a')])]);
    store.note({ fence: 9 });
    await node.drop('gone');
    const closed = expect.objectContaining({ code: 'CLOSED' }) as Error;
    expect(() => store.note({ fence: 10 })).toThrow(closed);
    expect(() => store.trim(5)).toThrow(closed);
    await node.settled();
    await node.close();
    expect(await leftIn(directory)).toEqual([]);
  });

  test('while the database takes its writes', async () => {
    const { node, directory } = await opened(undefined, { commitMs: 0, flushPiece: 16, flushChanges: 1 });
    const stores = await Promise.all(['a', 'b', 'c'].map((name) => filled(node, name)));
    for (const store of stores) store.trim(100);
    await Promise.all([
      node.drop('a'),
      synced(stores[1]!).then(() => node.drop('b')),
      node.settled().then(() => node.drop('c')),
    ]);
    await node.settled();
    await node.close();
    expect(await leftIn(directory)).toEqual([]);
  });

  test('can be dropped when the disk is full, which makes room', async () => {
    const { node } = await opened(undefined, { maxBytes: 300_000 });
    const store = node.partition('gone');
    let lsn = 0;
    await expect(
      (async () => {
        for (;;) {
          store.append([entryOf(1, (lsn += 1), [put(`d-${lsn}`, 'x'.repeat(2000))])]);
          await synced(store);
        }
      })(),
    ).rejects.toMatchObject({ code: 'DISK_FULL' });
    await until('it is dropped', () => node.drop('gone').then(() => true));
    const other = node.partition('other');
    await until('there is room', () => synced(other).then(() => node.usedBytes < 100_000));
  });
});

test('in memory too: gone when the drop was done, there when a crash came before', async () => {
  const host = {
    after: (ms: number, run: () => void) => setTimeout(run, ms),
    cancel: () => {},
    random: () => 0,
    randomInteger: () => 0,
  };
  const node = new MemoryNodeStore({ host });
  node.partition('p').append([entryOf(1, 1, [put('a')])]);
  await synced(node.partition('p'));
  void node.drop('p');
  node.crash();
  expect(node.partition('p').tail.lsn).toBe(1);
  await node.drop('p');
  expect(node.partitionSets).toEqual([]);
  expect(node.partition('p').tail.lsn).toBe(0);
});
