import { once } from 'node:events';
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../local/free-port.ts';
import { badRequest, HttpError } from './errors.ts';
import { HttpServer, type HttpServerOptions } from './http-server.ts';
import { originOf } from './origins.ts';
import type { Route } from './routes.ts';
import type { HttpSink } from './sink.ts';
import { type Health, statusRoutes } from './status-routes.ts';

const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/open', isOpen: true, handle: () => ({ json: { open: true } }) },
  {
    method: 'GET',
    path: '/things/:name',
    handle: ({ params, query }) => ({ json: { ...params, q: query.get('q') } }),
  },
  { method: 'POST', path: '/things', handle: ({ body }) => ({ status: 201, json: { got: body } }) },
  {
    method: 'GET',
    path: '/broken',
    handle: () => {
      throw new TypeError('a secret detail');
    },
  },
  {
    method: 'GET',
    path: '/wrong',
    handle: () => {
      throw badRequest('That is wrong.');
    },
  },
];

let servers: HttpServer[] = [];
const errors: unknown[] = [];

async function listen(options: Partial<HttpServerOptions> = {}): Promise<string> {
  const server = await HttpServer.listen({
    address: { host: '127.0.0.1', port: 0 },
    routes: ROUTES,
    onError: (error) => errors.push(error),
    ...options,
  });
  servers.push(server);
  return `http://127.0.0.1:${server.address.port}`;
}

afterEach(async () => {
  errors.length = 0;
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
});

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
}

function askAs(url: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { headers: { host }, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    request.on('error', reject).end();
  });
}

describe('routes', () => {
  test('names in the path, the query, bodies and statuses reach where they should', async () => {
    const url = await listen();
    expect(await (await fetch(`${url}/things/a%2Fb?q=1`)).json()).toEqual({ name: 'a/b', q: '1' });
    const posted = await post(`${url}/things`, '{"a":[1]}');
    expect([posted.status, await posted.json()]).toEqual([201, { got: { a: [1] } }]);
    expect(posted.headers.get('content-type')).toBe('application/json');
    expect(posted.headers.get('cache-control')).toBe('no-store');
    const head = await fetch(`${url}/open`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test.each([
    ['GET', '/nothing', 404, 'NOT_FOUND'],
    ['GET', '/things/', 404, 'NOT_FOUND'],
    ['GET', '/things/%zz', 404, 'NOT_FOUND'],
    ['DELETE', '/things/x', 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/wrong', 400, 'BAD_REQUEST'],
  ])('%s %s is answered %i %s', async (method, path, status, code) => {
    const answer = await fetch(`${await listen()}${path}`, { method });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ error: { code, message: expect.stringMatching(/\.$/) as string } });
  });

  test('what fails is told to the log, and not to who asked', async () => {
    const answer = await fetch(`${await listen()}/broken`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('secret');
    expect(errors).toEqual([new TypeError('a secret detail')]);
  });
});

describe('bodies', () => {
  test('one that is too large is refused, whether it says its length or not', async () => {
    const url = await listen({ maxBodyBytes: 100 });
    expect((await post(`${url}/things`, `"${'x'.repeat(200)}"`)).status).toBe(413);
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(`"${'x'.repeat(200)}`));
        controller.close();
      },
    });
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', body: stream, headers, duplex: 'half' } as RequestInit;
    expect((await fetch(`${url}/things`, init)).status).toBe(413);
    expect((await post(`${url}/things`, '"ok"')).status).toBe(201);
  });

  test('one that is not JSON, or not called that, is refused', async () => {
    const url = await listen();
    expect((await post(`${url}/things`, '{')).status).toBe(400);
    expect((await post(`${url}/things`, '{}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect(
      (await post(`${url}/things`, '{}', { 'content-type': 'application/json; charset=utf-8' })).status,
    ).toBe(201);
  });
});

describe('who may ask', () => {
  test('with a token: who shows it; what is open to all needs none', async () => {
    let token = 'right';
    const url = await listen({ token: () => token });
    const ask = async (authorization?: string): Promise<number> =>
      (await fetch(`${url}/things/x`, authorization === undefined ? {} : { headers: { authorization } }))
        .status;
    expect(await ask()).toBe(401);
    expect(await ask('Bearer wrong')).toBe(401);
    expect(await ask('right')).toBe(401);
    expect(await ask('Bearer right')).toBe(200);
    expect((await fetch(`${url}/open`)).status).toBe(200);
    token = 'later';
    expect(await ask('Bearer right')).toBe(401);
    expect(await ask('Bearer later')).toBe(200);
  });

  test('viewers may look, operators may act too', async () => {
    const url = await listen({ token: () => 'acts', viewerToken: () => 'looks' });
    const ask = async (method: 'GET' | 'POST', token: string): Promise<[number, unknown]> => {
      const headers = { authorization: `Bearer ${token}` };
      const answer = await (method === 'POST'
        ? post(`${url}/things`, '{}', headers)
        : fetch(`${url}/things/x`, { headers }));
      const { error } = (await answer.json()) as { error?: { code: string } };
      return [answer.status, error?.code];
    };
    expect(await ask('GET', 'looks')).toEqual([200, undefined]);
    expect(await ask('POST', 'looks')).toEqual([403, 'ROLE_TOO_WEAK']);
    expect(await ask('GET', 'acts')).toEqual([200, undefined]);
    expect(await ask('POST', 'acts')).toEqual([201, undefined]);
    expect(await ask('GET', 'other')).toEqual([401, 'NOT_AUTHORIZED']);
  });

  test('a token for viewers alone leaves nobody who acts', async () => {
    const url = await listen({ viewerToken: () => 'looks' });
    expect((await fetch(`${url}/things/x`)).status).toBe(401);
    expect((await post(`${url}/things`, '{}')).status).toBe(401);
    expect((await post(`${url}/things`, '{}', { authorization: 'Bearer looks' })).status).toBe(403);
    expect((await fetch(`${url}/things/x`, { headers: { authorization: 'Bearer looks' } })).status).toBe(200);
  });

  test('a route is told as what somebody was let in, and from where', async () => {
    const handle: Route['handle'] = ({ role, from }) => ({ json: { role, from } });
    const routes: readonly Route[] = [
      { method: 'GET', path: '/who', handle },
      { method: 'GET', path: '/acts', needs: 'operator', handle },
      { method: 'GET', path: '/open', isOpen: true, handle },
    ];
    const url = await listen({ routes, token: () => 'acts', viewerToken: () => 'looks' });
    const ask = async (path: string, token: string): Promise<unknown> =>
      (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).json();
    expect(await ask('/who', 'looks')).toEqual({ role: 'viewer', from: '127.0.0.1' });
    expect(await ask('/who', 'acts')).toMatchObject({ role: 'operator' });
    expect(await ask('/acts', 'looks')).toMatchObject({ error: { code: 'ROLE_TOO_WEAK' } });
    expect(await ask('/open', 'looks')).toEqual({ from: '127.0.0.1' });
    const open = await listen({ routes });
    expect(await (await fetch(`${open}/who`)).json()).toMatchObject({ role: 'operator' });
  });

  test('a request is judged before its body is read', async () => {
    const url = await listen({ token: () => 'right', maxBodyBytes: 10 });
    expect((await post(`${url}/things`, 'x'.repeat(1000))).status).toBe(401);
  });

  test('without a token a page in a browser cannot ask under a name of its own', async () => {
    const url = await listen();
    expect(await askAs(`${url}/things/x`, 'evil.example:80')).toBe(403);
    expect(await askAs(`${url}/things/x`, 'localhost:1')).toBe(200);
    expect(await askAs(`${url}/things/x`, '[::1]:1')).toBe(200);
  });

  test('beyond loopback it does not listen without TLS', async () => {
    await expect(listen({ address: { host: '0.0.0.0', port: 0 } })).rejects.toMatchObject({
      code: 'HTTP_LISTEN_REFUSED',
    });
  });

  test('a port that is taken is one sentence', async () => {
    const port = await freePort();
    await listen({ address: { host: '127.0.0.1', port } });
    const error = await listen({ address: { host: '127.0.0.1', port } }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HttpError);
    expect((error as HttpError).message).toBe(
      `Cannot listen on 127.0.0.1:${port} for HTTP: the port is taken.`,
    );
  });
});

describe('pages of other origins', () => {
  const FRIEND = 'http://127.0.0.1:4202';

  function preflight(url: string, origin: string): Promise<Response> {
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    };
    return fetch(`${url}/things`, { method: 'OPTIONS', headers });
  }

  test('those of the cluster may ask, with a token and with JSON', async () => {
    const url = await listen({ token: () => 'right', origins: new Set([FRIEND]) });
    const asked = await preflight(url, FRIEND);
    expect(asked.status).toBe(204);
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      'access-control-allow-origin': FRIEND,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'authorization, content-type',
    });
    const answer = await fetch(`${url}/things/x`, {
      headers: { origin: FRIEND, authorization: 'Bearer right' },
    });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, FRIEND]);
    expect(answer.headers.get('vary')).toBe('origin');
    const wrong = await fetch(`${url}/things/x`, { headers: { origin: FRIEND } });
    expect([wrong.status, wrong.headers.get('access-control-allow-origin')]).toEqual([401, FRIEND]);
  });

  test.each([
    'http://127.0.0.1:4203',
    'https://127.0.0.1:4202',
    'http://localhost:4202',
    'http://127.0.0.1:42020',
    'null',
  ])('%s is another one', async (origin) => {
    const url = await listen({ origins: new Set([FRIEND]) });
    const asked = await preflight(url, origin);
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([405, null]);
    const answer = await fetch(`${url}/things/x`, { headers: { origin } });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each([
    [{ host: '127.0.0.1', port: 4201 }, false, 'http://127.0.0.1:4201'],
    [{ host: '::1', port: 4201 }, true, 'https://[::1]:4201'],
    [{ host: 'Node.example', port: 443 }, true, 'https://node.example'],
    [{ host: 'node.example', port: 443 }, false, 'http://node.example:443'],
  ])('%j with TLS %s is the origin %s', (address, isSecure, origin) => {
    expect(originOf(address, isSecure)).toBe(origin);
  });
});

/** No timer rings meanwhile: it does not take the end of a server's patience. */
async function closedByItself(server: HttpServer): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  await server.close();
  vi.useRealTimers();
}

describe('answers that go on', () => {
  function streaming(stream: (sink: HttpSink) => void): readonly Route[] {
    return [{ method: 'GET', path: '/stream', handle: () => ({ type: 'text/event-stream', stream }) }];
  }

  test('come as they are written, and the writer hears when nobody reads any more', async () => {
    let heard = (): void => {};
    const closed = new Promise<void>((resolve) => (heard = resolve));
    const routes = streaming((sink) => {
      sink.write('one\n');
      sink.onClose(heard);
    });
    const asking = httpRequest(`${await listen({ routes })}/stream`, { agent: false }).end();
    asking.on('error', () => {});
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    const [first] = (await once(answer, 'data')) as [Buffer];
    expect(first.toString()).toBe('one\n');
    expect(answer.headers).toMatchObject({ 'content-type': 'text/event-stream' });
    expect(answer.headers).not.toHaveProperty('content-length');
    asking.destroy();
    await closed;
  });

  test('end with the server, whether they are read or not', async () => {
    const url = await listen({
      routes: streaming((sink) => {
        for (let line = 0; !sink.isFull; line += 1) sink.write(`${'x'.repeat(65_536)}\n`);
      }),
    });
    const read = await fetch(`${url}/stream`);
    const reading = read.text().catch(() => 'cut off');
    const unread = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
    unread.on('error', () => {});
    unread.write('GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(unread, 'readable');
    await closedByItself(servers.pop()!);
    await reading;
    unread.destroy();
  });
});

describe('bad company', () => {
  async function raw(url: string, text: string): Promise<string> {
    const socket: Socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) });
    const chunks: Buffer[] = [];
    socket.on('data', (bytes: Buffer) => chunks.push(bytes));
    socket.on('error', () => {});
    socket.write(text);
    await once(socket, 'close');
    return Buffer.concat(chunks).toString();
  }

  test('garbage, and headers without end, are told what they are, and the next is served', async () => {
    const url = await listen();
    expect(await raw(url, '\0\x01\x02\x03 nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 [^]*"BAD_REQUEST"/);
    expect(await raw(url, `GET / HTTP/1.1\r\nHost: x\r\n${'Name: value\r\n'.repeat(4000)}\r\n`)).toMatch(
      /^HTTP\/1.1 431 [^]*"HEADER_TOO_LARGE"/,
    );
    expect((await fetch(`${url}/open`)).status).toBe(200);
  });

  test('a header of more fields than are read is refused: a token behind them counts, or is told of', async () => {
    const url = await listen({ token: () => 'right' });
    const ask = (fields: number): Promise<string> =>
      raw(
        url,
        `GET /things/x HTTP/1.1\r\n${'a:\r\n'.repeat(fields)}host:x\r\nauthorization:Bearer right\r\nconnection:close\r\n\r\n`,
      );
    expect(await ask(1997)).toMatch(/^HTTP\/1.1 200 /);
    expect(await ask(1998)).toMatch(/^HTTP\/1.1 431 [^]*"HEADER_TOO_LARGE"/);
  });

  test('a target in absolute form is that path, and its host the one that was asked for', async () => {
    const url = await listen();
    const ask = (target: string, host: string): Promise<string> =>
      raw(url, `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    expect(await ask(`${url}/things/a%2Fb?q=1`, 'localhost')).toContain('{"name":"a/b","q":"1"}');
    expect(await ask(`${url}/things/x`, 'evil.example')).toMatch(/^HTTP\/1.1 200 /);
    expect(await ask('http://evil.example/things/x', 'localhost')).toMatch(/^HTTP\/1.1 403 /);
  });

  test('strangers who never end a request keep nobody out', async () => {
    let crowdedOut = 0;
    const url = new URL(await listen({ onCrowdedOut: () => (crowdedOut += 1), token: () => 'right' }));
    const sockets: Socket[] = [];
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (let number = 0; number < 300; number += 1) {
      const socket = connect(Number(url.port), '127.0.0.1');
      socket.on('error', () => {});
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write('GET / HTTP/1.1\r\nHost: x');
    }
    const headers = { authorization: 'Bearer right' };
    expect((await fetch(`${url.origin}/things/a`, { headers })).status).toBe(200);
    expect(crowdedOut).toBeGreaterThanOrEqual(44);
  });

  test('a close does not wait for connections that are only kept open', async () => {
    const url = await listen();
    const agent = new Agent({ keepAlive: true });
    await new Promise<void>((resolve, reject) => {
      httpRequest(`${url}/open`, { agent }, (response) => {
        response.resume().on('end', resolve);
      })
        .on('error', reject)
        .end();
    });
    await closedByItself(servers.pop()!);
    agent.destroy();
  });
});

describe('status', () => {
  test('200 when well, 503 with the reasons when not, and metrics as text', async () => {
    let health: Health = { status: 'ok', reasons: [] };
    const routes = statusRoutes({ health: () => health, readiness: () => health, metrics: new Registry() });
    const url = await listen({ routes, token: () => 'right' });
    expect((await fetch(`${url}/health`)).status).toBe(200);
    health = { status: 'failing', reasons: ['The disk is full.'] };
    const answer = await fetch(`${url}/readiness`);
    expect([answer.status, await answer.json()]).toEqual([503, health]);
    expect((await fetch(`${url}/liveness`)).status).toBe(200);
    expect((await fetch(`${url}/metrics`)).headers.get('content-type')).toContain('text/plain');
  });
});
