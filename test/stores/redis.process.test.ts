import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { openAcceptor, openCluster, RedisStore, StoreAcceptor } from 'baton/caspaxos';
import { initAuthority, issueInto } from 'baton/server';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { errorOf } from '../caspaxos/clusters.ts';
import { newDirectory } from '../caspaxos/directories.ts';
import { acceptorConformance } from '../conformance/acceptor.ts';
import { accept, promise, typesOf } from '../conformance/messages.ts';
import { newPlace, storeConformance, type StoreUnderTest } from '../conformance/store.ts';
import { storeAcceptorConformance } from '../conformance/store-acceptor.ts';
import { findProgram, needProgram } from '../support/programs.ts';
import { until } from '../support/until.ts';
import { badDays } from './bad-days.ts';
import { restarts } from './restarts.ts';
import { startRedis } from './servers/redis.ts';
import { freePort, type ServerProcess } from './servers/server.ts';

const TIMEOUT_MS = 30_000;
const certificates = newDirectory();
let server: ServerProcess;
let tlsPort = 0;
let administrator: ReturnType<typeof createClient> | undefined;

beforeAll(async () => {
  if (findProgram('redis-server').path === undefined) return;
  await initAuthority(certificates);
  await issueInto(certificates, { name: 'redis', hosts: ['127.0.0.1'] });
  tlsPort = await freePort();
  const file = (name: string): string => join(certificates, name);
  server = await startRedis([
    `--tls-port ${tlsPort}`,
    `--tls-ca-cert-file ${file('ca.pem')}`,
    `--tls-cert-file ${file('redis.pem')}`,
    `--tls-key-file ${file('redis.key')}`,
  ]);
});
afterAll(async () => {
  await server?.close();
  rmSync(certificates, { recursive: true, force: true });
});
beforeEach((context) => void needProgram(context, 'redis-server'));

function openAt(url: string, timeoutMs = TIMEOUT_MS): RedisStore {
  const store = new RedisStore(url, { timeoutMs });
  onTestFinished(() => store.close());
  return store;
}

/** The URL of a new place, with other credentials, another port, more options. */
function urlWith({ credentials = '', port = 0, options = '' }): string {
  const plain = server.urlOf(newPlace('redis'));
  const at = port === 0 ? plain : plain.replace(/:\d+/, `:${port}`);
  return at.replace('//', `//${credentials === '' ? '' : `${credentials}@`}`) + options;
}

/** Carries commands out, one after another, as an administrator would. */
async function command(...commands: readonly (readonly string[])[]): Promise<unknown[]> {
  administrator ??= createClient({ url: server.urlOf('').split('?')[0]!, RESP: 2 });
  const client = administrator.duplicate();
  client.on('error', () => {});
  await client.connect();
  const answers: unknown[] = [];
  try {
    for (const words of commands) answers.push(await client.sendCommand([...words]));
  } finally {
    client.destroy();
  }
  return answers;
}

async function withSetting(name: string, value: string, usual: string): Promise<void> {
  await command(['CONFIG', 'SET', name, value]);
  onTestFinished(async () => void (await command(['CONFIG', 'SET', name, usual])));
}

const redis: StoreUnderTest = {
  open: async (place) => new RedisStore(server.urlOf(place), { timeoutMs: TIMEOUT_MS }),
  empty: async (place) => void (await command(['DEL', `{${place}}:documents`])),
  snapshot: async (place) => {
    const key = `{${place}}:documents`;
    await command(['COPY', key, `${key}.copy`]);
    return async () => void (await command(['DEL', key], ['COPY', `${key}.copy`, key]));
  },
};

storeConformance('redis', redis);
storeAcceptorConformance('redis', redis);
acceptorConformance('redis', {
  async open(place) {
    const acceptor = openAcceptor(server.urlOf(place), { timeoutMs: TIMEOUT_MS });
    await acceptor.describe();
    return acceptor;
  },
});
badDays('redis', () => server);
restarts('redis', () => server);

describe('what a phase costs', () => {
  test('is one request while nobody interferes, for any number of registers', async () => {
    const store = openAt(urlWith({}));
    const acceptor = new StoreAcceptor(store);
    await acceptor.describe();
    const keys = Array.from({ length: 100 }, (_, at) => `k${at}`);
    const ask = (counter: number) =>
      acceptor.handle(
        keys.map((key) => promise(key, counter)),
        0,
      );
    await ask(1);
    const before = store.requests;
    await ask(2);
    expect(store.requests).toBe(before + 1);
    await acceptor.handle(
      keys.map((key) => accept(key, 2, 'v')),
      0,
    );
    expect(store.requests).toBe(before + 2);
  });

  test('is one more after the server forgot the scripts, and nothing is done twice', async () => {
    const store = openAt(urlWith({}));
    const [first] = await store.write([{ key: 'k', text: 'one', expected: undefined }]);
    await command(['SCRIPT', 'FLUSH']);
    const before = store.requests;
    const expected = (first as { version: string }).version;
    expect(await store.write([{ key: 'k', text: 'two', expected }])).toMatchObject([{ result: 'written' }]);
    expect(store.requests).toBe(before + 2);
  });
});

describe('a server that does not keep what it answers is refused', () => {
  test.each([
    ['appendfsync', 'everysec', 'always'],
    ['no-appendfsync-on-rewrite', 'yes', 'no'],
  ])('with %s %s', async (name, value, usual) => {
    await withSetting(name, value, usual);
    const error = await errorOf(openAt(urlWith({})).read(['k']));
    expect(error).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining(`${name} ${usual}.`),
    });
    const vouched = openAt(urlWith({ options: '&durability=unchecked' }));
    expect(await vouched.read(['k'])).toEqual([undefined]);
  });

  test('without an append-only file', async () => {
    await withSetting('appendonly', 'no', 'yes');
    const error = await errorOf(openAt(urlWith({})).read(['k']));
    expect(error).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('appendonly yes'),
    });
  });

  test('when it evicts; a limit alone, or a policy for keys with an expiry, is fine', async () => {
    await until('the file is written', () => openAt(urlWith({})).read(['k']));
    await withSetting('maxmemory-policy', 'allkeys-lru', 'noeviction');
    expect(await openAt(urlWith({})).read(['k'])).toEqual([undefined]);
    await withSetting('maxmemory', '500mb', '0');
    const error = await errorOf(openAt(urlWith({})).read(['k']));
    expect(error).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('maxmemory-policy noeviction'),
    });
    await command(['CONFIG', 'SET', 'maxmemory-policy', 'volatile-lru']);
    expect(await openAt(urlWith({})).read(['k'])).toEqual([undefined]);
  });

  test('with a full memory it is read from, and not written to', async () => {
    const store = openAt(urlWith({}));
    const write = { key: 'k', text: 'x', expected: undefined };
    await store.write([write]);
    await withSetting('maxmemory', '1', '0');
    expect(await errorOf(store.write([{ ...write, key: 'other' }]))).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('maxmemory'),
    });
    expect(await store.read(['k', 'other'])).toMatchObject([{ text: 'x' }, undefined]);
  });

  test('as a replica, for writes and for reads, from the beginning or from now on', async () => {
    const before = openAt(urlWith({}));
    const vouched = openAt(urlWith({ options: '&durability=unchecked' }));
    for (const store of [before, vouched]) await store.write([{ key: 'k', text: 'x', expected: undefined }]);
    await command(['REPLICAOF', '127.0.0.1', '1']);
    onTestFinished(async () => void (await command(['REPLICAOF', 'NO', 'ONE'])));
    const isReplica = { code: 'STORE_FAILED', message: expect.stringContaining('the URL of its master') };
    for (const store of [before, vouched, openAt(urlWith({}))]) {
      expect(await errorOf(store.read(['k']))).toMatchObject(isReplica);
      expect(await errorOf(store.list('', 1))).toMatchObject(isReplica);
      const write = { key: 'other', text: 'x', expected: undefined };
      expect(await errorOf(store.write([write]))).toMatchObject(isReplica);
    }
    await command(['REPLICAOF', 'NO', 'ONE']);
    await until('it is a master again', () => before.read(['k']));
  });
});

describe('credentials', () => {
  const SECRET = 'p%40ss-w%C3%B6rd';
  const LIMITED = ['ACL', 'SETUSER', 'limited', 'reset', 'on', '>p@ss-wörd'];
  beforeAll(async () => {
    if (server === undefined) return;
    await command(['ACL', 'SETUSER', 'alice', 'on', '>p@ss-wörd', '~*', '+@all']);
  });

  test('are taken from the URL, or the password from the environment, and shown nowhere', async () => {
    const store = openAt(urlWith({ credentials: `alice:${SECRET}` }));
    expect(await store.read(['k'])).toEqual([undefined]);
    for (const shown of [store.url, JSON.stringify(store), inspect(store, { depth: 9, showHidden: true })])
      expect(shown).not.toMatch(/alice|ss-w/);
    vi.stubEnv('REDIS_PASSWORD', 'p@ss-wörd');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await openAt(urlWith({ credentials: 'alice' })).read(['k'])).toEqual([undefined]);
  });

  test('stay with the members of a set that changes', async () => {
    const open = (place: string): string =>
      urlWith({ credentials: `alice:${SECRET}` }).replace(/prefix=.*/, `prefix=${place}`);
    const [first, second, third, next] = ['set-a', 'set-b', 'set-c', 'set-d'].map(open) as [
      string,
      string,
      string,
      string,
    ];
    const cluster = await openCluster({ acceptors: [first, second, third] });
    onTestFinished(() => cluster.close());
    const increment = (n: number | undefined): number => (n ?? 0) + 1;
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
    await cluster.replaceAcceptor(third, next);
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    await cluster.changeAcceptors(['set-e', 'set-f', 'set-g'].map(open));
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 3 });
    expect(cluster.acceptors.map(({ state }) => state)).toEqual(['up', 'up', 'up']);
    const error = await errorOf(cluster.replaceAcceptor(first, next));
    expect(error).toMatchObject({ code: 'SET_CHANGE_FAILED' });
    expect(inspect([error, cluster.configuration], { depth: 9 })).not.toMatch(/alice|ss-w/);
  });

  test('that are wrong are refused, and not told', async () => {
    for (const credentials of ['alice:ss-wrong', 'ss-wobody:ss-wrong', ':ss-wrong']) {
      const error = await errorOf(openAt(urlWith({ credentials })).read(['k']));
      expect(error.code).toBe('UNAUTHORIZED');
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/alice|ss-w[or]/);
    }
  });

  test('that are lacking are asked for', async () => {
    await command([...LIMITED, '~*', '+@all'], ['ACL', 'SETUSER', 'default', 'resetpass']);
    const admin = administrator!.duplicate({ username: 'limited', password: 'p@ss-wörd' });
    await admin.connect();
    onTestFinished(async () => {
      await admin.sendCommand(['ACL', 'SETUSER', 'default', 'nopass']);
      admin.destroy();
    });
    expect(await errorOf(openAt(urlWith({})).read(['k']))).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('REDIS_PASSWORD'),
    });
  });

  test('without CONFIG need a word about durability; without a command or the keys, that is named', async () => {
    const credentials = `limited:${SECRET}`;
    const failure = (options: string): Promise<unknown> =>
      errorOf(
        openAt(urlWith({ credentials, options })).write([{ key: 'k', text: 'x', expected: undefined }]),
      );
    const refused = (what: string): object => ({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining(what),
    });
    await command([...LIMITED, '~{redis*', '+@all', '-config']);
    expect(await failure('')).toMatchObject(refused('durability=unchecked'));
    expect(await failure('&durability=unchecked')).toEqual({ message: 'there was no error' });
    for (const forbidden of ['evalsha', 'hset', 'hmget', 'persist']) {
      await command([...LIMITED, '~{redis*', '+@all', `-${forbidden}`]);
      const store = openAt(urlWith({ credentials }));
      const write = { key: 'k', text: 'x', expected: undefined };
      const error = await errorOf(forbidden === 'persist' ? store.read(['k']) : store.write([write]));
      expect(error).toMatchObject(refused(forbidden.toUpperCase()));
      // Nothing was done by halves.
      await command([...LIMITED, '~{redis*', '+@all']);
      const written = await until('it may', () => store.write([write]));
      expect(written).toMatchObject([{ result: 'written' }]);
    }
    await command([...LIMITED, '~other*', '+@all']);
    expect(await failure('')).toMatchObject(refused('the keys'));
  });
});

describe('connections', () => {
  test('over TLS, with the authority in the URL or in the options', async () => {
    const ca = encodeURIComponent(join(certificates, 'ca.pem'));
    await command(['CONFIG', 'SET', 'tls-auth-clients', 'no']);
    const store = openAt(urlWith({ port: tlsPort, options: `&tls=on&ca=${ca}` }));
    expect(await store.read(['k'])).toEqual([undefined]);
    const stranger = await errorOf(openAt(urlWith({ port: tlsPort, options: '&tls=on' })).read(['k']));
    expect(stranger).toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('certificate'),
    });
    expect(await errorOf(openAt(urlWith({ port: tlsPort })).read(['k']))).toMatchObject({
      code: 'UNREACHABLE',
    });
  });

  test('over TLS, with a certificate of its own where the server wants one', async () => {
    await command(['CONFIG', 'SET', 'tls-auth-clients', 'yes']);
    const file = (name: string): string => encodeURIComponent(join(certificates, name));
    const trusting = `&tls=on&ca=${file('ca.pem')}`;
    const shown = `&cert=${file('redis.pem')}&key=${file('redis.key')}`;
    const error = await errorOf(openAt(urlWith({ port: tlsPort, options: trusting })).read(['k']));
    expect(error.code).toBe('UNREACHABLE');
    const store = openAt(urlWith({ port: tlsPort, options: trusting + shown }));
    expect(await store.read(['k'])).toEqual([undefined]);
  });

  test.each(['', '&tls=on', '&durability=unchecked'])(
    'to somebody who says nothing end in time, and are closed%s',
    async (options) => {
      const open = new Set<Socket>();
      let made = 0;
      const silent = createServer((socket) => {
        made += 1;
        open.add(
          socket
            .on('close', () => open.delete(socket))
            .on('error', () => {})
            .resume(),
        );
      });
      await once(silent.listen(0, '127.0.0.1'), 'listening');
      onTestFinished(() => void silent.close());
      const { port } = silent.address() as AddressInfo;
      const store = openAt(urlWith({ port, options }), 100);
      for (let calls = 0; calls < 3; calls += 1)
        expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'TIMED_OUT' });
      await until('connections were made', () => made > 0);
      await until('nothing is left open', () => open.size === 0);
    },
  );

  test('to nobody are refused at once', async () => {
    const store = openAt(urlWith({ port: await freePort() }));
    expect(await errorOf(store.read(['k']))).toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect(store.requests).toBe(0);
  });

  test('that end are made again by the next call; the one under way fails', async () => {
    const store = openAt(urlWith({}));
    await store.read(['k']);
    await command(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
    await until('it is connected again', () => store.read(['k']));
  });

  test('to a database that is not there are refused', async () => {
    const url = server.urlOf('x').replace('?', '/99?');
    expect(await errorOf(openAt(url).read(['k']))).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('no database 99'),
    });
  });

  test('to another database find other documents', async () => {
    const url = urlWith({});
    const write = { key: 'k', text: 'x', expected: undefined };
    await openAt(url.replace('?', '/1?')).write([write]);
    expect(await openAt(url).read(['k'])).toEqual([undefined]);
    expect(await openAt(url.replace('?', '/1?')).read(['k'])).toMatchObject([{ text: 'x' }]);
  });

  test('are of no use once the store is closed', async () => {
    const store = openAt(urlWith({}));
    await store.close();
    expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'CLOSED' });
  });
});

describe('documents', () => {
  test('stand as they are under a key that a person finds', async () => {
    const place = newPlace('redis');
    const acceptor = new StoreAcceptor(openAt(server.urlOf(place)));
    await acceptor.describe();
    expect(typesOf(await acceptor.handle([accept('orders', 1, 'v')], 0))).toEqual(['2b']);
    const [value] = await command(['HGET', `{${place}}:documents`, 'register/orders']);
    expect(value).toMatch(/^\S+\nbaton1 .*"v"/);
  });

  test('of many bytes to a character come back whole', async () => {
    const store = openAt(urlWith({}));
    const text = '鍵🔑é'.repeat(100_000);
    await store.write([{ key: 'k', text, expected: undefined }]);
    const [document] = await store.read(['k']);
    expect(document?.text === text).toBe(true);
  });
});

test.each([
  ['a path that is no number', 'redis://h/x'],
  ['two segments', 'redis://h/1/2'],
  ['braces in the prefix', 'redis://h?prefix=a%7Db'],
  ['another durability', 'redis://h?durability=some'],
  ['an option that is not there', 'redis://h?table=x'],
  ['two hosts', 'redis://h,i'],
])('a URL with %s is refused', (_, url) => {
  expect(() => new RedisStore(url, { timeoutMs: 1 })).toThrow(
    expect.objectContaining({ code: 'URL_INVALID' }),
  );
});
