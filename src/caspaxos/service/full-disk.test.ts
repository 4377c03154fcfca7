/** A disk without room makes an acceptor refuse, not forget, not end, and not fall silent; and when there is room it goes on by itself. */
import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { errorOf, increment, openFor as openClusterFor } from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { accept, promise, query, typesOf, valueIn } from '../../../test/conformance/messages.ts';
import { failNextWrite } from '../../../test/support/failing-disk.ts';
import { SmallDisk } from '../../../test/support/small-disk.ts';
import { until } from '../../../test/support/until.ts';
import { diskFull } from '../errors.ts';
import { LmdbStore } from '../stores/lmdb.ts';
import { LISTENED } from './committed.ts';
import { DiskAcceptor } from './disk-acceptor.ts';
import { RecordTable } from './record-table.ts';
import { AcceptorServer } from './server.ts';

afterEach(() => vi.restoreAllMocks());

const FULL = { code: 'DISK_FULL' };
const JOURNAL_BYTES = 64 * 1024;

async function openFor(directory: string, journalBytes = JOURNAL_BYTES): Promise<DiskAcceptor> {
  const acceptor = await DiskAcceptor.open({ directory, journalBytes });
  onTestFinished(() => acceptor.close().catch(() => undefined));
  return acceptor;
}

/** What kill -9 leaves. */
async function afterKill(directory: string): Promise<DiskAcceptor> {
  const copy = temporaryDirectory();
  cpSync(directory, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  return openFor(copy);
}

async function valuesIn(acceptor: DiskAcceptor, count: number): Promise<readonly unknown[]> {
  const keys = Array.from({ length: count }, (_, at) => `k${at}`);
  const states = await acceptor.handle(
    keys.map((key) => query(key)),
    0,
  );
  return states.map((state) => valueIn(state));
}

/** Writes one register after another until it is refused; returns how many were answered. */
async function filled(acceptor: DiskAcceptor, value: string, most: number, ballot = 1): Promise<number> {
  for (let count = 0; count < most; count += 1) {
    try {
      expect(typesOf(await acceptor.handle([accept(`k${count}`, ballot, value)], 0))).toEqual(['2b']);
    } catch (error) {
      expect(error).toMatchObject(FULL);
      return count;
    }
  }
  throw new Error('it was never refused');
}

/** Checkpoints find no room, until it is restored. */
function noRoom(directory: string): { restore(): void } {
  const save = vi.spyOn(RecordTable.prototype, 'save').mockRejectedValue(diskFull(directory));
  return { restore: () => save.mockRestore() };
}

const VALUE = 'x'.repeat(1000);

describe('an acceptor whose checkpoints find no room', () => {
  test('goes on as long as its journal has room, then refuses, answers questions, and goes on by itself', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    const room = noRoom(directory);
    const count = await filled(acceptor, VALUE, 100);
    expect(count).toBeGreaterThan(10);
    // What was refused has left nothing behind, neither a promise nor a value.
    expect(await errorOf(acceptor.handle([promise('k0', 9), accept('k0', 9, 'refused')], 0))).toMatchObject(
      FULL,
    );
    expect(await valuesIn(acceptor, count + 1)).toEqual([...Array(count).fill(VALUE), undefined]);
    expect(await errorOf(acceptor.list('', 10))).toMatchObject(FULL);
    expect(acceptor.isBroken).toBe(false);
    expect(await valuesIn(await afterKill(directory), count)).toEqual(Array(count).fill(VALUE));
    room.restore();
    expect(typesOf(await acceptor.handle([accept('k0', 2, 'again'), promise('k1', 3)], 0))).toEqual([
      '2b',
      '1b',
    ]);
    expect(await acceptor.list('', 1000)).toHaveLength(count);
    expect(await valuesIn(await afterKill(directory), 2)).toEqual(['again', VALUE]);
  });

  test('answers questions that wait together with what it refuses', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    noRoom(directory);
    const count = await filled(acceptor, VALUE, 100);
    const first = acceptor.handle([accept('other', 1, VALUE)], 0);
    const [asked, refused] = await Promise.allSettled([
      acceptor.handle([query('k0')], 0),
      acceptor.handle([accept(`k${count}`, 1, VALUE)], 0),
      first,
    ]);
    expect(asked).toMatchObject({ status: 'fulfilled' });
    expect(refused).toMatchObject({ status: 'rejected', reason: FULL });
  });

  test('keeps what a checkpoint had begun to save, and saves the newer of it', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('k0', 1, 'first')], 0);
    let fail = (): void => {};
    const failing = new Promise<void>((_, reject) => {
      fail = () => reject(Object.assign(new Error('no room'), { code: 28 }));
    });
    const save = vi.spyOn(RecordTable.prototype, 'save').mockImplementationOnce(() => failing);
    const listed = acceptor.list('', 10).catch((error: unknown) => error);
    await until('the checkpoint', () => save.mock.calls.length > 0);
    await acceptor.handle([accept('k0', 2, 'second')], 0);
    fail();
    expect(await listed).toMatchObject(FULL);
    save.mockRestore();
    await acceptor.list('', 10);
    await acceptor.close();
    expect(await valuesIn(await openFor(directory), 1)).toEqual(['second']);
  });

  test('closes, and has everything when it is opened again', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    const room = noRoom(directory);
    const count = await filled(acceptor, VALUE, 100);
    await acceptor.close();
    room.restore();
    expect(await valuesIn(await openFor(directory), count)).toEqual(Array(count).fill(VALUE));
  });
});

test('an append that found no room is told to nobody before a checkpoint has what it had', async () => {
  const directory = temporaryDirectory();
  const acceptor = await openFor(directory, 256 * 1024);
  await acceptor.handle([accept('k0', 1, 'answered')], 0);
  const large = 'x'.repeat(40_000);
  await failNextWrite('no space left on device', 'ENOSPC');
  const room = noRoom(directory);
  expect(await errorOf(acceptor.handle([promise('k0', 5), accept('k1', 1, large)], 0))).toMatchObject(FULL);
  // It is in memory, and perhaps on the disk; who asks now is not told.
  expect(await errorOf(acceptor.handle([query('k1')], 0))).toMatchObject(FULL);
  expect(await errorOf(acceptor.handle([accept('k1', 1, large)], 0))).toMatchObject(FULL);
  expect(acceptor.isBroken).toBe(false);
  room.restore();
  expect(await valuesIn(acceptor, 2)).toEqual(['answered', large]);
  const survivor = await afterKill(directory);
  expect(await valuesIn(survivor, 2)).toEqual(['answered', large]);
  expect(typesOf(await survivor.handle([promise('k0', 4)], 0))).toEqual(['nak']);
});

/** Ends with another status when somebody does not hear of a rejection. */
const COMMITTING = `
  import { statfsSync, writeFileSync } from 'node:fs';
  import { join } from 'node:path';
  import { open } from 'lmdb';
  const [disk, options] = process.argv.slice(1);
  const database = open({ path: join(disk, 'database'), noSubdir: false, overlappingSync: false, ...JSON.parse(options) });
  await database.put('k', 'x');
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize));
  const batch = database.batch(() => {
    for (let at = 0; at < 200; at += 1) void database.put('k' + at, 'x'.repeat(1000));
  });
  await batch.then(() => console.log('taken'), (error) => {
    error.commitError?.catch(() => {});
    console.log('rejected');
  });
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  process.exit();
`;

describe('on a file system that is really full', () => {
  test('an acceptor refuses with a code, says so, and goes on when there is room, without a restart', async (context) => {
    const disk = SmallDisk.mount(context, 12);
    const directory = join(disk.path, 'acceptor');
    const acceptor = await openFor(directory);
    const server = await AcceptorServer.listen(acceptor, { host: '127.0.0.1', port: 0 });
    onTestFinished(() => server.close());
    const health = async (): Promise<unknown> => (await fetch(`${server.url}/health`)).json();
    let most = 0;
    for (let round = 0; round < 3; round += 1) {
      disk.fill(600_000);
      const count = await filled(acceptor, `${round}`.repeat(2000), 2000, 1 + 10 * round);
      expect(await health()).toMatchObject({ status: 'full' });
      disk.free();
      expect(await health()).toMatchObject({ status: 'ok' });
      // The others are saved although nobody writes them again.
      expect(typesOf(await acceptor.handle([accept('k0', 2 + 10 * round, 'again')], 0))).toEqual(['2b']);
      expect(await acceptor.list('', 5000)).toHaveLength(Math.max(most, count));
      const expected = ['again', ...Array(count - 1).fill(`${round}`.repeat(2000))];
      expect(await valuesIn(await afterKill(directory), count)).toEqual(expected);
      most = Math.max(most, count);
    }
    expect(acceptor.isBroken).toBe(false);
  });

  test('an acceptor that is an old copy is retired for good all the same: for that there is the reserve', async (context) => {
    const disk = SmallDisk.mount(context, 12);
    const directory = join(disk.path, 'acceptor');
    const acceptor = await openFor(directory);
    disk.fill(600_000);
    await acceptor.retire(acceptor.id, { sequence: 9, set: 1 }, { sequence: 3, set: 1 });
    await acceptor.close();
    disk.free();
    const again = await openFor(directory);
    expect(await errorOf(again.handle([query('k0')], 0))).toMatchObject({ code: 'ACCEPTOR_BEHIND' });
  });

  test('an acceptor does not start, with a code, and starts with everything when there is room', async (context) => {
    const disk = SmallDisk.mount(context, 12);
    const directory = join(disk.path, 'acceptor');
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('k0', 1, 'v')], 0);
    await acceptor.close();
    disk.fill();
    expect(await errorOf(DiskAcceptor.open({ directory, journalBytes: JOURNAL_BYTES }))).toMatchObject(FULL);
    expect(await errorOf(DiskAcceptor.open({ directory: join(disk.path, 'new') }))).toMatchObject(FULL);
    disk.free();
    expect(await valuesIn(await openFor(directory), 1)).toEqual(['v']);
  });

  // In a process of its own: the library's own handling of such an error is not to be trusted (directory/room.ts).
  test('a commit that takes the last of the reserve is rejected, and no other promise is', (context) => {
    const disk = SmallDisk.mount(context, 4);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', COMMITTING, disk.path, JSON.stringify(LISTENED)],
      { encoding: 'utf8' },
    );
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: 'rejected\n' });
  });

  test('a store of its own refuses with a code, and goes on when there is room', async (context) => {
    const disk = SmallDisk.mount(context, 12);
    const store = new LmdbStore(join(disk.path, 'store'));
    onTestFinished(() => store.close());
    const [first] = await store.write([{ key: 'k', text: 'before', expected: undefined }]);
    disk.fill(600_000);
    expect(() => new LmdbStore(join(disk.path, 'another'))).toThrow(expect.objectContaining(FULL) as Error);
    const again = { key: 'k', text: VALUE, expected: (first as { version: number }).version };
    for (let time = 0; time < 3; time += 1) expect(await errorOf(store.write([again]))).toMatchObject(FULL);
    expect(await store.read(['k'])).toMatchObject([{ text: 'before' }]);
    disk.free();
    expect(await store.write([again])).toMatchObject([{ result: 'written' }]);
  });

  test('proposers are told, and go on when there is room: nothing is counted twice or lost', async (context) => {
    const disk = SmallDisk.mount(context, 24);
    const acceptors = await Promise.all(['a', 'b'].map((name) => openFor(join(disk.path, name))));
    const servers = await Promise.all(
      acceptors.map((acceptor) => AcceptorServer.listen(acceptor, { host: '127.0.0.1', port: 0 })),
    );
    onTestFinished(async () => {
      await Promise.all(servers.map((server) => server.close()));
    });
    const store = `lmdb:${join(disk.path, 'c')}`;
    const cluster = await openClusterFor({ acceptors: [...servers.map(({ url }) => url), store] });
    let written = 0;
    let certain = 0;
    let uncertain = 0;
    const add = async (): Promise<boolean> => {
      const { outcome } = await cluster.change('counter', increment, { timeoutMs: 700 });
      if (outcome === 'committed') certain += 1;
      if (outcome === 'unknown') uncertain += 1;
      return outcome === 'committed';
    };
    // Large values, so that the journals are soon full.
    const large = async (at: number): Promise<string> => {
      const { outcome } = await cluster.change(`large-${at}`, () => `${(written += 1)}`.padEnd(3000), {
        timeoutMs: 700,
      });
      return outcome;
    };
    for (let round = 0; round < 2; round += 1) {
      disk.fill(500_000);
      // That nothing is committed in its time says little on a busy machine: the acceptors say themselves that they are full.
      await until('a refusal', async () => {
        const outcomes = await Promise.all(Array.from({ length: 20 }, (_, at) => large(at)));
        const isAdded = await add();
        return !isAdded && !outcomes.includes('committed') && acceptors.every(({ isFull }) => isFull);
      });
      disk.free();
      await until('a change after the disk had room', add);
    }
    const counted = Number((await cluster.read<number>('counter')).value);
    expect(counted).toBeGreaterThanOrEqual(certain);
    expect(counted).toBeLessThanOrEqual(certain + uncertain);
  });
});
