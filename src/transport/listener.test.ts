import { connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  CountingHost,
  dialTo,
  identity,
  listen,
  type ListenScene,
  NODE_HOST,
  RawSocket,
  rpcErrorOf,
} from '../../test/transport/rpc-scene.ts';
import { until } from '../../test/support/until.ts';
import { dial } from './dial.ts';
import { encodeHello, encodeWelcome, type Hello, parseReply } from './handshake.ts';
import { type Caller, Listener } from './listener.ts';

const CALL = { timeoutMs: 60_000 };
const HELLO: Hello = {
  ...identity('raw'),
  versions: { oldest: 1, newest: 1 },
  maxFrameBytes: 1 << 20,
  maxRequests: 100,
  link: '',
  epoch: 0,
  token: '',
};

function framed(payload: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

/** The refusal that a raw caller gets for these first bytes. */
async function refusalOf(scene: ListenScene, bytes: Uint8Array): Promise<unknown> {
  const raw = await RawSocket.connect(scene);
  raw.socket.write(bytes);
  await raw.closed;
  const reply = parseReply(raw.received.subarray(4));
  return 'error' in reply ? { ...reply.versions, code: reply.error.code } : reply;
}

describe('a listener', () => {
  test('tells both sides who the other is', async () => {
    const scene = await listen();
    const self = identity('n7', { role: 'client', region: 'east', incarnation: 77 });
    const client = await dialTo(scene, {}, { self });
    expect(client.peer).toEqual(identity('server'));
    expect(scene.accepted[0]!.peer).toEqual(self);
    expect([client.version, scene.accepted[0]!.version]).toEqual([1, 1]);
    expect([...scene.listener.connections]).toEqual(scene.accepted);
    client.destroy();
    await until('the connections are gone', () => scene.listener.connections.size === 0);
  });

  test.each([
    [
      'a version from the future',
      framed(encodeHello({ ...HELLO, versions: { oldest: 2, newest: 9 } })),
      'VERSION_UNSUPPORTED',
    ],
    ['another cluster', framed(encodeHello({ ...HELLO, cluster: 'other' })), 'CLUSTER_DIFFERENT'],
    ['a browser', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), 'HANDSHAKE_INVALID'],
    ['garbage in a frame', framed(Buffer.from('garbage')), 'HANDSHAKE_INVALID'],
    ['a long greeting', framed(Buffer.alloc(10_000)), 'HANDSHAKE_INVALID'],
    ['a greeting that is cut', framed(encodeHello(HELLO).subarray(0, -3)), 'HANDSHAKE_INVALID'],
  ])('refuses %s, and says why', async (_, bytes, code) => {
    const scene = await listen();
    expect(await refusalOf(scene, bytes)).toEqual({ oldest: 1, newest: 1, code });
    expect(scene.refused.map((error) => error.code)).toEqual([code]);
    expect(scene.accepted).toEqual([]);
  });

  test('waits for a greeting only so long, also when it drips', async () => {
    const scene = await listen({}, { limits: { handshakeTimeoutMs: 40 } });
    const raw = await RawSocket.connect(scene);
    raw.socket.write(Buffer.from('00001000', 'hex'));
    const drip = setInterval(() => raw.socket.write(Buffer.alloc(1)), 5);
    onTestFinished(() => clearInterval(drip));
    await raw.closed;
    expect(scene.refused.map(({ code }) => code)).toEqual(['HANDSHAKE_TIMED_OUT']);
  });

  test('forgets a caller that hangs up in its greeting', async () => {
    const scene = await listen();
    const raw = await RawSocket.connect(scene);
    raw.socket.end(framed(encodeHello(HELLO)).subarray(0, 20));
    await raw.closed;
    await until('it is refused', () => scene.refused.length === 1);
    expect(scene.accepted).toEqual([]);
  });

  test('takes a greeting in pieces, with a request right behind it', async () => {
    const scene = await listen({ onRequest: () => Buffer.from('the answer') });
    const raw = await RawSocket.connect(scene);
    const bytes = Buffer.concat([
      framed(encodeHello(HELLO)),
      framed(Buffer.from('0200000001000100001388', 'hex')),
    ]);
    for (const byte of bytes.subarray(0, -20)) {
      raw.socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    raw.socket.write(bytes.subarray(-20));
    await until('the answer is there', () => raw.received.includes('the answer'));
  });

  test('lets in who knows the token', async () => {
    const scene = await listen({}, { token: 'secret' });
    expect((await dialTo(scene, {}, { token: 'secret' })).isOpen).toBe(true);
    for (const token of [undefined, 'Secret', ''])
      expect(await rpcErrorOf(dialTo(scene, {}, { token }))).toMatchObject({ code: 'NOT_AUTHORIZED' });
  });

  test('lets in whom its owner lets in', async () => {
    const authorize = ({ role, node }: Caller, token: string) => {
      if (node === 'odd') throw new Error('a defect');
      if (token === 'key') return undefined;
      return role === 'client' ? undefined : `Node ${node} is not known.`;
    };
    const scene = await listen({}, { authorize });
    expect((await dialTo(scene, {}, { self: identity('x', { role: 'client' }) })).isOpen).toBe(true);
    expect((await dialTo(scene, {}, { self: identity('y'), token: 'key' })).isOpen).toBe(true);
    const error = await rpcErrorOf(dialTo(scene, {}, { self: identity('y') }));
    expect(error).toMatchObject({
      code: 'NOT_AUTHORIZED',
      message: expect.stringContaining('Node y is not known.'),
    });
    expect(await rpcErrorOf(dialTo(scene, {}, { self: identity('odd') }))).toMatchObject({
      code: 'NOT_AUTHORIZED',
    });
  });

  test('takes only so many connections', async () => {
    const scene = await listen({}, { maxNodeConnections: 2 });
    const [first] = [await dialTo(scene), await dialTo(scene)];
    const error = await rpcErrorOf(dialTo(scene));
    expect(error).toMatchObject({ code: 'TOO_MANY_CONNECTIONS', retryAfterMs: 3000 });
    first.destroy();
    await until('one connection is left', () => scene.listener.connections.size === 1);
    expect((await dialTo(scene)).isOpen).toBe(true);
  });

  test('has seats for nodes that no client takes', async () => {
    const scene = await listen({}, { maxConnections: 2, maxNodeConnections: 1 });
    const client = identity('c', { role: 'client' });
    for (let number = 0; number < 2; number += 1) await dialTo(scene, {}, { self: client });
    expect(await rpcErrorOf(dialTo(scene, {}, { self: client }))).toMatchObject({
      code: 'TOO_MANY_CONNECTIONS',
    });
    const node = await dialTo(scene, {}, { self: identity('n', { role: 'node' }) });
    expect(await rpcErrorOf(dialTo(scene, {}, { self: identity('m', { role: 'node' }) }))).toMatchObject({
      code: 'TOO_MANY_CONNECTIONS',
    });
    node.destroy();
    await until('its seat is free', () => scene.listener.connections.size === 2);
    await dialTo(scene, {}, { self: identity('m', { role: 'node' }) });
  });

  test('lets in who introduces himself however many strangers say nothing, and says that they had to go', async () => {
    const refused: string[] = [];
    const scene = await listen({}, { maxStrangers: 4, onRefused: ({ code }) => refused.push(code) });
    const first = await RawSocket.connect(scene);
    for (let number = 1; number < 10; number += 1) await RawSocket.connect(scene);
    await first.closed;
    const connection = await dialTo(scene);
    for (let number = 0; number < 10; number += 1) await RawSocket.connect(scene);
    const crowdedOut = (): number => refused.filter((code) => code === 'TOO_MANY_CONNECTIONS').length;
    await until('sixteen had to go', () => crowdedOut() === 16);
    expect(connection.isOpen).toBe(true);
  });

  test('keeps the latest connection of a link, and delivers nothing of an earlier one', async () => {
    const got: string[] = [];
    const scene = await listen({ onMessage: (_, payload) => got.push(payload.toString()) });
    const linkTo = (epoch: number, more = {}) =>
      dialTo(scene, {}, { link: { name: 'peer', epoch }, self: identity('a', more) });
    const first = await linkTo(1);
    const other = await dialTo(scene, {}, { link: { name: 'other', epoch: 1 }, self: identity('a') });
    scene.accepted[0]!.pauseReading();
    expect(first.send(1, Buffer.from('of the first'))).toBe(true);
    const second = await linkTo(2);
    second.send(1, Buffer.from('of the second'));
    await until('a message is there', () => got.length > 0);
    expect(await scene.accepted[0]!.closed).toMatchObject({ code: 'SUPERSEDED' });
    await first.closed;
    expect(got).toEqual(['of the second']);
    expect(await rpcErrorOf(linkTo(2))).toMatchObject({ code: 'SUPERSEDED' });
    expect(await rpcErrorOf(linkTo(9, { incarnation: 0 }))).toMatchObject({ code: 'SUPERSEDED' });
    const restarted = await linkTo(1, { incarnation: 2 });
    await second.closed;
    expect([restarted.isOpen, other.isOpen]).toEqual([true, true]);
  });

  test('closes when what was begun is answered, lets nobody in meanwhile, and leaves nothing behind', async () => {
    const host = new CountingHost();
    let answer: ((payload: Buffer) => void) | undefined;
    const onRequest = () =>
      new Promise<Buffer>((resolve) => {
        answer = resolve;
      });
    const scene = await listen({ onRequest }, { host, limits: { handshakeTimeoutMs: 600_000 } });
    const client = await dialTo(scene, {}, { host });
    const idle = await dialTo(scene, {}, { host });
    const waiting = await RawSocket.connect(scene);
    const { address } = scene.listener;
    const call = client.call(1, [], CALL);
    await until('there is an answer', () => answer !== undefined);
    const closing = scene.listener.close();
    await idle.closed;
    expect(await rpcErrorOf(dial({ host, address, self: identity('late') }))).toMatchObject({
      code: 'UNREACHABLE',
    });
    answer!(Buffer.from('done'));
    expect((await call).toString()).toBe('done');
    await closing;
    await Promise.all([client.closed, waiting.closed]);
    await until('no timer is left', () => host.timers.size === 0);
    expect(scene.listener.connections.size).toBe(0);
  });

  test.each(['0.0.0.0', '::', '192.0.2.1', 'example.org', '127.example.org'])(
    'does not listen on %s in the open',
    async (at) => {
      const refused = Listener.listen({
        host: NODE_HOST,
        address: { host: at, port: 0 },
        self: identity('a'),
        token: 'a token alone does not help',
        onConnection: () => ({}),
      });
      expect(await rpcErrorOf(refused)).toMatchObject({ code: 'LISTEN_REFUSED' });
    },
  );

  test('says when the port is taken', async () => {
    const { listener } = await listen();
    const error = await rpcErrorOf(listen({}, { address: listener.address }));
    expect(error).toMatchObject({
      code: 'LISTEN_FAILED',
      message: expect.stringContaining('the port is taken'),
    });
  });
});

describe('dialling', () => {
  /** A server that answers whatever comes with these bytes. */
  async function impostor(bytes: Uint8Array | undefined): Promise<{ host: string; port: number }> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => bytes && socket.write(bytes));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => {
      server.close();
    });
    return { host: '127.0.0.1', port: (server.address() as { port: number }).port };
  }

  const welcome = { ...identity('server'), version: 1, maxFrameBytes: 1000, maxRequests: 10 };

  test.each([
    ['another cluster', framed(encodeWelcome({ ...welcome, cluster: 'other' })), 'CLUSTER_DIFFERENT'],
    ['another node', framed(encodeWelcome({ ...welcome, node: 'other' })), 'NODE_DIFFERENT'],
    ['a version nobody asked for', framed(encodeWelcome({ ...welcome, version: 2 })), 'VERSION_UNSUPPORTED'],
    ['a greeting', framed(encodeHello(HELLO)), 'HANDSHAKE_INVALID'],
    ['a web server', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), 'HANDSHAKE_INVALID'],
    ['silence', undefined, 'HANDSHAKE_TIMED_OUT'],
  ])('does not talk to %s', async (_, bytes, code) => {
    const host = new CountingHost();
    const limits = { handshakeTimeoutMs: bytes === undefined ? 30 : 60_000 };
    const options = {
      host,
      address: await impostor(bytes),
      self: identity('a'),
      expectNode: 'server',
      limits,
    };
    expect(await rpcErrorOf(dial(options))).toMatchObject({ code });
    expect(host.timers.size).toBe(0);
  });

  test('says when nobody is there', async () => {
    const address = await impostor(undefined);
    const probe = connect(address);
    probe.destroy();
    const error = await rpcErrorOf(
      dial({ host: NODE_HOST, address: { ...address, port: 1 }, self: identity('a') }),
    );
    expect(error).toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining('127.0.0.1:1:') });
  });

  test('can be given up', async () => {
    const host = new CountingHost();
    const address = await impostor(undefined);
    const give = new AbortController();
    const dialled = dial({ host, address, self: identity('a'), signal: give.signal });
    give.abort();
    expect(await rpcErrorOf(dialled)).toMatchObject({ code: 'ABORTED' });
    expect(host.timers.size).toBe(0);
    const again = dial({ host, address, self: identity('a'), signal: give.signal });
    expect(await rpcErrorOf(again)).toMatchObject({ code: 'ABORTED' });
  });
});
