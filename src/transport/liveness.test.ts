import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dialTo, listen, pair, RawSocket, rpcErrorOf } from '../../test/transport/rpc-scene.ts';
import { until } from '../../test/support/until.ts';
import { encodeHello } from './handshake.ts';

const QUICK = { pingEveryMs: 5, silentAfterMs: 60 };
const hello = encodeHello({
  role: 'node',
  cluster: 'test',
  node: 'raw',
  region: 'r',
  incarnation: 1,
  versions: { oldest: 1, newest: 1 },
  maxFrameBytes: 1 << 20,
  maxRequests: 100,
  link: '',
  epoch: 0,
  token: '',
});

function framed(payload: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

/** A peer that has shaken hands and from then on does what the test says. */
async function rawPeer(limits: object) {
  const scene = await listen(
    { onRequest: (_, payload) => Buffer.alloc(payload.readUInt32BE(0)) },
    { limits },
  );
  const raw = await RawSocket.connect(scene);
  raw.socket.write(framed(hello));
  await until('the peer is welcomed', () => scene.accepted.length === 1);
  return { raw, server: scene.accepted[0]! };
}

describe('liveness', () => {
  test('pings, measures the round trip, and keeps quiet connections open', async () => {
    const { client, server } = await pair({}, { server: QUICK, client: QUICK });
    await until('both have measured', () => client.rttMs !== undefined && server.rttMs !== undefined);
    expect(client.rttMs).toBeGreaterThanOrEqual(0);
    const heard = client.lastHeardAt;
    await until('much was heard since', () => client.lastHeardAt > heard + 2 * QUICK.silentAfterMs);
    expect(client.isOpen && server.isOpen).toBe(true);
  });

  test('gives up a peer that says nothing', async () => {
    const { server } = await rawPeer(QUICK);
    expect(await server.closed).toMatchObject({ code: 'PEER_SILENT' });
  });

  test('does not blame the other side for its own sleep', async () => {
    const { client, server } = await pair({}, { server: QUICK, client: QUICK });
    await until('it has measured', () => client.rttMs !== undefined);
    const asleepUntil = performance.now() + 3 * QUICK.silentAfterMs;
    while (performance.now() < asleepUntil);
    const heard = client.lastHeardAt;
    await until(
      'something was heard since',
      () => client.lastHeardAt > heard && client.lastHeardAt > asleepUntil,
    );
    expect(client.isOpen && server.isOpen).toBe(true);
  });

  test('hears a peer that has stopped reading, and judges nobody while it does not read itself', async () => {
    const { client, server } = await pair({}, { server: QUICK, client: QUICK });
    server.pauseReading();
    const heard = client.lastHeardAt;
    await until('much was heard since', () => client.lastHeardAt > heard + 3 * QUICK.silentAfterMs);
    expect(client.isOpen && server.isOpen).toBe(true);
    server.resumeReading();
    const resumed = server.lastHeardAt;
    await until('much was heard since', () => server.lastHeardAt > resumed + 2 * QUICK.silentAfterMs);
    expect(client.isOpen && server.isOpen).toBe(true);
  });

  test('gives up a peer that does not read what it is sent', async () => {
    const limits = { pingEveryMs: 5, stalledAfterMs: 60 };
    const { client, server } = await pair({}, { client: limits });
    server.pauseReading();
    const payload = Buffer.alloc(100_000);
    while (client.send(1, payload)) await new Promise((resolve) => setImmediate(resolve));
    expect(await client.closed).toMatchObject({ code: 'PEER_STALLED' });
  });
});

describe('a peer that breaks the rules', () => {
  test.each([
    ['an empty message', Buffer.alloc(0), 'PROTOCOL_VIOLATION'],
    ['a message of an unknown kind', Buffer.from('6300000001', 'hex'), 'PROTOCOL_VIOLATION'],
    ['a message without its channel', Buffer.from('0101', 'hex'), 'PROTOCOL_VIOLATION'],
    ['a request without its method', Buffer.from('0200000001', 'hex'), 'PROTOCOL_VIOLATION'],
    ['a failure without its code', Buffer.from('0400000001', 'hex'), 'PROTOCOL_VIOLATION'],
    ['a goodbye without its code', Buffer.from('08', 'hex'), 'PROTOCOL_VIOLATION'],
    ['a frame that is too large', Buffer.alloc(1001), 'FRAME_TOO_LARGE'],
  ])('by sending %s is told so and left', async (_, payload, code) => {
    const { raw, server } = await rawPeer({ maxFrameBytes: 1000 });
    // It is still writing when it is told.
    raw.socket.write(Buffer.concat([framed(payload), Buffer.alloc(20_000_000)]));
    expect(await server.closed).toMatchObject({ code });
    await raw.closed;
    expect(raw.received.toString('latin1')).toContain(`\b${String.fromCharCode(code.length)}${code}`);
  });

  test('by using a number twice is left', async () => {
    const scene = await listen({ onRequest: () => new Promise<Buffer>(() => undefined) });
    const raw = await RawSocket.connect(scene);
    const request = framed(Buffer.from('0200000001000100001388', 'hex'));
    raw.socket.write(Buffer.concat([framed(hello), request, request]));
    await until('the peer is welcomed', () => scene.accepted.length === 1);
    expect(await scene.accepted[0]!.closed).toMatchObject({ code: 'PROTOCOL_VIOLATION' });
  });

  test('by asking for ever and never reading gets no more begun, and is cut off', async () => {
    let begun = 0;
    const limits = { highWaterBytes: 200_000, maxUnsentBytes: 400_000 };
    const onRequest = () => {
      begun += 1;
      return Buffer.alloc(50_000);
    };
    const scene = await listen({ onRequest }, { limits });
    const raw = await RawSocket.connect(scene);
    raw.socket.pause();
    raw.socket.write(framed(hello));
    await until('the peer is welcomed', () => scene.accepted.length === 1);
    const server = scene.accepted[0]!;
    let id = 0;
    let most = 0;
    const over = server.closed.then(() => true);
    while (
      !(await Promise.race([over, new Promise<false>((resolve) => setImmediate(() => resolve(false)))]))
    ) {
      const requests = Array.from({ length: 500 }, () => {
        id += 1;
        const request = Buffer.from('0200000000000100001388', 'hex');
        request.writeUInt32BE(id, 1);
        return framed(request);
      });
      raw.socket.write(Buffer.concat(requests));
      most = Math.max(most, server.queuedBytes);
    }
    expect(await server.closed).toMatchObject({ code: 'PEER_STALLED' });
    expect(most).toBeLessThan(600_000);
    expect(begun).toBeLessThan(id / 2);
  });

  test('by falling silent in the middle of a frame is given up, and its calls are lost', async () => {
    const { raw, server } = await rawPeer({ ...QUICK });
    const call = rpcErrorOf(server.call(1, [], { timeoutMs: 60_000 }));
    raw.socket.write(Buffer.from('000000640100', 'hex'));
    expect(await call).toMatchObject({ code: 'PEER_SILENT', outcome: 'unknown' });
  });

  test('by sending many answers late that nobody reads is cut off too', async () => {
    const answers: ((payload: Buffer) => void)[] = [];
    const limits = { highWaterBytes: 1 << 20, maxUnsentBytes: 1 << 22, pingEveryMs: 60_000 };
    const onRequest = () => new Promise<Buffer>((resolve) => answers.push(resolve));
    const { client, server } = await pair(
      { server: { onRequest } },
      { server: limits, client: { pingEveryMs: 60_000 } },
    );
    client.pauseReading();
    const calls = Array.from({ length: 100 }, () => rpcErrorOf(client.call(1, [], { timeoutMs: 60_000 })));
    await until('all requests are there', () => answers.length === 100);
    for (const answer of answers) answer(Buffer.alloc(500_000));
    expect(await server.closed).toMatchObject({ code: 'PEER_STALLED' });
    client.destroy();
    expect(new Set((await Promise.all(calls)).map(({ outcome }) => outcome))).toEqual(new Set(['unknown']));
  });

  test('by sending frames of chance breaks nothing here', async () => {
    const onRequest = (_method: number, payload: Buffer) => payload;
    const scene = await listen({ onRequest, onMessage: () => undefined });
    const frames = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.uint8Array({ maxLength: 40 })), {
      maxLength: 30,
    });
    const property = fc.asyncProperty(frames, async (sent) => {
      const before = scene.accepted.length;
      const raw = await RawSocket.connect(scene);
      raw.socket.write(framed(hello));
      await until('the peer is welcomed', () => scene.accepted.length > before);
      for (const [kind, bytes] of sent) raw.socket.write(framed(Buffer.from([kind, ...bytes])));
      raw.socket.end();
      const { code } = await scene.accepted.at(-1)!.closed;
      expect(code).not.toBe('HANDLER_FAILED');
    });
    await fc.assert(property, { seed: 6, numRuns: 60 });
    const good = await dialTo(scene);
    expect(await good.call(1, Buffer.from('fine'), { timeoutMs: 60_000 })).toEqual(Buffer.from('fine'));
  });

  test('harms no other', async () => {
    const scene = await listen({ onRequest: (_, payload) => payload });
    const good = await dialTo(scene);
    const raw = await RawSocket.connect(scene);
    raw.socket.write(Buffer.concat([framed(hello), Buffer.alloc(1000, 255)]));
    await raw.closed;
    expect(await good.call(1, Buffer.from('fine'), { timeoutMs: 60_000 })).toEqual(Buffer.from('fine'));
  });
});
