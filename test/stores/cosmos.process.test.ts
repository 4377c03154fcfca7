import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { type Container, CosmosClient } from '@azure/cosmos';
import { CosmosStore, openAcceptor, StoreAcceptor } from 'baton/caspaxos';
import { initAuthority, issueInto } from 'baton/server';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { errorOf } from '../caspaxos/clusters.ts';
import { temporaryDirectory } from '../caspaxos/directories.ts';
import { acceptorConformance } from '../conformance/acceptor.ts';
import { accept, promise, typesOf } from '../conformance/messages.ts';
import { newPlace, storeConformance, type StoreUnderTest } from '../conformance/store.ts';
import { storeAcceptorConformance } from '../conformance/store-acceptor.ts';
import { type GatewayServer, startGateway } from './servers/gateway.ts';

const TIMEOUT_MS = 30_000;
const execute = promisify(execFile);
let server: GatewayServer;

beforeAll(async () => {
  server = await startGateway();
}, 60_000);
afterAll(() => server?.close());

/** As somebody with the account's key would. */
function theContainer(): Container {
  const url = new URL(server.urlOf('x').replace(/^cosmos:/, 'http:'));
  const client = new CosmosClient({ endpoint: url.origin, key: server.key });
  const [database = '', name = ''] = url.pathname.split('/').slice(1);
  return client.database(database).container(name);
}

interface Kept {
  readonly id: string;
  readonly shard: string;
}

async function itemsOf(place: string): Promise<readonly Kept[]> {
  const prefix = new URL(server.urlOf(place).replace(/^cosmos:/, 'http:')).searchParams.get('prefix')!;
  const { resources } = await theContainer().items.readAll<Kept>().fetchAll();
  return resources.filter(({ shard }) => shard.startsWith(prefix));
}

async function emptyPlace(place: string): Promise<void> {
  for (const { id, shard } of await itemsOf(place)) await theContainer().item(id, shard).delete();
}

const stores: StoreUnderTest = {
  largestText: 1_492_496,
  largeBatch: 400,
  open: async (place) => {
    const store = new CosmosStore(server.urlOf(place), { timeoutMs: TIMEOUT_MS });
    await store.prepare();
    return store;
  },
  empty: emptyPlace,
  snapshot: async (place) => {
    const items = await itemsOf(place);
    return async () => {
      await emptyPlace(place);
      for (const item of items) await theContainer().items.create(item);
    };
  },
};

storeConformance('cosmos', stores);
storeAcceptorConformance('cosmos', stores);
acceptorConformance('cosmos', {
  largeBatch: 400,
  open: async (place) => {
    const acceptor = openAcceptor(server.urlOf(place), { timeoutMs: TIMEOUT_MS });
    await acceptor.describe();
    return acceptor;
  },
});

function openAt(url: string, timeoutMs = TIMEOUT_MS): CosmosStore {
  const store = new CosmosStore(url, { timeoutMs });
  onTestFinished(() => store.close());
  return store;
}

/** The URL of a new place, in another container, with another key. */
function urlWith({ container = 'baton', key = server.key }): string {
  const url = server.urlOf(newPlace('cosmos')).replace('/baton?', `/${container}?`);
  return url.replace(encodeURIComponent(server.key), encodeURIComponent(key));
}

function urlWithoutKey(): string {
  return server.urlOf(newPlace('cosmos')).replace(/:[^:@]*@/, '');
}

/** A server of our own, and its port. */
async function serve(http: Server, answer: RequestListener): Promise<number> {
  http.on('request', (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    answer(request, response);
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void http.close());
  return (http.address() as AddressInfo).port;
}

function accountAt(level: string | undefined, more: object = {}): string {
  return JSON.stringify({ userConsistencyPolicy: { defaultConsistencyLevel: level }, ...more });
}

function containerWith(more: object): string {
  return JSON.stringify({ id: 'c', partitionKey: { paths: ['/shard'], version: 2 }, ...more });
}

function clientOfAccount(): CosmosClient {
  const client = new CosmosClient({ endpoint: server.endpoint, key: server.key });
  onTestFinished(() => client.dispose());
  return client;
}

describe('an answer that is none:', () => {
  /** An account and a container; of documents it says what it is told to. */
  async function openAtOneThatSays(status: number, headers: Record<string, string>): Promise<CosmosStore> {
    const port = await serve(createServer(), ({ url = '' }, response) => {
      const isDocument = url.includes('/docs');
      const body = isDocument
        ? '{}'
        : url === '/'
          ? accountAt('Strong')
          : JSON.stringify({ id: 'c', partitionKey: { paths: ['/shard'], kind: 'Hash', version: 2 } });
      const all = { 'content-type': 'application/json', 'x-ms-session-token': '0:1', ...headers };
      response.writeHead(isDocument ? status : 200, all).end(body);
    });
    return openAt(`cosmos://:${encodeURIComponent(server.key)}@127.0.0.1:${port}/d/c`, 5000);
  }

  test('a replica that cannot tell has not said that there is no document', async () => {
    const store = await openAtOneThatSays(404, { 'x-ms-substatus': '1002' });
    expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'STORE_FAILED' });
  });

  test.each([
    [307, undefined],
    [307, 'v'],
    [204, undefined],
    [204, 'v'],
    [202, 'v'],
  ])('with %i nothing is written or read (replacing %s)', async (status, expected) => {
    const store = await openAtOneThatSays(status, { location: 'http://127.0.0.1:1/' });
    const result = await store.write([{ key: 'k', text: 'x', expected }]).catch(() => [{ result: 'failed' }]);
    expect(result).toMatchObject([{ result: 'failed' }]);
    expect(await errorOf(store.read(['k']))).toMatchObject({ code: expect.any(String) as string });
  });
});

test('a phase costs one conditional write and no read when nobody interfered', async () => {
  const store = openAt(urlWith({}));
  const acceptor = new StoreAcceptor(store);
  await acceptor.describe();
  const keys = Array.from({ length: 60 }, (_, at) => `k${at}`);
  await acceptor.handle(
    keys.map((key) => promise(key, 1)),
    0,
  );
  const before = store.requests;
  const replies = await acceptor.handle(
    keys.map((key) => accept(key, 1, 'v')),
    0,
  );
  expect(new Set(typesOf(replies))).toEqual(new Set(['2b']));
  expect(store.requests - before).toBe(keys.length);
});

test('a version is not given again after the server was put back from an old copy, as an _etag may be', async () => {
  const url = urlWith({});
  const store = openAt(url);
  const [made] = await store.write([{ key: 'k', text: 'one', expected: undefined }]);
  const { version } = made as { version: string };
  const restore = await server.snapshot();
  const slept = openAt(url);
  await slept.write([{ key: 'k', text: 'lost', expected: version }]);
  const [lost] = await slept.read(['k']);
  await restore();
  const again = openAt(url);
  await again.write([{ key: 'k', text: 'kept', expected: version }]);
  expect(await again.write([{ key: 'k', text: 'blind', expected: lost!.version }])).toEqual([
    { result: 'conflict' },
  ]);
  expect((await again.read(['k']))[0]?.text).toBe('kept');
});

describe('the container', () => {
  test('that is not there is an error, not an empty answer; it is made on demand', async () => {
    const store = openAt(urlWith({ container: 'absent' }));
    for (const call of [() => store.read(['k']), () => store.list('', 1), () => store.holdsAny('r')])
      expect(await errorOf(call())).toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('no container absent'),
      });
    await store.prepare();
    expect(await store.read(['k'])).toEqual([undefined]);
    const items = clientOfAccount().database('acceptors').container('absent');
    await items.delete();
    const write = (): Promise<unknown> => store.write([{ key: 'k', text: 'x', expected: 'v1' }]);
    for (const call of [() => store.read(['k']), write])
      expect(await errorOf(call())).toMatchObject({ code: 'STORE_FAILED' });
  });

  test.each([
    ['with another partition key', { partitionKey: '/id' }, '/shard'],
    ['whose items expire', { partitionKey: '/shard', defaultTtl: 60 }, 'time to live'],
  ])('%s is refused', async (_, definition, why) => {
    const container = newPlace('unsafe');
    await clientOfAccount()
      .database('acceptors')
      .containers.create({ id: container, ...definition });
    const store = openAt(urlWith({ container }));
    for (const call of [() => store.prepare(), () => store.read(['k'])])
      expect(await errorOf(call())).toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining(why),
      });
  });
});

describe('the account', () => {
  test.each(['Session', 'BoundedStaleness', undefined])('at %s is refused', async (level) => {
    const port = await serve(createServer(), (_, response) => void response.end(accountAt(level)));
    const store = openAt(`cosmos://:${btoa('key')}@127.0.0.1:${port}/d/c`);
    for (const call of [() => store.prepare(), () => store.read(['k'])])
      expect(await errorOf(call())).toMatchObject({
        code: 'STORE_FAILED',
        message: expect.stringContaining('Strong'),
      });
  });

  test.each([
    ['weakened', { account: accountAt('Session') }, 'Strong'],
    [
      'written in several regions',
      { account: accountAt('Strong', { enableMultipleWriteLocations: true }) },
      'written in one region',
    ],
    ['made to forget items', { container: containerWith({ defaultTtl: 60 }) }, 'time to live'],
  ])('that is %s while it is used is noticed by the next look', async (_, later, why) => {
    let now = { account: accountAt('Strong'), container: containerWith({}) };
    const port = await serve(createServer(), ({ url = '' }, response) => {
      response.end(url.includes('/colls/') ? now.container : now.account);
    });
    const store = openAt(`cosmos://:${btoa('key')}@127.0.0.1:${port}/d/c`);
    await store.lookAgain();
    now = { ...now, ...later };
    expect(await errorOf(store.lookAgain())).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining(why),
    });
  });

  test('refuses a wrong key, which is in no error', async () => {
    const key = btoa('an entirely different key');
    const store = openAt(urlWith({ key }));
    const error = await errorOf(store.read(['k']));
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
    const shown = [
      store.url,
      JSON.stringify(store),
      inspect(store, { depth: 9 }),
      inspect(error, { depth: 9 }),
    ];
    for (const secret of [key, encodeURIComponent(key)]) expect(shown.join()).not.toContain(secret);
  });

  test('is asked with the key in COSMOS_KEY, where the URL has none', async () => {
    vi.stubEnv('COSMOS_KEY', server.key);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await openAt(urlWithoutKey()).read(['k'])).toEqual([undefined]);
  });

  test('is asked with the identity of the machine, where there is no key; over TLS', async () => {
    const asked: unknown[] = [];
    vi.doMock('@azure/identity', () => ({
      DefaultAzureCredential: class {
        getToken = async (...scopes: readonly unknown[]) => {
          asked.push(scopes[0]);
          return { token: 'an-identity', expiresOnTimestamp: Date.now() + 3_600_000 };
        };
      },
    }));
    onTestFinished(() => vi.doUnmock('@azure/identity'));
    const directory = temporaryDirectory();
    await initAuthority(directory);
    await issueInto(directory, { name: 'cosmos', hosts: ['127.0.0.1'] });
    const file = (name: string): string => join(directory, name);
    const port = await serve(
      createSecureServer({ cert: readFileSync(file('cosmos.pem')), key: readFileSync(file('cosmos.key')) }),
      (request, response) => {
        asked.push(decodeURIComponent(request.headers.authorization!));
        response.end(accountAt('Eventual'));
      },
    );
    const place = `cosmos://127.0.0.1:${port}/d/c?tls=on`;
    expect(await errorOf(openAt(place).read(['k']))).toMatchObject({ code: 'UNREACHABLE' });
    expect(await errorOf(openAt(`${place}&ca=${file('ca.pem')}`).read(['k']))).toMatchObject({
      message: expect.stringContaining('Strong'),
    });
    expect(String(asked[0])).toContain('/.default');
    expect(asked.at(-1)).toBe('type=aad&ver=1.0&sig=an-identity');
  });

  test('without a key needs the package for identities, which is named; nothing keeps the process alive', async () => {
    const script = `import { CosmosStore } from 'baton/caspaxos';
      for (const url of process.argv.slice(1))
        await new CosmosStore(url, { timeoutMs: 20_000 })
          .read(['k'])
          .then((found) => console.log(found.length), ({ code, message }) => console.log(code, message));`;
    const urls = [urlWithoutKey(), server.urlOf(newPlace('cosmos'))];
    const { stdout, stderr } = await execute(process.execPath, [
      '--input-type=module',
      '-e',
      script,
      ...urls,
    ]);
    expect(stdout).toMatch(/^PACKAGE_MISSING .*npm install @azure\/identity\n1\n$/);
    expect(stderr).toBe('');
  });
});

test.each([
  'cosmos://:key@localhost',
  'cosmos://:key@localhost/d',
  'cosmos://:key@localhost/d/c/e',
  'cosmos://user:key@localhost/d/c',
  `cosmos://localhost/d/c?prefix=${'x'.repeat(91)}`,
])('the URL %s is refused', (url) => {
  expect(() => new CosmosStore(url, { timeoutMs: 1 })).toThrow(
    expect.objectContaining({ code: 'URL_INVALID' }),
  );
});

test('a read whose connection breaks is not tried again', async () => {
  let asked = 0;
  const port = await serve(createServer(), (request, response) => {
    asked += 1;
    if (asked === 1) response.end(accountAt('Strong'));
    else if (asked === 2) response.end(JSON.stringify({ id: 'c', partitionKey: { paths: ['/shard'] } }));
    else request.socket.destroy();
  });
  const store = openAt(`cosmos://:${btoa('key')}@127.0.0.1:${port}/d/c`);
  expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'UNREACHABLE' });
  expect(asked).toBe(3);
});
