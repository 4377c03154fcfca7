import { rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { EtcdStore, openAcceptor, StoreAcceptor } from 'baton/caspaxos';
import { initAuthority, issueInto } from 'baton/server';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { errorOf } from '../caspaxos/clusters.ts';
import { newDirectory } from '../caspaxos/directories.ts';
import { acceptorConformance } from '../conformance/acceptor.ts';
import { accept, promise } from '../conformance/messages.ts';
import { newPlace, storeConformance, type StoreUnderTest } from '../conformance/store.ts';
import { storeAcceptorConformance } from '../conformance/store-acceptor.ts';
import { findProgram, needProgram } from '../support/programs.ts';
import { until } from '../support/until.ts';
import { badDays } from './bad-days.ts';
import { restarts } from './restarts.ts';
import { askEtcd, startEtcd } from './servers/etcd.ts';
import { freePort, type ServerProcess } from './servers/server.ts';

const TIMEOUT_MS = 30_000;
const certificates = newDirectory();
let server: ServerProcess;
let tlsPort = 0;

beforeAll(async () => {
  if (findProgram('etcd').path === undefined) return;
  await initAuthority(certificates);
  await issueInto(certificates, { name: 'etcd', hosts: ['127.0.0.1'] });
  tlsPort = await freePort();
  const file = (name: string): string => join(certificates, name);
  server = await startEtcd({ port: tlsPort, cert: file('etcd.pem'), key: file('etcd.key') });
});
afterAll(async () => {
  await server?.close();
  rmSync(certificates, { recursive: true, force: true });
});
beforeEach((context) => void needProgram(context, 'etcd'));

function portOf(url: string): number {
  return Number(/:(\d+)/.exec(url)![1]);
}

/** As an administrator would. */
function ask(path: string, body: object = {}, token = ''): Promise<Record<string, unknown>> {
  return askEtcd(portOf(server.urlOf('x')), path, body, token) as Promise<Record<string, unknown>>;
}

function openAt(url: string, timeoutMs = TIMEOUT_MS): EtcdStore {
  const store = new EtcdStore(url, { timeoutMs });
  onTestFinished(() => store.close());
  return store;
}

/** The URL of a new place, with credentials, with other endpoints before the real one, with more options. */
function urlWith({ credentials = '', before = [] as readonly number[], options = '' }): string {
  const others = before.map((port) => `127.0.0.1:${port},`).join('');
  return server.urlOf(newPlace('etcd')).replace('//', `//${credentials}${others}`) + options;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function allOf(place: string): { key: string; range_end: string } {
  return { key: base64(`${place}/`), range_end: base64(`${place}0`) };
}

const etcd: StoreUnderTest = {
  open: async (place) => new EtcdStore(server.urlOf(place), { timeoutMs: TIMEOUT_MS }),
  empty: async (place) => void (await ask('/v3/kv/deleterange', allOf(place))),
  snapshot: async (place) => {
    const { kvs } = (await ask('/v3/kv/range', allOf(place))) as {
      kvs: readonly { key: string; value: string }[];
    };
    return async () => {
      await ask('/v3/kv/deleterange', allOf(place));
      for (const { key, value } of kvs) await ask('/v3/kv/put', { key, value });
    };
  },
  largestText: 1536 * 1024 - 4096,
};

storeConformance('etcd', etcd);
storeAcceptorConformance('etcd', etcd);
acceptorConformance('etcd', {
  async open(place) {
    const acceptor = openAcceptor(server.urlOf(place), { timeoutMs: TIMEOUT_MS });
    await acceptor.describe();
    return acceptor;
  },
});
badDays('etcd', () => server);
restarts('etcd', () => server);

describe('what a phase costs', () => {
  test('is one request while nobody interferes, for a hundred registers', async () => {
    const store = openAt(urlWith({}));
    const acceptor = new StoreAcceptor(store);
    await acceptor.describe();
    const keys = Array.from({ length: 100 }, (_, at) => `k${at}`);
    await acceptor.handle(
      keys.map((key) => promise(key, 1)),
      0,
    );
    const before = store.requests;
    await acceptor.handle(
      keys.map((key) => promise(key, 2)),
      0,
    );
    expect(store.requests).toBe(before + 1);
    await acceptor.handle(
      keys.map((key) => accept(key, 2, 'v')),
      0,
    );
    expect(store.requests).toBe(before + 2);
  });
});

describe('batches', () => {
  test('of more bytes than etcd takes at once are written and read all the same', async () => {
    const store = openAt(urlWith({}));
    const keys = Array.from({ length: 12 }, (_, at) => `register/${String(at).repeat(200)}`);
    const texts = keys.map((_, at) => String.fromCodePoint(97 + at).repeat(500_000));
    const results = await store.write(
      keys.map((key, at) => ({ key, text: texts[at]!, expected: undefined })),
    );
    expect(results.map(({ result }) => result)).toEqual(keys.map(() => 'written'));
    // Three of them to a transaction.
    expect(store.requests).toBe(4);
    const documents = await store.read(keys);
    expect(documents.every((document, at) => document?.text === texts[at])).toBe(true);
  });

  test('of which the answer would be too large are asked for in halves', async () => {
    const port = await answering(async (request, response) => {
      let body = '';
      for await (const part of request) body += String(part);
      const { success } = JSON.parse(body) as { success: { request_range: { key: string } }[] };
      if (success.length > 2) {
        const message = 'grpc: received message larger than max (5000000 vs. 4194304)';
        response.writeHead(429).end(JSON.stringify({ message }));
        return;
      }
      const responses = success.map(({ request_range: { key } }) => ({
        response_range: { kvs: [{ key, value: base64(`v\n${Buffer.from(key, 'base64').toString()}`) }] },
      }));
      response.end(JSON.stringify({ responses }));
    });
    const store = openAt(`etcd://127.0.0.1:${port}?prefix=p/`);
    const documents = await store.read(['a', 'b', 'c', 'd', 'e']);
    expect(documents.map((document) => document?.text)).toEqual(['p/a', 'p/b', 'p/c', 'p/d', 'p/e']);
  });

  test('of which one part fails tell of the others', async () => {
    const store = openAt(urlWith({}));
    const answered = await store.write([{ key: 'k', text: 'x', expected: undefined }]);
    const large = { text: 'x'.repeat(store.largestText + 1), expected: undefined };
    const results = await store.write([
      { key: 'large', ...large },
      { key: 'k', text: 'y', expected: (answered[0] as { version: string }).version },
    ]);
    expect(results).toMatchObject([{ result: 'failed' }, { result: 'written' }]);
  });
});

describe('documents', () => {
  test('stand under a key that a person finds: a line with the version, and the text', async () => {
    const place = newPlace('etcd');
    await openAt(server.urlOf(place)).write([
      { key: 'register/orders', text: 'the text', expected: undefined },
    ]);
    const found = (await ask('/v3/kv/range', { key: base64(`${place}/register/orders`) })) as {
      kvs: readonly { value: string }[];
    };
    expect(Buffer.from(found.kvs[0]!.value, 'base64').toString()).toMatch(/^[\w-]{13,}\nthe text$/);
  });

  test('whose version begins like another are not taken for it', async () => {
    const place = newPlace('etcd');
    const store = openAt(server.urlOf(place));
    for (const [value, expected] of [
      ['ab\ntext', 'a'],
      ['a\ntext', 'ab'],
      ['a', 'a'],
      ['a\u0020\ntext', 'a'],
    ] as const) {
      await ask('/v3/kv/put', { key: base64(`${place}/k`), value: base64(value) });
      expect(await store.write([{ key: 'k', text: 'mine', expected }])).toEqual([{ result: 'conflict' }]);
    }
    await ask('/v3/kv/put', { key: base64(`${place}/k`), value: base64('a\n') });
    expect(await store.read(['k'])).toEqual([{ text: '', version: 'a' }]);
    expect(await store.write([{ key: 'k', text: 'mine', expected: 'a' }])).toMatchObject([
      { result: 'written' },
    ]);
  });

  test('that somebody else wrote there are nothing that Baton could mistake for its own', async () => {
    const place = newPlace('etcd');
    const store = openAt(server.urlOf(place));
    const acceptor = new StoreAcceptor(store);
    await acceptor.describe();
    for (const value of ['', 'no line break']) {
      await ask('/v3/kv/put', { key: base64(`${place}/register/k`), value: base64(value) });
      expect(await acceptor.handle([promise('k', 1)], 0)).toMatchObject([{ code: 'CORRUPT_RECORD' }]);
    }
  });

  test('of another prefix are somebody else’s', async () => {
    const place = newPlace('etcd');
    const store = openAt(server.urlOf(place));
    for (const other of [`${place}0`, `${place}-2`, `a${place}`])
      await openAt(server.urlOf(other)).write([{ key: 'register/k', text: 'x', expected: undefined }]);
    expect(await store.list('', 10)).toEqual([]);
    expect(await store.read(['register/k'])).toEqual([undefined]);
  });
});

describe('a cluster with a space alarm', () => {
  test('is full, and says how to help it', async () => {
    const store = openAt(urlWith({}));
    const alarm = async (action: string): Promise<void> => {
      const { header } = (await ask('/v3/kv/range', { key: 'AA==' })) as { header: { member_id: string } };
      await ask('/v3/maintenance/alarm', { action, alarm: 'NOSPACE', memberID: header.member_id });
    };
    await alarm('ACTIVATE');
    onTestFinished(() => alarm('DEACTIVATE'));
    const error = await errorOf(store.write([{ key: 'k', text: 'x', expected: undefined }]));
    expect(error).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('alarm disarm') });
    expect(await store.read(['k'])).toEqual([undefined]);
  });
});

describe('credentials', () => {
  const PASSWORD = 'p@ss-wörd';
  const SECRET = 'p%40ss-w%C3%B6rd';

  beforeAll(async () => {
    if (server === undefined) return;
    for (const name of ['root', 'alice', 'carol'])
      await ask('/v3/auth/user/add', { name, password: PASSWORD });
    await ask('/v3/auth/role/add', { name: 'baton' });
    const perm = { permType: 'READWRITE', key: base64('etcd'), range_end: base64('etce') };
    await ask('/v3/auth/role/grant', { name: 'baton', perm });
    await ask('/v3/auth/user/grant', { user: 'alice', role: 'baton' });
    await ask('/v3/auth/user/grant', { user: 'root', role: 'root' });
    await ask('/v3/auth/enable');
  });
  afterAll(async () => {
    if (server === undefined) return;
    const { token } = await ask('/v3/auth/authenticate', { name: 'root', password: PASSWORD });
    await ask('/v3/auth/disable', {}, token as string);
  });

  test('are taken from the URL, or the password from the environment, and shown nowhere', async () => {
    const store = openAt(urlWith({ credentials: `alice:${SECRET}@` }));
    expect(await store.read(['k'])).toEqual([undefined]);
    expect(await store.write([{ key: 'k', text: 'x', expected: undefined }])).toMatchObject([
      { result: 'written' },
    ]);
    for (const shown of [store.url, JSON.stringify(store), inspect(store, { depth: 9, showHidden: true })])
      expect(shown).not.toMatch(/alice|ss-w/);
    vi.stubEnv('ETCD_PASSWORD', PASSWORD);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await openAt(urlWith({ credentials: 'alice@' })).read(['k'])).toEqual([undefined]);
  });

  test('are shown once: the token does for all calls, and a new one is had when it is forgotten', async () => {
    const store = openAt(urlWith({ credentials: `alice:${SECRET}@` }));
    await Promise.all([store.read(['a']), store.read(['b']), store.list('', 1)]);
    expect(store.requests).toBe(4);
    // Whoever's password is changed has no token any more.
    const { token } = await ask('/v3/auth/authenticate', { name: 'root', password: PASSWORD });
    await ask('/v3/auth/user/changepw', { name: 'alice', password: PASSWORD }, token as string);
    const write = { key: 'k', text: 'x', expected: undefined };
    expect(await store.write([write])).toMatchObject([{ result: 'written' }]);
    expect(store.requests).toBe(7);
  });

  test('that are wrong are refused, and not told', async () => {
    for (const credentials of ['alice:ss-wrong@', 'ss-wobody:ss-wrong@', 'alice@']) {
      const error = await errorOf(openAt(urlWith({ credentials })).read(['k']));
      expect(error.code).toBe('UNAUTHORIZED');
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/alice|ss-w[or]/);
    }
  });

  test('that are lacking are asked for', async () => {
    expect(await errorOf(openAt(urlWith({})).read(['k']))).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('ETCD_PASSWORD'),
    });
  });

  test('without the permission name it', async () => {
    const store = openAt(urlWith({ credentials: `carol:${SECRET}@` }));
    const write = { key: 'k', text: 'x', expected: undefined };
    for (const call of [() => store.read(['k']), () => store.list('', 1), () => store.write([write])])
      expect(await errorOf(call())).toMatchObject({
        code: 'UNAUTHORIZED',
        message: expect.stringContaining('grant-permission'),
      });
  });
});

test('credentials that nobody asks for do no harm', async () => {
  expect(await openAt(urlWith({ credentials: 'alice:x@' })).read(['k'])).toEqual([undefined]);
});

describe('endpoints', () => {
  test('that are dead are passed over, and no request is made twice', async () => {
    const store = openAt(urlWith({ before: [await freePort(), await freePort()] }));
    const write = { key: 'k', text: 'x', expected: undefined };
    expect(await store.write([write])).toMatchObject([{ result: 'written' }]);
    expect(store.requests).toBe(3);
    await store.read(['k']);
    expect(store.requests).toBe(4);
  });

  test('that take a request and do not answer fail it; the next call goes elsewhere', async () => {
    let asked = 0;
    const silent = createSocketServer(() => {
      asked += 1;
    });
    const port = await listening(silent);
    const store = openAt(urlWith({ before: [port] }), 1000);
    expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'TIMED_OUT' });
    expect(await until('the other one answers', () => store.read(['k']))).toEqual([undefined]);
    expect(asked).toBe(1);
  });

  test('of another cluster are refused', async () => {
    let isOver = false;
    const stranger = await answering((_, response) => {
      if (isOver) response.destroy();
      else response.end(JSON.stringify({ header: { cluster_id: '1' } }));
      isOver = true;
    });
    const store = openAt(urlWith({ before: [stranger] }));
    expect(await store.list('', 1)).toEqual([]);
    expect(await errorOf(store.list('', 1))).toMatchObject({ code: 'UNREACHABLE' });
    expect(await errorOf(store.list('', 1))).toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('one cluster'),
    });
  });

  test('that are no etcd are an error that says so', async () => {
    const port = await answering((_, response) => response.writeHead(404).end('not found'));
    const error = await errorOf(openAt(`etcd://127.0.0.1:${port}`).read(['k']));
    expect(error).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('etcd 3.4') });
    const html = await answering((_, response) => response.end('<html>'));
    expect(await errorOf(openAt(`etcd://127.0.0.1:${html}`).read(['k']))).toMatchObject({
      code: 'STORE_FAILED',
    });
  });

  test('that are all dead fail at once, and for a moment without being asked', async () => {
    const store = openAt(`etcd://127.0.0.1:${await freePort()}`);
    await until('a call fails without a request', async () => {
      const before = store.requests;
      expect(await errorOf(store.read(['k']))).toMatchObject({
        code: 'UNREACHABLE',
        message: expect.stringContaining('ECONNREFUSED'),
      });
      return store.requests === before;
    });
  });

  test('over TLS, with the authority in the URL', async () => {
    const at = `etcd://127.0.0.1:${tlsPort}?tls=on`;
    const ca = join(certificates, 'ca.pem');
    expect(await openAt(`${at}&ca=${encodeURIComponent(ca)}`).read(['k'])).toEqual([undefined]);
    expect(await errorOf(openAt(at).read(['k']))).toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('certificate'),
    });
    expect((await errorOf(openAt(`etcd://127.0.0.1:${tlsPort}`).read(['k']))).code).toMatch(
      /UNREACHABLE|STORE_FAILED/,
    );
  });

  test('are of no use once the store is closed', async () => {
    const store = openAt(urlWith({}));
    await store.close();
    expect(await errorOf(store.read(['k']))).toMatchObject({ code: 'CLOSED' });
  });
});

async function listening(listener: ReturnType<typeof createSocketServer>): Promise<number> {
  listener.listen(0, '127.0.0.1');
  onTestFinished(() => void listener.close());
  await new Promise((resolve) => listener.once('listening', resolve));
  return (listener.address() as AddressInfo).port;
}

function answering(listener: (...parameters: Parameters<RequestListener>) => unknown): Promise<number> {
  const http = createServer((request, response) => void listener(request, response));
  onTestFinished(() => http.closeAllConnections());
  return listening(http);
}

test.each([
  ['a path', 'etcd://h/x'],
  ['a prefix that is too long', `etcd://h?prefix=${'p'.repeat(257)}`],
  ['an option that is not there', 'etcd://h?table=x'],
])('a URL with %s is refused', (_, url) => {
  expect(() => new EtcdStore(url, { timeoutMs: 1 })).toThrow(
    expect.objectContaining({ code: 'URL_INVALID' }),
  );
});

describe('a member that does not sync its log', () => {
  async function lookedAt(store: EtcdStore, looks: number): Promise<readonly string[]> {
    const codes: string[] = [];
    for (let look = 0; look < looks; look += 1) {
      await store.write([{ key: `k${look}`, text: 'x', expected: undefined }]);
      codes.push((await errorOf(store.lookAgain())).message ?? 'well');
    }
    return codes;
  }

  test('is found out, and told from one that does', async () => {
    const unsafe = await startEtcd(undefined, undefined, ['--unsafe-no-fsync']);
    onTestFinished(() => unsafe.close());
    const store = openAt(unsafe.urlOf('x'));
    const found = await lookedAt(store, 6);
    expect(found.at(-1)).toContain('start etcd without --unsafe-no-fsync');
    expect(store.lineage.broken).toBeUndefined();
    await unsafe.kill();
    await unsafe.start();
    await until('it is back', () => store.list('', 1));
    await store.lookAgain();
    // Nobody knows what it had of the moments before the look.
    expect(store.lineage.broken).toEqual({
      code: 'ACCEPTOR_BEHIND',
      why: 'it ended after it was seen that it answers before its log is on disk, and may have forgotten what it answered',
    });
    const well = openAt(urlWith({}));
    expect(new Set(await lookedAt(well, 6))).toEqual(new Set(['there was no error']));
    await server.stop();
    await server.start();
    await until('it is back', () => well.list('', 1));
    expect(await errorOf(well.lookAgain())).toMatchObject({ message: 'there was no error' });
  });
});
