import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { NODE_HOST } from '../../caspaxos/index.ts';
import { Secret } from '../config/index.ts';
import type { GatewayAnswer, GatewayRequest } from './context.ts';
import { conflict, SUBSTATUS } from './errors.ts';
import { GatewayServer, type GatewayServerOptions } from './gateway-server.ts';
import { AccountKeys } from './keys.ts';

const KEY = randomBytes(64);
const READ_KEY = randomBytes(64);
const KEYS = new AccountKeys({
  primary: new Secret(KEY.toString('base64')),
  primaryReadOnly: new Secret(READ_KEY.toString('base64')),
});
const PATH = '/dbs/d/colls/c/docs/i';

let servers: GatewayServer[] = [];
const errors: unknown[] = [];
const seen: string[] = [];

afterEach(async () => {
  await Promise.all(servers.map((server) => server.close(0)));
  servers = [];
  errors.length = 0;
  seen.length = 0;
});

type Handle = (request: GatewayRequest) => GatewayAnswer | Promise<GatewayAnswer>;

async function serve(handle: Handle, options: Partial<GatewayServerOptions> = {}): Promise<GatewayServer> {
  const server = await GatewayServer.listen({
    address: { host: '127.0.0.1', port: 0 },
    keys: () => KEYS,
    handle: async (request) => handle(request),
    host: NODE_HOST,
    onError: (error) => errors.push(error),
    observer: {
      ended: (resource, method, status) => seen.push(`${resource} ${method} ${status}`),
      refusedSignature: () => seen.push('refused'),
    },
    ...options,
  });
  servers.push(server);
  return server;
}

function signed(method: string, key = KEY): Record<string, string> {
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\ndocs\n${PATH.slice(1)}\n${date.toLowerCase()}\n\n`;
  const sig = createHmac('sha256', key).update(text).digest('base64');
  return { authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`), 'x-ms-date': date };
}

function urlOf(server: GatewayServer): string {
  return `http://127.0.0.1:${server.address.port}${PATH}`;
}

function ask(server: GatewayServer, method = 'GET', init: RequestInit = {}, key = KEY): Promise<Response> {
  return fetch(urlOf(server), {
    method,
    ...init,
    headers: { ...signed(method, key), ...(init.headers as Record<string, string>) },
  });
}

/** What comes back when these bytes are sent, until the server ends it. */
async function raw(server: GatewayServer, ...texts: string[]): Promise<string> {
  const socket: Socket = connect({ host: '127.0.0.1', port: server.address.port });
  const chunks: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => chunks.push(bytes));
  socket.on('error', () => {});
  for (const text of texts) socket.write(text);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

function head(method: string, more: Record<string, string> = {}, target = PATH): string {
  const lines = Object.entries({ host: 'x', ...signed(method), ...more }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

describe('requests and answers', () => {
  test('what a client sent comes to the handler, and what that answers goes back', async () => {
    const asked: GatewayRequest[] = [];
    const server = await serve((request) => {
      asked.push(request);
      return { status: 201, headers: { etag: '"1"' }, body: { ok: 'ä' }, charge: 5.239 };
    });
    const answer = await ask(server, 'PUT', { body: '{"a":1}' });
    expect([answer.status, await answer.json()]).toEqual([201, { ok: 'ä' }]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      etag: '"1"',
      'content-type': 'application/json',
      'x-ms-request-charge': '5.24',
      'x-ms-activity-id': asked[0]!.activityId,
    });
    expect(asked[0]).toMatchObject({
      method: 'PUT',
      isReadOnlyKey: false,
      resource: { type: 'docs', item: 'i' },
    });
    expect(asked[0]!.body.toString()).toBe('{"a":1}');
    expect(seen).toEqual(['docs PUT 201']);
  });

  test('a target may be in absolute form', async () => {
    const server = await serve(({ resource }) => ({
      status: 200,
      headers: { 'x-item': resource.item ?? '' },
    }));
    const target = `http://somebody:8081${PATH}`;
    expect(await raw(server, head('GET', { connection: 'close' }, target))).toMatch(
      /^HTTP\/1.1 200 [^]*x-item: i\r/,
    );
  });

  test('the id of an activity is the client’s own if it has one', async () => {
    const server = await serve(() => ({ status: 204 }));
    const id = '01234567-89ab-cdef-0123-456789abcdef';
    const withId = await ask(server, 'GET', { headers: { 'x-ms-activity-id': id } });
    expect(withId.headers.get('x-ms-activity-id')).toBe(id);
    const forged = await ask(server, 'GET', { headers: { 'x-ms-activity-id': 'x y' } });
    expect(forged.headers.get('x-ms-activity-id')).toMatch(/^[\da-f-]{36}$/);
    expect([withId.status, withId.headers.get('content-type')]).toEqual([204, null]);
  });

  test('an error has a code and a sentence; one that is nobody’s business is told to the log', async () => {
    const server = await serve(({ headers }) => {
      if (headers['x-kind'] === 'known') throw conflict('It is there.');
      throw new TypeError('a secret detail');
    });
    const known = await ask(server, 'GET', { headers: { 'x-kind': 'known' } });
    expect([known.status, await known.json()]).toEqual([409, { code: 'Conflict', message: 'It is there.' }]);
    expect(known.headers.get('x-ms-substatus')).toBe('0');
    const unknown = await ask(server);
    expect(unknown.status).toBe(500);
    expect(await unknown.text()).not.toContain('secret');
    expect(errors).toEqual([new TypeError('a secret detail')]);
  });

  test('a refusal leaves the connection as it is, and says how long an idle one is kept', async () => {
    const server = await serve(() => ({ status: 200 }), { limits: { inFlight: 0 } });
    const busy = await ask(server, 'PUT', { body: 'x'.repeat(1000) });
    expect([busy.status, busy.headers.get('connection')]).toEqual([429, 'keep-alive']);
    expect(busy.headers.get('keep-alive')).toBe('timeout=60');
  });

  test('HEAD is asked as GET and answered without a body', async () => {
    const server = await serve(({ method }) => ({ status: 200, body: { method } }));
    const answer = await ask(server, 'HEAD');
    expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([
      200,
      '16',
      '',
    ]);
  });
});

describe('who may ask', () => {
  test('nobody without a good signature; nothing of the body is read before', async () => {
    const server = await serve(() => ({ status: 200 }), { limits: { bodyBytes: 10 } });
    expect((await fetch(urlOf(server), { method: 'POST', body: 'x'.repeat(1000) })).status).toBe(401);
    expect((await ask(server, 'GET', {}, randomBytes(64))).status).toBe(401);
    expect(seen).toContain('refused');
  });

  test('with a read-only key, to read', async () => {
    const server = await serve(({ isReadOnlyKey }) => ({ status: 200, body: { isReadOnlyKey } }));
    expect(await (await ask(server, 'GET', {}, READ_KEY)).json()).toEqual({ isReadOnlyKey: true });
    expect((await ask(server, 'DELETE', {}, READ_KEY)).status).toBe(403);
    expect((await ask(server, 'DELETE')).status).toBe(200);
  });

  test('keys that change hold at once', async () => {
    let keys = KEYS;
    const server = await serve(() => ({ status: 200 }), { keys: () => keys });
    expect((await ask(server)).status).toBe(200);
    keys = new AccountKeys({ secondary: new Secret(READ_KEY.toString('base64')) });
    expect((await ask(server)).status).toBe(401);
    expect((await ask(server, 'DELETE', {}, READ_KEY)).status).toBe(200);
  });

  test('nobody before it is ready', async () => {
    const server = await serve(() => ({ status: 200 }), { notReady: () => 'It waits.' });
    const answer = await ask(server);
    expect([answer.status, await answer.json()]).toEqual([
      503,
      { code: 'ServiceUnavailable', message: 'It waits.' },
    ]);
  });

  test('verbs that nothing here knows are refused', async () => {
    const server = await serve(() => ({ status: 200 }));
    expect((await fetch(urlOf(server), { method: 'OPTIONS' })).status).toBe(405);
    expect(seen).toEqual(['docs other 405']);
  });
});

describe('bounds', () => {
  test('a body that is too large is refused with 413, whether it says its length or not', async () => {
    const server = await serve(() => ({ status: 200 }), { limits: { bodyBytes: 1000 } });
    const said = await raw(server, head('PUT', { 'content-length': '1000000' }), 'x'.repeat(1_000_000));
    expect(said).toMatch(/^HTTP\/1.1 413 [^]*"code":"RequestEntityTooLarge"/);
    const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
    const unsaid = await raw(server, head('PUT', { 'transfer-encoding': 'chunked' }), chunk.repeat(50));
    expect(unsaid).toMatch(/^HTTP\/1.1 413 /);
    expect((await ask(server, 'PUT', { body: 'x'.repeat(1000) })).status).toBe(200);
  });

  test('what does not come in time is ended with 408', async () => {
    const server = await serve(() => ({ status: 200 }), { limits: { arrivalMs: 50 } });
    expect(await raw(server, head('PUT', { 'content-length': '10' }), 'x')).toMatch(/^HTTP\/1.1 408 /);
    expect(await raw(server, `GET / HTTP/1.1\r\nhost: x\r\n`)).toMatch(/^HTTP\/1.1 408 /);
    expect(server.inFlight).toBe(0);
  });

  test('headers without end are ended with 431, garbage with 400', async () => {
    const server = await serve(() => ({ status: 200 }), { limits: { headerBytes: 4096 } });
    expect(await raw(server, head('GET', { 'x-long': 'x'.repeat(8000) }))).toMatch(/^HTTP\/1.1 431 /);
    expect(await raw(server, head('GET', { 'x-long': 'x'.repeat(8000) }))).toMatch(
      /\r\n\r\n\{"code":"\w+","message":".*"\}$/,
    );
    expect(await raw(server, '\0\x01 nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    expect((await ask(server)).status).toBe(200);
    expect(server.inFlight).toBe(0);
  });

  test('a header of more fields than are read is ended with 431, and loses no signature before', async () => {
    const server = await serve(() => ({ status: 200 }));
    const withFields = (fields: number): Promise<string> =>
      raw(server, head('GET', { connection: 'close' }).replace('\r\n', `\r\n${'a:\r\n'.repeat(fields)}`));
    expect(await withFields(1996)).toMatch(/^HTTP\/1.1 200 /);
    expect(await withFields(1997)).toMatch(/^HTTP\/1.1 431 [^]*"code":"RequestHeaderFieldsTooLarge"/);
    expect(server.inFlight).toBe(0);
  });

  test('more requests than may be under way are told to come back', async () => {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const server = await serve(() => opened.then(() => ({ status: 200 })), { limits: { inFlight: 2 } });
    const first = [ask(server), ask(server)];
    while (server.inFlight < 2) await new Promise((resolve) => setImmediate(resolve));
    const third = await ask(server);
    expect([third.status, third.headers.get('x-ms-substatus')]).toEqual([
      429,
      String(SUBSTATUS.tooManyUnits),
    ]);
    expect(Number(third.headers.get('x-ms-retry-after-ms'))).toBeGreaterThan(0);
    open();
    expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200]);
    expect((await ask(server)).status).toBe(200);
  });

  test('a client that is gone ends what it asked for', async () => {
    let signal: AbortSignal | undefined;
    const server = await serve((request) => {
      ({ signal } = request);
      return once(request.signal, 'abort').then(() => ({ status: 200 }));
    });
    const gone = new AbortController();
    const asked = ask(server, 'GET', { signal: gone.signal }).catch((error: unknown) => error);
    while (signal === undefined) await new Promise((resolve) => setImmediate(resolve));
    gone.abort();
    await asked;
    if (!signal.aborted) await once(signal, 'abort');
    while (server.inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

/** Yields so many chunks, and counts them. */
function chunksOf(count: number, made: { count: number }): AsyncIterable<Uint8Array> {
  return (async function* () {
    for (let at = 0; at < count; at += 1) {
      made.count += 1;
      yield Buffer.alloc(64 * 1024, 65);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
}

describe('streams', () => {
  test('come whole', async () => {
    const made = { count: 0 };
    const server = await serve(() => ({ status: 200, body: chunksOf(20, made) }));
    expect((await (await ask(server)).arrayBuffer()).byteLength).toBe(20 * 64 * 1024);
  });

  test('go no faster than the client reads', async () => {
    const made = { count: 0 };
    const server = await serve(({ headers }) => ({
      status: 200,
      body: headers['x-kind'] === 'unread' ? chunksOf(1000, made) : chunksOf(100, { count: 0 }),
    }));
    const socket = connect({ host: '127.0.0.1', port: server.address.port });
    socket.pause();
    socket.write(head('GET', { 'x-kind': 'unread', connection: 'close' }));
    // It stands still while another client is sent all of its own.
    for (let before = -1; before !== made.count || before === 0;) {
      before = made.count;
      await (await ask(server)).arrayBuffer();
    }
    expect(made.count).toBeLessThan(1000);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume();
    await once(socket, 'close');
    expect(made.count).toBe(1000);
    expect(bytes).toBeGreaterThan(1000 * 64 * 1024);
  });

  test('are cut off when the client does not read at all', async () => {
    const made = { count: 0 };
    const server = await serve(() => ({ status: 200, body: chunksOf(10_000, made) }), {
      limits: { stallMs: 100 },
    });
    const socket = connect({ host: '127.0.0.1', port: server.address.port });
    socket.on('error', () => {});
    socket.pause();
    socket.write(head('GET'));
    while (made.count === 0) await new Promise((resolve) => setImmediate(resolve));
    while (server.inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(made.count).toBeLessThan(10_000);
    socket.destroy();
    expect(errors).toEqual([]);
  });

  test('that fail half-way end without an end, so that nobody takes them for whole', async () => {
    const server = await serve(() => ({
      status: 200,
      body: (async function* () {
        yield Buffer.from('half');
        throw new Error('broken');
      })(),
    }));
    await expect(ask(server).then((answer) => answer.text())).rejects.toThrow();
    while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([new Error('broken')]);
  });

  test('a large answer that nobody reads is cut off, too', async () => {
    const server = await serve(() => ({ status: 200, body: Buffer.alloc(64 * 1024 * 1024) }), {
      limits: { stallMs: 100 },
    });
    const socket = connect({ host: '127.0.0.1', port: server.address.port });
    socket.on('error', () => {});
    socket.pause();
    socket.write(head('GET'));
    await once(socket, 'readable');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    while (!seen.includes('docs GET 200')) await new Promise((resolve) => setImmediate(resolve));
    await server.close(60_000);
    socket.destroy();
    await closed;
  });
});

describe('strangers', () => {
  /** Connected, with the beginning of a request and never its end. */
  async function slow(server: GatewayServer): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port: server.address.port });
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: x');
    return socket;
  }

  test('who never end a request take no place from those who sign theirs', async () => {
    let crowdedOut = 0;
    const limits = { strangers: 8, connections: 2, arrivalMs: 60_000 };
    const server = await serve(() => ({ status: 200, json: {} }), {
      limits,
      onCrowdedOut: () => (crowdedOut += 1),
    });
    const strangers: Socket[] = [];
    for (let number = 0; number < 20; number += 1) strangers.push(await slow(server));
    await until('twelve had to go', () => crowdedOut === 12);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const get = (): Promise<{ status?: number | undefined; port?: number | undefined }> =>
      new Promise((resolve, reject) => {
        httpRequest(urlOf(server), { agent, headers: signed('GET') }, (response) => {
          const said = { status: response.statusCode, port: response.socket.localPort };
          response.resume().once('end', () => resolve(said));
        })
          .on('error', reject)
          .end();
      });
    const first = await get();
    // It has a seat: however many come, it is served on the same connection.
    for (let number = 0; number < 20; number += 1) strangers.push(await slow(server));
    await until('the others had to go', () => crowdedOut >= 32);
    expect(first.status).toBe(200);
    expect(await get()).toEqual(first);
  });

  test('one client more than there are seats is served, and its connection ends', async () => {
    const server = await serve(() => ({ status: 200, json: {} }), { limits: { connections: 0 } });
    const answer = await ask(server);
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  });
});

describe('the end', () => {
  test('what is under way is answered; its connection ends, and idle ones do at once', async () => {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    const server = await serve(() => opened.then(() => ({ status: 200 })));
    const agent = new Agent({ keepAlive: true });
    const answered = new Promise<IncomingMessage>((resolve) => {
      httpRequest(urlOf(server), { agent, headers: signed('GET') }, resolve).end();
    });
    while (server.inFlight === 0) await new Promise((resolve) => setImmediate(resolve));
    const closed = server.close(60_000);
    open();
    const answer = await answered;
    expect([answer.statusCode, answer.headers.connection]).toEqual([200, 'close']);
    answer.resume();
    await closed;
    agent.destroy();
  });

  test('what takes longer than the time given is cut off', async () => {
    const server = await serve((request) => once(request.signal, 'abort').then(() => ({ status: 200 })));
    const asked = ask(server).catch(() => 'cut off');
    while (server.inFlight === 0) await new Promise((resolve) => setImmediate(resolve));
    await server.close(1);
    expect(await asked).toBe('cut off');
  });
});
