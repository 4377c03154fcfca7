import { describe, expect, test } from 'vitest';
import { NODE_HOST, pair, rpcErrorOf } from '../../test/transport/rpc-scene.ts';
import { until } from '../../test/support/until.ts';
import { RpcError } from './errors.ts';
import type { RequestContext } from './requests.ts';

const CALL = { timeoutMs: 60_000 };
const text = (payload: Uint8Array) => Buffer.from(payload).toString();
const never = () => new Promise<Buffer>(() => undefined);

/** Requests that stay under way until the test answers them. */
class HeldRequests {
  readonly held: { payload: string; context: RequestContext; answer: (payload: Uint8Array) => void }[] = [];

  readonly handler = (_method: number, payload: Buffer, context: RequestContext) =>
    new Promise<Uint8Array>((answer) => {
      this.held.push({ payload: text(payload), context, answer });
    });

  answerAll(): void {
    for (const { payload, answer } of this.held.splice(0)) answer(Buffer.from(payload));
  }
}

describe('calls', () => {
  test('get their answers, thousands at once, both ways, answered at once or later', async () => {
    const onRequest = (method: number, payload: Buffer) => {
      const answer = Buffer.from(`${method}:${text(payload)}`);
      return payload.length % 2 === 0 ? answer : Promise.resolve(answer);
    };
    const { client, server } = await pair({ server: { onRequest }, client: { onRequest } });
    const calls = Array.from({ length: 5000 }, (_, i) => ({ i, caller: i % 2 === 0 ? client : server }));
    const answers = await Promise.all(
      calls.map(async ({ i, caller }) => text(await caller.call(i, Buffer.from(`call ${i}`), CALL))),
    );
    expect(answers).toEqual(calls.map(({ i }) => `${i}:call ${i}`));
    expect(client.load).toEqual({ onWire: 0, waiting: 0, requests: 0 });
  });

  test('are answered in any order', async () => {
    const requests = new HeldRequests();
    const { client } = await pair({ server: { onRequest: requests.handler } });
    const answers = ['a', 'b', 'c'].map((name) => client.call(1, Buffer.from(name), CALL));
    await until('three requests are there', () => requests.held.length === 3);
    requests.held.reverse();
    requests.answerAll();
    expect((await Promise.all(answers)).map(text)).toEqual(['a', 'b', 'c']);
  });

  test('carry large payloads and payloads in parts', async () => {
    const { client } = await pair({ server: { onRequest: (_, payload) => [payload, payload] } });
    const large = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, i) => i * 31));
    const answer = await client.call(1, [large, Buffer.from('end')], CALL);
    expect(answer.equals(Buffer.concat([large, Buffer.from('end'), large, Buffer.from('end')]))).toBe(true);
  });

  test('fail with what the handler throws, and with no more than that if it is not meant for them', async () => {
    const errors: unknown[] = [];
    const secret = new Error('the password is 1234');
    const onRequest = (method: number) => {
      if (method === 1) throw new RpcError('NOT_WRITER', 'This is no writer.', { retryAfterMs: 7 });
      if (method === 2) return Promise.reject(new RpcError('LATE', 'Too late.', { outcome: 'unknown' }));
      throw secret;
    };
    const onHandlerError = (error: unknown, method: number) => errors.push([error, method]);
    const { client } = await pair({ server: { onRequest, onHandlerError } });
    const failure = (method: number) => rpcErrorOf(client.call(method, [], CALL));
    expect(await failure(1)).toMatchObject({ code: 'NOT_WRITER', outcome: 'rejected', retryAfterMs: 7 });
    expect(await failure(2)).toMatchObject({ code: 'LATE', message: 'Too late.', outcome: 'unknown' });
    expect(await failure(3)).toMatchObject({
      code: 'HANDLER_FAILED',
      message: 'Method 3 failed.',
      outcome: 'unknown',
    });
    expect(errors).toEqual([[secret, 3]]);
  });

  test('are refused where nobody takes requests', async () => {
    const { client } = await pair();
    expect(await rpcErrorOf(client.call(1, [], CALL))).toMatchObject({
      code: 'METHOD_UNKNOWN',
      outcome: 'rejected',
    });
  });

  test('time out, and tell the handler; the late answer harms nobody', async () => {
    const requests = new HeldRequests();
    const { client } = await pair({ server: { onRequest: requests.handler } });
    const late = client.call(1, Buffer.from('late'), { timeoutMs: 20 });
    expect(await rpcErrorOf(late)).toMatchObject({ code: 'TIMED_OUT', outcome: 'unknown' });
    await until('the first is given up', () => requests.held[0]?.context.signal.aborted === true);
    const next = client.call(1, Buffer.from('next'), CALL);
    await until('two requests are there', () => requests.held.length === 2);
    requests.answerAll();
    expect(text(await next)).toBe('next');
  });

  test('tell the handler how long their caller waits', async () => {
    const requests = new HeldRequests();
    const { client } = await pair({ server: { onRequest: requests.handler } });
    const before = NODE_HOST.now();
    const call = client.call(1, [], { timeoutMs: 100_000 });
    await until('a request is there', () => requests.held.length === 1);
    const { deadline } = requests.held[0]!.context;
    expect(deadline).toBeGreaterThanOrEqual(before + 100_000);
    expect(deadline).toBeLessThanOrEqual(NODE_HOST.now() + 100_000);
    requests.answerAll();
    await call;
  });

  test('can be given up: before they begin, on the wire, and in line', async () => {
    const requests = new HeldRequests();
    const limits = { client: { maxCalls: 1 } };
    const { client } = await pair({ server: { onRequest: requests.handler } }, limits);
    const give = new AbortController();
    expect(await rpcErrorOf(client.call(1, [], { ...CALL, signal: AbortSignal.abort() }))).toMatchObject({
      code: 'ABORTED',
      outcome: 'rejected',
    });
    const onWire = rpcErrorOf(client.call(1, [], { ...CALL, signal: give.signal }));
    const inLine = rpcErrorOf(client.call(1, [], { ...CALL, signal: give.signal }));
    await until('a request is there', () => requests.held.length === 1);
    give.abort();
    expect(await onWire).toMatchObject({ code: 'ABORTED', outcome: 'unknown' });
    expect(await inLine).toMatchObject({ code: 'ABORTED', outcome: 'rejected' });
    await until('the request is given up', () => requests.held[0]!.context.signal.aborted);
    expect(requests.held).toHaveLength(1);
  });

  test('over what the other side takes at once wait in line, and over the line are refused', async () => {
    const requests = new HeldRequests();
    const limits = { server: { maxRequests: 2 }, client: { maxWaitingCalls: 3 } };
    const { client } = await pair({ server: { onRequest: requests.handler } }, limits);
    const calls = ['a', 'b', 'c', 'd', 'e'].map((name) => client.call(1, Buffer.from(name), CALL));
    expect(await rpcErrorOf(client.call(1, [], CALL))).toMatchObject({
      code: 'BUSY',
      outcome: 'rejected',
      retryAfterMs: 20,
    });
    await until('two requests are there', () => requests.held.length === 2);
    expect(client.load).toMatchObject({ onWire: 2, waiting: 3 });
    const answers = Promise.all(calls);
    while (client.load.onWire > 0) {
      requests.answerAll();
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    expect((await answers).map(text)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('that gave up in line make room there', async () => {
    const limits = { client: { maxCalls: 1, maxWaitingCalls: 2 } };
    const { client } = await pair({ server: { onRequest: never } }, limits);
    const pending = [client.call(1, [], CALL)];
    const give = new AbortController();
    const gone = [1, 2].map(() => rpcErrorOf(client.call(1, [], { ...CALL, signal: give.signal })));
    give.abort();
    await Promise.all(gone);
    pending.push(client.call(1, [], CALL));
    expect(client.load).toMatchObject({ onWire: 1, waiting: 1 });
    const lost = pending.map(rpcErrorOf);
    client.destroy();
    const outcomes = (await Promise.all(lost)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['unknown', 'rejected']);
  });

  test('over what a side takes are answered BUSY and not begun', async () => {
    const requests = new HeldRequests();
    const limits = { server: { maxRequestBytes: 1000, busyRetryMs: 33 } };
    const { client } = await pair({ server: { onRequest: requests.handler } }, limits);
    const begun = [0, 1].map(() => client.call(1, Buffer.alloc(600), CALL));
    const refused = client.call(1, Buffer.alloc(600), CALL);
    expect(await rpcErrorOf(refused)).toMatchObject({ code: 'BUSY', outcome: 'rejected', retryAfterMs: 33 });
    expect(requests.held).toHaveLength(2);
    requests.answerAll();
    await Promise.all(begun);
  });

  test('of who does not read the answers are answered BUSY and not begun', async () => {
    let begun = 0;
    let queuedBytes: number | undefined;
    const onRequest = () => {
      begun += 1;
      return Buffer.alloc(100_000);
    };
    const onMessage = () => {
      queuedBytes = server.queuedBytes;
    };
    const limits = { server: { highWaterBytes: 300_000 } };
    const { client, server } = await pair({ server: { onRequest, onMessage } }, limits);
    client.pauseReading();
    const calls = Array.from({ length: 300 }, () =>
      client.call(1, [], CALL).then(
        () => 'answered',
        ({ code, outcome }: RpcError) => `${code} ${outcome}`,
      ),
    );
    client.send(1, Buffer.from('behind the calls'));
    await until('it has been sent', () => queuedBytes !== undefined);
    expect(queuedBytes).toBeLessThan(300_000 + 100_009 + 300 * 100);
    client.resumeReading();
    const outcomes = await Promise.all(calls);
    expect(outcomes.filter((outcome) => outcome === 'answered')).toHaveLength(begun);
    expect(outcomes.filter((outcome) => outcome === 'BUSY rejected')).toHaveLength(300 - begun);
    expect(begun).toBeLessThan(300);
  });

  test('that are too large are refused here, and answers that are too large there', async () => {
    const limits = { server: { maxFrameBytes: 1000 }, client: { maxFrameBytes: 2000 } };
    const onRequest = (_method: number, payload: Buffer) => Buffer.alloc(payload.length * 3);
    const { client } = await pair({ server: { onRequest } }, limits);
    expect(await client.call(1, Buffer.alloc(600), CALL)).toHaveLength(1800);
    expect(await rpcErrorOf(client.call(1, Buffer.alloc(990), CALL))).toMatchObject({
      code: 'FRAME_TOO_LARGE',
      outcome: 'rejected',
    });
    expect(await rpcErrorOf(client.call(1, Buffer.alloc(980), CALL))).toMatchObject({
      code: 'FRAME_TOO_LARGE',
      outcome: 'unknown',
    });
    expect(() => client.send(1, Buffer.alloc(998))).toThrow(
      expect.objectContaining({ code: 'FRAME_TOO_LARGE' }),
    );
    expect(client.isOpen).toBe(true);
  });
});

describe('messages', () => {
  test('arrive in order, of all sizes, both ways', async () => {
    const got: { server: string[]; client: string[] } = { server: [], client: [] };
    const take = (end: 'server' | 'client') => (channel: number, payload: Buffer) =>
      got[end].push(`${channel} ${payload.length} ${payload[0]}`);
    const { client, server } = await pair({
      server: { onMessage: take('server') },
      client: { onMessage: take('client') },
    });
    const sent: string[] = [];
    for (let i = 0; i < 2000; i += 1) {
      const payload = Buffer.alloc(1 + ((i * 7919) % (i % 50 === 0 ? 30_000 : 500)), i);
      sent.push(`${i % 300} ${payload.length} ${i % 256}`);
      while (!client.send(i % 300, payload) || !server.send(i % 300, [payload]))
        await until('nothing is queued', () => client.queuedBytes === 0);
    }
    await until('all have arrived', () => got.server.length === 2000 && got.client.length === 2000);
    expect(got).toEqual({ server: sent, client: sent });
  });

  test('are refused while a reader is slow: what is held is bounded, and nothing that was taken is lost', async () => {
    const got: number[] = [];
    let drained = 0;
    const highWaterBytes = 1_000_000;
    const { client, server } = await pair(
      {
        server: { onMessage: (_, payload) => got.push(payload.readUInt32BE(0)) },
        client: {
          onDrained: () => {
            drained += 1;
          },
        },
      },
      { client: { highWaterBytes } },
    );
    server.pauseReading();
    const payload = (number: number) => {
      const bytes = Buffer.alloc(10_000);
      bytes.writeUInt32BE(number);
      return bytes;
    };
    let sent = 0;
    let refusals = 0;
    // What the kernel takes comes first; then no more is taken, turn after turn.
    while (refusals < 20) {
      if (client.send(1, payload(sent))) {
        sent += 1;
        refusals = 0;
      } else {
        refusals += 1;
        await new Promise((resolve) => {
          setTimeout(resolve, 2);
        });
      }
      expect(client.queuedBytes).toBeLessThanOrEqual(highWaterBytes + 10_007);
    }
    const before = drained;
    server.resumeReading();
    await until('there is room again', () => drained > before);
    expect(client.send(1, payload(sent))).toBe(true);
    await until('all have arrived', () => got.length === sent + 1);
    expect(got).toEqual(Array.from({ length: sent + 1 }, (_, i) => i));
  });

  test('that cannot be taken end the connection, and the sender hears why', async () => {
    const cause = new Error('what is this?');
    const onMessage = () => {
      throw cause;
    };
    const { client, server } = await pair({ server: { onMessage } });
    client.send(5, Buffer.from('x'));
    expect(await server.closed).toMatchObject({ code: 'HANDLER_FAILED', cause });
    expect(await client.closed).toMatchObject({
      code: 'HANDLER_FAILED',
      message: 'A message on channel 5 could not be taken.',
    });
    expect(client.send(5, Buffer.from('x'))).toBe(false);
  });
});

describe('a connection that ends', () => {
  test('gracefully answers what was begun on both sides, and begins nothing more', async () => {
    const [atServer, atClient] = [new HeldRequests(), new HeldRequests()];
    const got: string[] = [];
    const { client, server } = await pair({
      server: { onRequest: atServer.handler },
      client: { onRequest: atClient.handler, onMessage: (_, payload) => got.push(text(payload)) },
    });
    const calls = [
      client.call(1, Buffer.from('to server'), CALL),
      server.call(1, Buffer.from('to client'), CALL),
    ];
    await until('both requests are there', () => atServer.held.length + atClient.held.length === 2);
    server.send(1, Buffer.from('last words'));
    const closing = server.close('Going home.');
    expect(await rpcErrorOf(server.call(1, [], CALL))).toMatchObject({ code: 'CLOSED', outcome: 'rejected' });
    await until('the client knows', () => !client.isOpen);
    expect(await rpcErrorOf(client.call(1, [], CALL))).toMatchObject({
      code: 'CLOSED',
      message: 'Going home.',
      outcome: 'rejected',
    });
    atServer.answerAll();
    atClient.answerAll();
    expect((await Promise.all(calls)).map(text)).toEqual(['to server', 'to client']);
    await closing;
    expect(await client.closed).toMatchObject({ code: 'CLOSED', message: 'Going home.' });
    expect(got).toEqual(['last words']);
  });

  test('gracefully does not wait for ever', async () => {
    const { client, server } = await pair(
      { server: { onRequest: never } },
      { server: { closeTimeoutMs: 30 } },
    );
    const call = rpcErrorOf(client.call(1, [], CALL));
    await until('the request is there', () => server.load.requests === 1);
    await server.close();
    expect(await call).toMatchObject({ code: 'CLOSED', outcome: 'unknown' });
  });

  test('abruptly leaves the outcome of calls on the wire unknown, and aborts the requests', async () => {
    const requests = new HeldRequests();
    const reasons: string[] = [];
    const { client, server } = await pair({
      server: { onRequest: requests.handler, onClosed: ({ code }) => reasons.push(code) },
    });
    const call = rpcErrorOf(client.call(1, [], CALL));
    await until('a request is there', () => requests.held.length === 1);
    const { signal } = requests.held[0]!.context;
    client.destroy();
    expect(await call).toMatchObject({ outcome: 'unknown' });
    await server.closed;
    expect(signal.aborted).toBe(true);
    expect(reasons).toEqual(['CONNECTION_LOST']);
    requests.answerAll();
  });
});
