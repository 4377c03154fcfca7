/** What makes a Redis server forget, on the real one: transactions in its file, settings that are changed while it is used. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RedisStore, StoreAcceptor } from 'baton/caspaxos';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../caspaxos/clusters.ts';
import { accept, promise, typesOf } from '../conformance/messages.ts';
import { newPlace } from '../conformance/store.ts';
import { findProgram, needProgram, packageRoot } from '../support/programs.ts';
import { until } from '../support/until.ts';
import { openStoreAt } from './bad-days.ts';
import { isRetired, restarts, WriteLoad } from './restarts.ts';
import { startRedis } from './servers/redis.ts';
import type { ServerProcess } from './servers/server.ts';

/** Its default user is off, and the library's user may do what the documentation says. */
let guarded: ServerProcess;
let open: ServerProcess;

beforeAll(async () => {
  if (findProgram('redis-server').path === undefined) return;
  const users = ['--user default off', '--user admin on nopass ~* &* +@all', `--user ${documentedUser()}`];
  guarded = await startRedis(users, 'baton:PASSWORD');
  open = await startRedis();
});
afterAll(async () => {
  await guarded?.close();
  await open?.close();
});
beforeEach((context) => void needProgram(context, 'redis-server'));

/** As docs/acceptors.md has it, for the places of tests. */
function documentedUser(): string {
  const text = readFileSync(join(packageRoot(), 'docs/acceptors.md'), 'utf8');
  const [, rule = ''] = /ACL SETUSER (baton [^`]*?)\n```/s.exec(text) ?? [];
  return rule
    .replaceAll("'", '')
    .replace('~{baton}:*', '~{*')
    .replace(/\\?\s+/g, ' ')
    .trim();
}

async function command(server: ServerProcess, ...words: string[]): Promise<unknown> {
  const [, port = ''] = /:(\d+)\?/.exec(server.urlOf('')) ?? [];
  const user = server === guarded ? { username: 'admin', password: 'any' } : {};
  const client = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 2, ...user });
  client.on('error', () => {});
  await client.connect();
  try {
    return await client.sendCommand(words);
  } finally {
    client.destroy();
  }
}

function storeAt(server: ServerProcess, place: string): RedisStore {
  return openStoreAt(server, place) as RedisStore;
}

async function rewritten(server: ServerProcess): Promise<void> {
  const before = await rewrites(server);
  await command(server, 'BGREWRITEAOF');
  await until('the file is written anew', async () => (await rewrites(server)) > before);
}

async function rewrites(server: ServerProcess): Promise<number> {
  const info = String(await command(server, 'INFO', 'persistence'));
  return /aof_rewrite_in_progress:0/.test(info) ? Number(/aof_rewrites:(\d+)/.exec(info)![1]) : -1;
}

restarts('redis with the default user off', () => guarded);

describe('the append-only file', () => {
  test.each(['stop', 'kill'] as const)(
    'written anew, and more after it, is whole after a %s',
    async (ending) => {
      const load = await WriteLoad.begin(guarded, newPlace('rewritten'));
      await load.interruptedBy(async () => {
        await rewritten(guarded);
        await guarded[ending]();
        await guarded.start();
      });
      await load.isAllThere();
    },
  );

  test('holds no transaction, whatever is asked', async () => {
    const place = newPlace('single');
    const store = storeAt(guarded, place);
    const acceptor = new StoreAcceptor(store);
    await acceptor.describe();
    const keys = Array.from({ length: 2500 }, (_, at) => `k${at}`);
    for (const counter of [1, 2]) {
      const asked = keys.flatMap((key) => [promise(key, counter), accept(key, counter, 'v')]);
      expect(new Set(typesOf(await acceptor.handle(asked, 0)))).toEqual(new Set(['1b', '2b']));
    }
    expect((await acceptor.list('', 5000)).length).toBe(keys.length);
    const [, directory] = (await command(guarded, 'CONFIG', 'GET', 'dir')) as string[];
    const folder = join(directory!, 'appendonlydir');
    const logged = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1'));
    expect(logged.join('')).toContain(`{${place}}:documents`);
    expect(logged.join('')).not.toMatch(/\r\nMULTI\r\n/);
  });
});

describe('documents of an earlier version', () => {
  const COUNT = 4500;
  const keyOf = (at: number): string => (at === 0 ? 'identity' : `register/${at}`);

  /** As three keys. */
  async function written(place: string, count: number): Promise<void> {
    for (let from = 0; from < count; from += 500) {
      const some = Array.from({ length: Math.min(500, count - from) }, (_, at) => from + at);
      const fields = (valueOf: (at: number) => string): string[] =>
        some.flatMap((at) => [keyOf(at), valueOf(at)]);
      await command(guarded, 'HSET', `{${place}}:texts`, ...fields((at) => `text\n${at}`));
      await command(guarded, 'HSET', `{${place}}:versions`, ...fields((at) => `version${at}`));
      await command(guarded, 'ZADD', `{${place}}:keys`, ...some.flatMap((at) => ['0', keyOf(at)]));
    }
  }

  async function areThere(place: string): Promise<void> {
    const store = storeAt(guarded, place);
    const keys = Array.from({ length: COUNT }, (_, at) => keyOf(at));
    const documents = await until('the server answers', () => store.read(keys));
    expect(documents).toEqual(keys.map((_, at) => ({ text: `text\n${at}`, version: `version${at}` })));
    expect((await store.list('', 2 * COUNT)).toSorted()).toEqual(keys.toSorted());
  }

  test('are moved, and are there after a restart; that version does not take what is left for whole', async () => {
    const place = newPlace('earlier');
    await written(place, COUNT);
    await areThere(place);
    const held = await Promise.all([
      command(guarded, 'HLEN', `{${place}}:texts`),
      command(guarded, 'HLEN', `{${place}}:versions`),
    ]);
    expect(held).toEqual([COUNT + 1, COUNT]);
    for (const ending of ['stop', 'kill'] as const) {
      await guarded[ending]();
      await guarded.start();
      await areThere(place);
    }
    const [result] = await storeAt(guarded, place).write([
      { key: keyOf(7), text: 'new', expected: 'version7' },
    ]);
    expect(result?.result).toBe('written');
  });

  test('are moved on where somebody else was interrupted', async () => {
    const place = newPlace('earlier');
    await written(place, COUNT);
    await command(guarded, 'HSET', `{${place}}:texts`, '', 'moving');
    await command(guarded, 'HSET', `{${place}}:documents`, keyOf(5), 'version5\ntext\n5');
    await areThere(place);
  });

  test('that are not whole are refused, and so are those beside newer ones', async () => {
    const refused = { code: 'STORE_FAILED', message: expect.stringContaining('an earlier version of Baton') };
    const lacking = newPlace('earlier');
    await written(lacking, 3);
    await command(guarded, 'DEL', `{${lacking}}:versions`);
    const beside = newPlace('earlier');
    const before = storeAt(guarded, beside);
    await before.write([{ key: 'identity', text: 'newer', expected: undefined }]);
    await written(beside, 3);
    for (const place of [lacking, beside]) {
      const store = storeAt(guarded, place);
      expect(await errorOf(store.read(['identity']))).toMatchObject(refused);
      expect(await errorOf(store.list('', 9))).toMatchObject(refused);
    }
    // A connection that is there already notices it, too.
    expect(await errorOf(before.read(['identity']))).toMatchObject({ code: 'UNREACHABLE' });
    await until('it is refused for what it is', async () => {
      const { code } = await errorOf(before.read(['identity']));
      return code === 'STORE_FAILED';
    });
  });
});

describe('a setting that is changed while it is used', () => {
  const write = { key: 'k', text: 'x', expected: undefined };
  const complaint = (what: string): object => ({
    code: 'STORE_FAILED',
    message: expect.stringContaining(what),
  });

  test.each([
    ['appendonly', 'no', 'yes'],
    ['appendfsync', 'everysec', 'always'],
    ['no-appendfsync-on-rewrite', 'yes', 'no'],
  ])(
    '%s %s is noticed by the next call, for reads and for writes; mended, all is well',
    async (name, value, usual) => {
      const place = newPlace('changed');
      const stores = [storeAt(open, place), storeAt(open, place)] as const;
      for (const store of stores) await until('it is connected', () => store.read(['k']));
      await command(open, 'CONFIG', 'SET', name, value);
      onTestFinished(async () => void (await command(open, 'CONFIG', 'SET', name, usual)));
      expect(await errorOf(stores[0].read(['k']))).toMatchObject(complaint(`${name} ${usual}.`));
      expect(await errorOf(stores[1].write([write]))).toMatchObject(complaint(`${name} ${usual}.`));
      expect(await errorOf(stores[1].list('', 1))).toMatchObject(complaint(`${name} ${usual}.`));
      await command(open, 'CONFIG', 'SET', name, usual);
      for (const store of stores) await until('it is well again', () => store.read(['k']));
    },
  );

  test('that evicts is noticed by a look; mended, all is well', async () => {
    const store = storeAt(open, newPlace('changed'));
    await until('it is connected', () => store.read(['k']));
    await store.lookAgain();
    await command(open, 'CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await command(open, 'CONFIG', 'SET', 'maxmemory', '500mb');
    onTestFinished(async () => void (await command(open, 'CONFIG', 'SET', 'maxmemory', '0')));
    expect(await errorOf(store.lookAgain())).toMatchObject(complaint('maxmemory-policy noeviction'));
    expect(await errorOf(store.read(['k']))).toMatchObject(complaint('maxmemory-policy noeviction'));
    await command(open, 'CONFIG', 'SET', 'maxmemory', '0');
    await until('it is well again', () => store.lookAgain().then(() => true));
    expect(await store.write([write])).toMatchObject([{ result: 'written' }]);
  });

  test('loses no answered write when the server is killed; who saw it does not use that server again', async () => {
    const place = newPlace('changed');
    const load = await WriteLoad.begin(open, place);
    const witness = storeAt(open, place);
    const acceptor = new StoreAcceptor(witness);
    await acceptor.describe();
    expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
    await load.interruptedBy(async () => {
      await command(open, 'CONFIG', 'SET', 'appendonly', 'no');
      expect(await errorOf(witness.lookAgain())).toMatchObject(complaint('appendonly yes'));
      await open.kill();
      await open.start();
    });
    await load.isAllThere(['register/k']);
    await isRetired(open, place, acceptor, 'does not write its data to disk as it changes');
  });
});
