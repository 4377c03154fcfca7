/** Nothing is told durable before the sync that covers it has returned, whichever way it takes to the disk. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { entryOf, put } from '../../../test/conformance/partition-entries.ts';
import { synced } from '../../../test/conformance/partition-store.ts';
import { failNextWrite } from '../../../test/support/failing-disk.ts';
import { until } from '../../../test/support/until.ts';
import type { PartitionStore } from '../core/index.ts';
import { NodeStore, type NodeStoreOptions } from './node-store.ts';
import { RedoLog } from './redo-log.ts';
import { Tables } from './tables.ts';

const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'baton-store-durable-'));
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => vi.restoreAllMocks());
let places = 0;

/** Half of a journal file: what is larger goes to the database at once. */
const JOURNAL_BYTES = 64 * 1024;
const LARGE = 'x'.repeat(JOURNAL_BYTES);

async function opened(
  options: Partial<NodeStoreOptions> = {},
): Promise<{ node: NodeStore; directory: string }> {
  const { directory = join(root, String((places += 1))) } = options;
  const node = await NodeStore.open({ journalBytes: JOURNAL_BYTES, commitMs: 1, ...options, directory });
  onTestFinished(() => node.close());
  return { node, directory };
}

/** Commits of the database wait for `let go`, or fail. */
class Gate {
  readonly #commit: Tables['commit'] = Reflect.get(Tables.prototype, 'commit');
  #waiting: ((error: Error | undefined) => void)[] = [];
  #isOpen = false;

  constructor() {
    const through = (): Promise<Error | undefined> =>
      new Promise((resolve) => {
        this.#waiting.push(resolve);
      });
    const isOpen = (): boolean => this.#isOpen;
    const commit = this.#commit;
    vi.spyOn(Tables.prototype, 'commit').mockImplementation(async function gated(this: Tables, ...args) {
      const error = isOpen() ? undefined : await through();
      if (error !== undefined) throw error;
      await commit.apply(this, args);
    });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  next(error?: Error): void {
    this.#waiting.shift()?.(error);
  }

  open(): void {
    this.#isOpen = true;
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }
}

async function crashedAndOpened(node: NodeStore, directory: string): Promise<PartitionStore> {
  await node.abandon();
  return (await opened({ directory })).node.partition('p');
}

test('a write too large for the journal is durable when the database has it, not before', async () => {
  const { node, directory } = await opened();
  const store = node.partition('p');
  await synced(store);
  const gate = new Gate();
  onTestFinished(() => gate.open());
  store.append([entryOf(1, 1, [put('a', LARGE)])]);
  await until('the commit of the large entry', () => gate.waiting > 0);
  const told = vi.fn<(error: Error | undefined) => void>();
  store.sync(told);
  // Something later that the journal could take by itself: it must not overtake what it follows.
  store.append([entryOf(1, 2, [put('b', 'small')])]);
  const later = synced(store);
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(told).not.toHaveBeenCalled();
  gate.open();
  await later;
  expect(told).toHaveBeenCalledExactlyOnceWith(undefined);
  expect((await crashedAndOpened(node, directory)).tail).toEqual({ epoch: 1, lsn: 2 });
});

test('nothing that was written behind a commit is found without it after a crash', async () => {
  const { node, directory } = await opened();
  const store = node.partition('p');
  await synced(store);
  const gate = new Gate();
  store.append([entryOf(1, 1, [put('a', LARGE)])]);
  await until('the commit of the large entry', () => gate.waiting > 0);
  store.append([entryOf(1, 2, [put('b', 'small')])]);
  store.sync(() => {});
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  const ended = node.abandon();
  gate.next(new Error('killed'));
  gate.open();
  await ended;
  const { tail } = (await opened({ directory })).node.partition('p');
  expect(tail).toEqual({ epoch: 0, lsn: 0 });
});

test('a record whose append failed is not read back over what was written since', async () => {
  const { node, directory } = await opened({ commitMs: 60_000 });
  const store = node.partition('p');
  await synced(store);
  await failNextWrite('the disk says no');
  store.append([entryOf(1, 1, [put('a', 'x'.repeat(JOURNAL_BYTES / 3))])]);
  await expect(synced(store)).rejects.toThrow('the disk says no');
  store.truncate(0, 0);
  store.append([entryOf(2, 1, [put('a', LARGE)])]);
  await synced(store);
  expect((await crashedAndOpened(node, directory)).tail).toEqual({ epoch: 2, lsn: 1 });
});

/** A reader that has undone its log and taken the first entry of another epoch: what the disk then has is all of that or nothing. */
function crossOver(store: PartitionStore): void {
  store.truncate(1, 0);
  store.note({ table: [...TABLE, { epoch: 2, lsn: 2 }] });
  store.append([entryOf(2, 2, [put('c', 'small')])]);
}

const TABLE = [{ epoch: 1, lsn: 1 }];

function expectAllOrNothing({ tail, notes }: PartitionStore): void {
  const hasEpoch = notes.table.some(({ epoch }) => epoch === 2);
  expect({ tail, hasEpoch }).toEqual({ tail: { epoch: 2, lsn: 2 }, hasEpoch: true });
}

async function withTwoEntries(): Promise<{ node: NodeStore; directory: string; store: PartitionStore }> {
  const { node, directory } = await opened({ commitMs: 60_000 });
  const store = node.partition('p');
  store.note({ table: TABLE });
  store.append([entryOf(1, 1, [put('a', 'small')]), entryOf(1, 2, [put('b', 'small')])]);
  await synced(store);
  return { node, directory, store };
}

/** The database fails, and so has to catch up before the next write: what is written until `then` has been called comes meanwhile. */
async function whileCatchingUp(node: NodeStore, store: PartitionStore, then: () => void): Promise<void> {
  const gate = new Gate();
  onTestFinished(() => gate.open());
  const settling = node.settled();
  await until('a commit', () => gate.waiting > 0);
  gate.next(new Error('the database says no'));
  await settling;
  store.note({ gclsn: 1 });
  const first = synced(store);
  await until('a commit that the write waits for', () => gate.waiting > 0);
  then();
  gate.open();
  await first;
}

test('what is written while the database catches up goes into the journal with what was noted for it', async () => {
  const { node, directory, store } = await withTwoEntries();
  let second: Promise<void> | undefined;
  await whileCatchingUp(node, store, () => {
    crossOver(store);
    second = synced(store);
  });
  await second;
  expectAllOrNothing(await crashedAndOpened(node, directory));
});

test('more than the journal holds, written while the database catches up, fails nobody', async () => {
  const { node, directory, store } = await withTwoEntries();
  const large = [3, 4, 5].map((lsn) => entryOf(1, lsn, [put(`large-${lsn}`, LARGE)]));
  await whileCatchingUp(node, store, () => store.append(large));
  await synced(store);
  expect((await crashedAndOpened(node, directory)).tail).toEqual({ epoch: 1, lsn: 5 });
});

test('what is written while the journal fails goes into the database with what was noted for it', async () => {
  const { node, directory, store } = await withTwoEntries();
  vi.spyOn(RedoLog.prototype, 'append').mockImplementationOnce(async () => {
    crossOver(store);
    throw new Error('the journal says no');
  });
  const crashed = new Promise<PartitionStore>((resolve) => {
    vi.spyOn(RedoLog.prototype, 'checkpointed').mockImplementationOnce(() => {
      resolve(crashedAndOpened(node, directory));
    });
  });
  store.note({ gclsn: 1 });
  void node.settled();
  expectAllOrNothing(await crashed);
});
