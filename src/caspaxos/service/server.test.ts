import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf, increment, openFor } from '../../../test/caspaxos/clusters.ts';
import { RawClient } from '../../../test/caspaxos/raw-client.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { accept, promise, query, typesOf, valueIn } from '../../../test/conformance/messages.ts';
import { until } from '../../../test/support/until.ts';
import { ServiceAcceptor } from './client.ts';
import { flattenRequests, pack } from './codec.ts';
import { frame } from './frames.ts';
import { AcceptorServer } from './server.ts';

function clientOf(
  service: TestService,
  options: { token?: string; timeoutMs?: number } = {},
): ServiceAcceptor {
  const client = new ServiceAcceptor(new URL(service.url), { timeoutMs: 60_000, ...options });
  onTestFinished(() => client.close());
  return client;
}

describe('the acceptor service for people and their tools', () => {
  test('/health says that it is well, who it is, and how far it has come', async () => {
    const service = await TestService.start();
    await service.disk.handle([promise('k', 1)], 0);
    const response = await fetch(`${service.url}/health`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ok', id: service.disk.id, sequence: 1 });
  });

  test('/health says 503 when its disk has failed', async () => {
    const service = await TestService.start();
    service.disk.expect('somebody else');
    const response = await fetch(`${service.url}/health`);
    expect([response.status, ((await response.json()) as { status: string }).status]).toEqual([
      503,
      'failed',
    ]);
  });

  test('/metrics counts, and wants the token', async () => {
    const service = await TestService.start({ token: 'secret' });
    expect((await fetch(`${service.url}/metrics`)).status).toBe(401);
    const authorization = 'Bearer secret';
    const client = clientOf(service, { token: 'secret' });
    await client.handle([accept('k', 1, 'v'), query('k')], 0);
    const text = await (await fetch(`${service.url}/metrics`, { headers: { authorization } })).text();
    expect(text).toMatch(/^baton_acceptor_requests_total 2$/m);
    expect(text).toMatch(/^baton_acceptor_syncs_total 1$/m);
    expect(text).toMatch(/^baton_acceptor_streams 1$/m);
    expect(text).not.toContain('secret');
  });

  test.each([
    ['GET', '/', 404],
    ['GET', '/v1/other', 404],
    ['GET', '/v1/stream', 426],
    ['POST', '/health', 405],
    ['DELETE', '/v1/stream', 405],
  ])('%s %s is answered %i', async (method, path, status) => {
    const service = await TestService.start();
    expect((await fetch(`${service.url}${path}`, { method })).status).toBe(status);
  });

  test('a target in absolute form is that path, for streams too', async () => {
    const service = await TestService.start({ token: 'secret' });
    const health = await RawClient.connect(service.port);
    health.socket.write('GET http://a.example/health HTTP/1.1\r\nHost: x\r\n\r\n');
    await health.until((text) => text.startsWith('HTTP/1.1 200 '));
    const stream = await RawClient.connect(service.port);
    stream.socket.write(
      'GET http://a.example/v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n' +
        'Upgrade: baton-acceptor/1\r\nAuthorization: Bearer secret\r\n\r\n',
    );
    await stream.until((text) => text.startsWith('HTTP/1.1 101 '));
  });

  test.each(['', 'Connection: Upgrade\r\nUpgrade: baton-acceptor/1\r\n'])(
    'a header of more fields than are read is refused, and not for its token: %j',
    async (upgrade) => {
      const service = await TestService.start({ token: 'secret' });
      const client = await RawClient.connect(service.port);
      const path = upgrade === '' ? '/metrics' : '/v1/stream';
      client.socket.write(
        `GET ${path} HTTP/1.1\r\nHost: x\r\n${upgrade}${'a:\r\n'.repeat(2000)}Authorization: Bearer secret\r\n\r\n`,
      );
      await client.until((text) => text.startsWith('HTTP/1.1 431 '));
    },
  );
});

describe('the acceptor service and strangers', () => {
  test('who say nothing take no place from who has the token, and the oldest of them ends', async () => {
    const refused: string[] = [];
    const service = await TestService.start({
      token: 'secret',
      maxStrangers: 8,
      onRefused: (kind) => refused.push(kind),
    });
    const strangers: Socket[] = [];
    for (let number = 0; number < 20; number += 1) {
      const socket = connect(service.port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write('GET /health HTTP/1.1\r\nHost: x');
      strangers.push(socket);
    }
    await until('twelve had to go', () => refused.length === 12);
    expect(refused).toEqual(Array.from({ length: 12 }, () => 'crowded'));
    await until('they know', () => strangers.slice(0, 12).every((socket) => socket.closed));
    expect(strangers.slice(12).some((socket) => socket.closed)).toBe(false);
    const client = clientOf(service, { token: 'secret' });
    await client.handle([promise('k', 1)], 0);
    // A stream is no stranger: whoever comes now takes no place from it.
    for (let number = 0; number < 20; number += 1) {
      const socket = connect(service.port, '127.0.0.1');
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
    }
    await until('the others had to go', () => refused.length >= 32);
    expect(await client.describe()).toMatchObject({ id: service.disk.id });
  });

  test('who are refused and do not end their side keep no connection half open', async () => {
    const service = await TestService.start({ token: 'secret' });
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    let isReset = false;
    socket.on('error', () => (isReset = true));
    socket
      .resume()
      .write(
        'GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: baton-acceptor/1\r\n\r\n',
      );
    await once(socket, 'end');
    // Only a connection that is gone answers what is sent into it with a reset.
    await until('the connection is gone', () => {
      if (socket.writable) socket.write('x');
      return isReset || socket.destroyed;
    });
  });

  test('one stream more than it takes is refused, and told so', async () => {
    const service = await TestService.start({ token: 'secret', maxStreams: 1 });
    const first = clientOf(service, { token: 'secret' });
    await first.describe();
    const second = clientOf(service, { token: 'secret' });
    expect(await errorOf(second.describe())).toMatchObject({ code: 'UNREACHABLE' });
    await first.describe();
    const headers = { authorization: 'Bearer secret' };
    const text = await (await fetch(`${service.url}/metrics`, { headers })).text();
    expect(text).toMatch(/^baton_acceptor_refused_total\{reason="streams"\} 1$/m);
  });
});

describe('the acceptor service and who may use it', () => {
  test.each([undefined, 'wrong', 'secrets', ''])(
    'the token %j is refused, and changes nothing',
    async (token) => {
      const service = await TestService.start({ token: 'secret' });
      const client = clientOf(service, token === undefined ? {} : { token });
      expect(await errorOf(client.handle([promise('k', 1)], 0))).toMatchObject({ code: 'UNAUTHORIZED' });
      expect(await errorOf(client.describe())).toMatchObject({ code: 'UNAUTHORIZED' });
      expect(service.disk.sequence).toBe(0);
    },
  );

  test('a cluster with a wrong token does not open; with the right one it does, from the options or the URL', async () => {
    const services = await TestService.startThree({ token: 'secret' });
    const acceptors = services.map(({ url }) => url);
    expect(await errorOf(openFor({ acceptors, token: 'wrong' }))).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringMatching(/^Acceptor \S+ refused the token\./),
    });
    const cluster = await openFor({ acceptors, token: 'secret' });
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed' });
    const inUrl = acceptors.map((url) => url.replace('://', '://:secret@'));
    const other = await openFor({ acceptors: inUrl });
    expect(await other.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    expect(JSON.stringify([other.acceptors, other.configuration])).not.toContain('secret');
  });

  test.each([
    { host: '0.0.0.0' },
    { host: '::' },
    { host: '192.0.2.1', token: 't' },
    { host: '0.0.0.0', tls: { cert: 'c', key: 'k' } },
    { host: 'example.com' },
  ])('listening beyond loopback without certificate and token is refused: %j', async (options) => {
    const { disk } = await TestService.start();
    expect(await errorOf(AcceptorServer.listen(disk, { port: 0, ...options }))).toMatchObject({
      code: 'LISTEN_REFUSED',
    });
  });

  test('a port that is taken is a clear error', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await until('the port is taken', () => taken.listening);
    const { port } = taken.address() as { port: number };
    const { disk } = await TestService.start();
    expect(await errorOf(AcceptorServer.listen(disk, { host: '127.0.0.1', port }))).toMatchObject({
      code: 'LISTEN_FAILED',
      message: expect.stringContaining('taken'),
    });
  });
});

describe('the acceptor service and a client that misbehaves', () => {
  test.each([
    ['garbage', Buffer.from('garbage that is no frame at all, but long enough to be one')],
    ['a frame of garbage', frame(Buffer.from([0xc1, 0xff, 0x00]))],
    ['a call that is none', frame(pack('call'))],
    ['a call without a name', frame(pack([1]))],
    ['a frame over the limit', Buffer.from([0xff, 0xff, 0xff, 0xff])],
  ])('ends the stream of one that sends %s, and serves the others', async (_, bytes) => {
    const service = await TestService.start();
    const other = clientOf(service);
    await other.handle([accept('k', 1, 'v')], 0);
    const { sequence } = service.disk;
    const client = await RawClient.upgrade(service.port);
    client.socket.write(bytes);
    await until('the stream has ended', () => client.isClosed);
    expect(valueIn((await other.handle([query('k')], 0))[0])).toBe('v');
    expect(service.disk.sequence).toBe(sequence);
  });

  test.each([
    ['an unknown call', [1, 'drop', null]],
    ['a batch that is none', [1, 'handle', 'batch']],
    ['a batch with a broken ballot', [1, 'handle', [1, 'k', 1, -5, 'p', 1, null, 0]]],
    ['a configuration that is none', [1, 'install', '{"cluster":7}']],
    ['a configuration that is no JSON', [1, 'install', 'x']],
  ])('answers %s with an error, and changes nothing', async (_, call) => {
    const service = await TestService.start();
    const client = await RawClient.upgrade(service.port);
    client.socket.write(frame(pack(call)));
    await client.until((text) => text.includes('PROTOCOL_MISMATCH'));
    expect(client.isClosed).toBe(false);
    expect(service.disk.sequence).toBe(0);
    expect(service.disk.configuration).toBeUndefined();
  });

  test('reads no calls behind one that cannot be read', async () => {
    const service = await TestService.start();
    const client = await RawClient.upgrade(service.port);
    client.socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    await until('the stream has ended', () => client.isClosed);
    client.socket.write(frame(pack([1, 'handle', flattenRequests([accept('k', 1, 'v')])])));
    const other = clientOf(service);
    expect(valueIn((await other.handle([query('k')], 0))[0])).toBeUndefined();
  });

  test('a request over its limit ends with REQUEST_TOO_LARGE, and changes nothing', async () => {
    const service = await TestService.start({ maxRequestBytes: 1000 });
    const client = clientOf(service);
    expect(await errorOf(client.handle([accept('k', 1, 'x'.repeat(2000))], 0))).toMatchObject({
      code: 'REQUEST_TOO_LARGE',
    });
    expect(service.disk.sequence).toBe(0);
    await until(
      'the client is connected again',
      async () => (await client.describe().catch(() => undefined)) !== undefined,
    );
  });

  test('a key that is too long is refused by the service itself', async () => {
    const service = await TestService.start();
    const client = clientOf(service);
    const replies = await client.handle([accept('k'.repeat(5000), 1, 'v'), accept('good', 1, 'v')], 0);
    expect(typesOf(replies)).toEqual(['failed', '2b']);
    // Nor does it break the next checkpoint.
    await service.disk.list('', 10);
    expect(service.disk.isBroken).toBe(false);
  });

  test('one that never reads its answers is not read from without end, and others are served', async () => {
    const service = await TestService.start();
    const client = clientOf(service);
    await client.handle([accept('k', 1, 'x'.repeat(100_000))], 0);
    const slow = await RawClient.upgrade(service.port);
    slow.socket.pause();
    const question = frame(pack([1, 'handle', flattenRequests([query('k')])]));
    const before = service.disk.counters.requests;
    // Ten thousand questions are a gigabyte of answers: it must stop asking itself for more long before.
    for (let at = 0; at < 10_000; at += 1) slow.socket.write(question);
    await until('it has begun', () => service.disk.counters.requests > before);
    for (let at = 0; at < 20; at += 1)
      expect(valueIn((await client.handle([query('k')], 0))[0])).toHaveLength(100_000);
    expect(service.disk.counters.requests - before).toBeLessThan(5000);
  });
});

describe('the acceptor service when it stops', () => {
  test('answers what was begun, and refuses what comes after', async () => {
    const service = await TestService.start();
    const client = clientOf(service);
    await client.describe();
    const begun = Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => client.handle([accept(`k${at}`, 1, 'v')], 0)),
    );
    await until('it has begun', () => service.disk.counters.requests > 0);
    const { disk } = service;
    await service.server.close();
    const answers = await begun;
    const acknowledged = answers.filter(({ status }) => status === 'fulfilled').length;
    expect(await disk.list('', 100).then((keys) => keys.length)).toBeGreaterThanOrEqual(acknowledged);
    expect(await errorOf(client.describe())).toMatchObject({ code: 'UNREACHABLE' });
  });

  test('does not wait for a client that does not go', async () => {
    const service = await TestService.start();
    const client = await RawClient.upgrade(service.port);
    await service.server.close();
    await until('the stream has ended', () => client.isClosed);
  });

  test('does not wait for a client that has not finished asking', async () => {
    const service = await TestService.start();
    const client = await RawClient.connect(service.port);
    client.socket.write('GET /health HTTP/1.1\r\nHost: x\r\n');
    await service.server.close();
  });
});
