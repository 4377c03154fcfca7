import { cpSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { randomFrom } from '../../../test/caspaxos/lines.ts';
import { accept, ballot, promise, query, typesOf, valueIn } from '../../../test/conformance/messages.ts';
import { answer, EMPTY_RECORD, type RegisterRecord, type RegisterRequest } from '../core/index.ts';
import { registerKey } from '../stores/keys.ts';
import { DiskAcceptor, type DiskAcceptorOptions } from './disk-acceptor.ts';

const SMALL = { journalBytes: 64 * 1024 };

async function openFor(
  directory: string,
  options: Partial<DiskAcceptorOptions> = SMALL,
): Promise<DiskAcceptor> {
  const acceptor = await DiskAcceptor.open({ directory, ...options });
  onTestFinished(() => acceptor.close().catch(() => undefined));
  return acceptor;
}

/** What is on disk at this moment, as after kill -9. */
function crashed(directory: string): string {
  const copy = `${directory}.crashed`;
  cpSync(directory, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  return copy;
}

/** Reaches into the database while nobody has it open. */
async function tamper(
  directory: string,
  change: (database: ReturnType<typeof openLmdb<string, string>>) => Promise<unknown>,
): Promise<void> {
  const database = openLmdb<string, string>({ path: directory, encoding: 'string', noSubdir: false });
  await change(database);
  await database.close();
}

describe('an acceptor on disk', () => {
  test('that is killed has everything it answered', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([promise('a', 3), accept('b', 2, 'v'), accept('c', 1, 'w')], 0);
    await acceptor.handle([promise('b', 7)], 0);
    const survivor = await openFor(crashed(directory));
    const states = await survivor.handle([query('a'), query('b'), query('c')], 0);
    expect(states.map((state) => valueIn(state))).toEqual([undefined, 'v', 'w']);
    const refusals = await survivor.handle([promise('a', 2), promise('b', 6)], 0);
    expect(refusals).toMatchObject([{ promised: ballot(3) }, { promised: ballot(7) }]);
    expect(survivor.sequence).toBeGreaterThanOrEqual(acceptor.sequence);
  });

  test('that is killed between a promise and a checkpoint does not go back to what the database held', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('k', 1, 'v')], 0);
    // The database holds ballot 1; the journal alone has the promise of 5, and then the next accepted value.
    await acceptor.list('', 1);
    await acceptor.handle([promise('k', 5)], 0);
    const promised = await openFor(crashed(directory));
    expect(await promised.handle([promise('k', 4)], 0)).toMatchObject([{ type: 'nak', promised: ballot(5) }]);
    await promised.close();
    await acceptor.handle([accept('k', 5, 'w')], 0);
    const accepted = await openFor(crashed(directory));
    expect(valueIn((await accepted.handle([query('k')], 0))[0])).toBe('w');
  });

  test.each([
    ['is empty', 0],
    ['was cut short', 2 * 4096],
  ])('does not start when its database %s: it would have forgotten what it promised', async (_, bytes) => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('k', 1, 'v')], 0);
    await acceptor.close();
    truncateSync(join(directory, 'data.mdb'), bytes);
    for (let start = 0; start < 2; start += 1)
      expect(await errorOf(DiskAcceptor.open({ directory, ...SMALL }))).toMatchObject({
        code: 'DATA_CORRUPT',
        message: expect.stringContaining('will not start'),
      });
  });

  test('starts although one record is corrupt under a promise in its journal, and fails that register only', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('bad', 1, 'v'), accept('good', 1, 'v')], 0);
    await acceptor.list('', 1);
    await acceptor.handle([promise('bad', 5), promise('good', 5)], 0);
    const copy = crashed(directory);
    await tamper(copy, (database) => database.put(registerKey('bad'), 'garbage'));
    const survivor = await openFor(copy);
    const replies = await survivor.handle([promise('bad', 6), promise('good', 4)], 0);
    expect(replies).toMatchObject([
      { type: 'failed', code: 'CORRUPT_RECORD' },
      { type: 'nak', promised: ballot(5) },
    ]);
  });

  test.each([1, 2, 3, 4])(
    'is what the pure roles are, through checkpoints, crashes and restarts: seed %i',
    async (seed) => {
      const random = randomFrom(seed);
      const pick = (count: number): number => Math.floor(random() * count);
      const model = new Map<string, RegisterRecord>();
      let directory = temporaryDirectory();
      let acceptor = await openFor(directory, { ...SMALL, cacheBytes: 2000 });
      for (let batch = 0; batch < 120; batch += 1) {
        const requests = Array.from({ length: 1 + pick(8) }, (): RegisterRequest => {
          const key = `k${pick(12)}`;
          const counter = 1 + batch + pick(4) - pick(4);
          const kind = pick(5);
          if (kind === 0) return query(key);
          if (kind <= 2) return promise(key, Math.max(1, counter));
          return accept(key, Math.max(1, counter), `${key}${counter}`.repeat(1 + pick(60)));
        });
        const expected = requests.map((request) => {
          const { record, reply } = answer(model.get(request.key) ?? EMPTY_RECORD, request, 0);
          model.set(request.key, record);
          return reply;
        });
        expect(await acceptor.handle(requests, 0)).toEqual(expected);
        const fate = pick(20);
        if (fate === 0) {
          directory = crashed(directory);
          acceptor = await openFor(directory, { ...SMALL, cacheBytes: 2000 });
        } else if (fate === 1) {
          await acceptor.close();
          acceptor = await openFor(directory, { ...SMALL, cacheBytes: 2000 });
        } else if (fate === 2) {
          await acceptor.list('', 3);
        }
      }
      expect(acceptor.isBroken).toBe(false);
    },
  );

  test('takes more at once than one journal record can hold', async () => {
    const acceptor = await openFor(temporaryDirectory());
    const value = 'x'.repeat(3000);
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, at) => acceptor.handle([accept(`k${at}`, 1, value)], 0)),
    );
    expect(replies.flat().every(({ type }) => type === '2b')).toBe(true);
    expect(acceptor.isBroken).toBe(false);
    expect(acceptor.counters.checkpoints).toBeGreaterThan(0);
    expect(await acceptor.list('', 100)).toHaveLength(60);
  });

  test('refuses a batch that no journal record can hold, changes nothing, and goes on', async () => {
    const acceptor = await openFor(temporaryDirectory());
    const { sequence } = acceptor;
    expect(await errorOf(acceptor.handle([accept('k', 1, 'x'.repeat(64 * 1024))], 0))).toMatchObject({
      code: 'REQUEST_TOO_LARGE',
    });
    expect(acceptor.sequence).toBe(sequence);
    expect(valueIn((await acceptor.handle([query('k')], 0))[0])).toBeUndefined();
    expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
  });

  test('answers everything that was asked before it closes', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    const work = Array.from({ length: 50 }, (_, at) => acceptor.handle([accept(`k${at}`, 1, 'v')], 0));
    await acceptor.close();
    expect((await Promise.all(work)).flat().every(({ type }) => type === '2b')).toBe(true);
    const again = await openFor(directory);
    expect(await again.list('', 100)).toHaveLength(50);
  });
});

describe('a data directory', () => {
  test('belongs to one acceptor at a time, by whatever name', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    expect(await errorOf(DiskAcceptor.open({ directory, ...SMALL }))).toMatchObject({ code: 'DATA_LOCKED' });
    const other = `${directory}.link`;
    symlinkSync(directory, other);
    onTestFinished(() => rmSync(other));
    expect(await errorOf(DiskAcceptor.open({ directory: other, ...SMALL }))).toMatchObject({
      code: 'DATA_LOCKED',
    });
    expect(typesOf(await acceptor.handle([promise('k', 1)], 0))).toEqual(['1b']);
    await acceptor.close();
    await openFor(directory);
  });

  test('whose journal lost what was answered is refused, and left as it is', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('k', 1, 'v')], 0);
    const copy = crashed(directory);
    rmSync(join(copy, 'journal-1'));
    for (let time = 0; time < 2; time += 1) {
      expect(await errorOf(DiskAcceptor.open({ directory: copy, ...SMALL }))).toMatchObject({
        code: 'DATA_CORRUPT',
      });
    }
  });

  test('with a corrupt record fails that register only', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('good', 1, 'v'), accept('bad', 1, 'v')], 0);
    await acceptor.close();
    await tamper(directory, (database) => database.put(registerKey('bad'), 'garbage'));
    const again = await openFor(directory);
    const replies = await again.handle([query('good'), promise('bad', 9), promise('good', 9)], 0);
    expect(typesOf(replies)).toEqual(['state', 'failed', '1b']);
    expect(replies[1]).toMatchObject({ code: 'CORRUPT_RECORD' });
    await again.close();
    await tamper(directory, async (database) => expect(database.get(registerKey('bad'))).toBe('garbage'));
  });

  test('with a changed digit in its checkpoint is refused: it would skip records that it answered', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('a', 1, 'v')], 0);
    await acceptor.close();
    await tamper(directory, (database) =>
      database.put(
        'checkpoint',
        database.get('checkpoint')!.replace(/\d+(?=,"marked)/, (digits) => `${Number(digits) + 5}`),
      ),
    );
    await expect(DiskAcceptor.open({ directory })).rejects.toMatchObject({ code: 'CORRUPT_RECORD' });
  });

  test('whose checkpoint an earlier version wrote, without a checksum, starts, and writes the present one', async () => {
    const directory = temporaryDirectory();
    const acceptor = await openFor(directory);
    await acceptor.handle([accept('a', 1, 'v')], 0);
    const { sequence } = acceptor;
    await acceptor.close();
    await tamper(directory, (database) => database.put('checkpoint', `${sequence}`));
    const again = await openFor(directory);
    await again.handle([accept('a', 2, 'w')], 0);
    await again.close();
    await tamper(directory, async (database) =>
      expect(database.get('checkpoint')).toMatch(/^baton1 [0-9a-f]{8} \{"checkpoint":\d+,"marked":true\}$/),
    );
  });

  test.each([
    ['garbage', 'CORRUPT_RECORD'],
    ['baton9 00000000 {}', 'FORMAT_NEWER'],
  ])('with the identity %j is refused with %s', async (text, code) => {
    const directory = temporaryDirectory();
    await (await openFor(directory)).close();
    await tamper(directory, (database) => database.put('identity', text));
    expect(await errorOf(DiskAcceptor.open({ directory, ...SMALL }))).toMatchObject({ code });
    await tamper(directory, async (database) => expect(database.get('identity')).toBe(text));
  });

  test('that cannot be made is a clear error', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, 'not a directory');
    const directory = join(file, 'data');
    expect(await errorOf(DiskAcceptor.open({ directory, ...SMALL }))).toMatchObject({ code: 'STORE_FAILED' });
  });
});
