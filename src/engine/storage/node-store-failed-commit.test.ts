/**
 * A commit that failed takes nothing out of its order: what had been computed for it goes to the database before everything that was
 * written since. An undo that comes after the failure must not be overtaken by an index flush, or by trimming, from before it.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededChoose } from 'baton/check';
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { bodyText, entryOf, put, remove } from '../../../test/conformance/partition-entries.ts';
import { ALL, synced } from '../../../test/conformance/partition-store.ts';
import { PartitionModel } from '../../../test/engine/storage/model.ts';
import { actionOf, apply, viewOf } from '../../../test/engine/storage/plan.ts';
import type { PartitionStore } from '../core/index.ts';
import { NodeStore, type NodeStoreOptions } from './node-store.ts';
import { diskFull, Tables, type Write } from './tables.ts';

const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'baton-store-failed-'));
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.restoreAllMocks());
let places = 0;
/** In 400 steps. */
const UNDOS = 100;

async function opened(
  options: Partial<NodeStoreOptions> = {},
): Promise<{ node: NodeStore; directory: string; store: PartitionStore }> {
  const { directory = join(root, String((places += 1))) } = options;
  const node = await NodeStore.open({ journalBytes: 256 * 1024, commitMs: 60_000, ...options, directory });
  onTestFinished(() => node.close());
  return { node, directory, store: node.partition('p') };
}

async function crashedAndOpened(node: NodeStore, directory: string): Promise<PartitionStore> {
  await node.abandon();
  return (await opened({ directory })).store;
}

/** The disk is full for the commits that this is true of. */
function fullFor(isTooMuch: (writes: readonly Write[], tables: Tables) => boolean): { failed: number } {
  const counts = { failed: 0 };
  const commit: Tables['commit'] = Reflect.get(Tables.prototype, 'commit');
  vi.spyOn(Tables.prototype, 'commit').mockImplementation(async function gated(this: Tables, ...args) {
    if (isTooMuch(args[0], this)) {
      counts.failed += 1;
      throw diskFull(this.directory);
    }
    await commit.apply(this, args);
  });
  return counts;
}

/** Room returns when `undo` has been called. */
async function undoneAfterFailure(
  store: PartitionStore,
  node: NodeStore,
  table: 'documents' | 'superseded',
  undo: () => void,
): Promise<void> {
  let isFull = true;
  const counts = fullFor((writes, tables) => isFull && writes.some((write) => write.table === tables[table]));
  await node.settled();
  expect(counts.failed).toBeGreaterThan(0);
  isFull = false;
  undo();
  // The next commit, and not yet another flush.
  await synced(store);
  await synced(store);
}

describe('an undo after a commit that failed', () => {
  test('of a delete leaves the document in scans after a crash', async () => {
    const { node, directory, store } = await opened();
    store.append([entryOf(1, 1, [put('a', 1)]), entryOf(1, 2, [put('b', 1)])]);
    await node.settled();
    store.append([entryOf(1, 3, [remove('a', 1)])]);
    await synced(store);
    await undoneAfterFailure(store, node, 'documents', () => store.truncate(2, 0));
    const again = await crashedAndOpened(node, directory);
    expect(again.scan(ALL).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(again.newest(put('a'))?.lsn).toBe(1);
  });

  test('of a replace leaves the version before it after a crash', async () => {
    const { node, directory, store } = await opened();
    store.append([entryOf(1, 1, [put('a', 'before')])]);
    await node.settled();
    store.append([entryOf(1, 2, [put('a', 'after', { previous: 1, ttl: 5 })], { operation: 'o-2' })]);
    await synced(store);
    await undoneAfterFailure(store, node, 'documents', () => store.truncate(1, 0));
    const again = await crashedAndOpened(node, directory);
    expect(bodyText(again.newest(put('a')))).toBe('"before"');
    expect(again.operation('o-2')).toBeUndefined();
    expect(again.expired(1e15, 10)).toEqual([]);
  });
});

test('a disk that is full while the journal waits for the database leaves others their turn', async () => {
  const { node, store } = await opened({ journalBytes: 64 * 1024 });
  await node.settled();
  let isFull = true;
  const counts = fullFor(() => isFull);
  const body = 'x'.repeat(20_000);
  // One file of the journal after the other, until the database has to take what they hold.
  for (let lsn = 1; counts.failed === 0; lsn += 1) {
    store.append([entryOf(1, lsn, [put('a', body, { previous: lsn - 1 })])]);
    await synced(store).catch(() => undefined);
  }
  await new Promise((resolve) => setImmediate(resolve));
  const { failed } = counts;
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(counts.failed).toBe(failed);
  isFull = false;
  await synced(store);
});

describe('a store whose commits fail now and then, and that is killed', () => {
  const seeds = [5, 6, 7, 8, 9, 10];

  test.each(seeds)('has in its indices what its log says: seed %i', async (seed) => {
    const choose = seededChoose(seed);
    let isFull = false;
    fullFor(() => isFull);
    const model = new PartitionModel(seed, 'one', UNDOS);
    const options = {
      flushChanges: 5 + choose(40),
      flushPiece: 1 + choose(20),
      journalBytes: (16 + choose(64)) * 4096,
    };
    let { node, directory } = await opened(options);
    for (let life = 0; life < 20; life += 1) {
      const store = node.partition('one');
      model.advance(store.notes.gclsn);
      expect(model.compare(store), `life ${life}`).toEqual([]);
      for (let left = 5 + choose(60); left > 0; left -= 1) {
        isFull = choose(3) === 0;
        const step = store.notes.gclsn + 1;
        apply(store, step, actionOf(seed, 'one', step, viewOf(store), UNDOS));
        const told = synced(store).catch(() => undefined);
        if (choose(3) === 0) await node.settled();
        await told;
      }
      isFull = choose(4) === 0;
      if (choose(2) === 0) await node.settled();
      await node.abandon();
      isFull = false;
      ({ node } = await opened({ ...options, directory }));
    }
  });
});
