import { describe, expect, test } from 'vitest';
import { gate } from '../../test/caspaxos/clusters.ts';
import { accept, promise } from '../../test/conformance/messages.ts';
import { until } from '../../test/support/until.ts';
import type { Acceptor } from './acceptors.ts';
import { Batcher } from './batcher.ts';
import type { RegisterReply, RegisterRequest } from './core/index.ts';
import { NODE_HOST } from './node-host.ts';

interface Log {
  readonly batches: number[];
  readonly failures: string[];
  successes: number;
}

function batcherOver(
  handle: Acceptor['handle'],
  options: { concurrency?: number; timeoutMs?: number; maxWaiting?: number; isUrgent?: boolean } = {},
): { batcher: Batcher; log: Log } {
  const log: Log = { batches: [], failures: [], successes: 0 };
  const acceptor = {
    url: 'test:',
    concurrency: options.concurrency ?? 1,
    handle,
  } as Partial<Acceptor> as Acceptor;
  const batcher = new Batcher(acceptor, 4, {
    host: NODE_HOST,
    timeoutMs: options.timeoutMs ?? 10_000,
    maxWaiting: options.maxWaiting ?? 1000,
    isUrgent: () => options.isUrgent ?? true,
    onBatch: (messages) => log.batches.push(messages),
    onFailure: ({ code }) => log.failures.push(code),
    onSuccess: () => (log.successes += 1),
  });
  return { batcher, log };
}

function send(batcher: Batcher, request: RegisterRequest): Promise<RegisterReply> {
  return new Promise((resolve) => batcher.send(request, (_index, reply) => resolve(reply)));
}

const echo: Acceptor['handle'] = async (requests, index) =>
  requests.map(({ key }) => ({ type: 'failed', acceptor: index, code: key, message: 'echo' }));

describe('the way to one acceptor', () => {
  test('carries what is sent in one turn together, and gives each its own answer', async () => {
    const { batcher, log } = batcherOver(echo);
    const replies = await Promise.all(['a', 'b', 'c'].map((key) => send(batcher, promise(key, 1))));
    expect(replies).toMatchObject([{ code: 'a', acceptor: 4 }, { code: 'b' }, { code: 'c' }]);
    expect(log).toEqual({ batches: [3], failures: [], successes: 1 });
  });

  test('lets the next batch grow while as many are under way as the acceptor can use', async () => {
    const held = gate();
    let most = 0;
    let open = 0;
    const { batcher, log } = batcherOver(
      async (requests, index) => {
        open += 1;
        most = Math.max(most, open);
        await held.passed;
        open -= 1;
        return echo(requests, index);
      },
      { concurrency: 2 },
    );
    const work: Promise<RegisterReply>[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      work.push(send(batcher, promise(`k${turn}`, 1)));
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    }
    held.open();
    await Promise.all(work);
    expect(most).toBe(2);
    expect(log.batches).toEqual([1, 1, 4]);
  });

  test('answers every message of a batch that failed, and goes on', async () => {
    let isBroken = true;
    const { batcher, log } = batcherOver(async (requests, index) => {
      if (isBroken) throw new Error('no');
      return echo(requests, index);
    });
    const failed = await Promise.all([send(batcher, promise('a', 1)), send(batcher, promise('b', 1))]);
    expect(failed).toMatchObject([
      { type: 'failed', code: 'UNREACHABLE', acceptor: 4 },
      { code: 'UNREACHABLE' },
    ]);
    isBroken = false;
    expect(await send(batcher, promise('c', 1))).toMatchObject({ code: 'c' });
    expect(log).toEqual({ batches: [2, 1], failures: ['UNREACHABLE'], successes: 1 });
  });

  test('does not wait for ever: what comes late is dropped, and what waits goes on', async () => {
    const held = gate();
    let calls = 0;
    const { batcher, log } = batcherOver(
      async (requests, index) => {
        calls += 1;
        if (calls === 1) await held.passed;
        return echo(requests, index);
      },
      { timeoutMs: 30 },
    );
    let answers = 0;
    const first = send(batcher, promise('a', 1)).then((reply) => ((answers += 1), reply));
    await until('the first is under way', () => calls === 1);
    const second = send(batcher, promise('b', 1));
    expect(await first).toMatchObject({ type: 'failed', code: 'TIMED_OUT' });
    expect(await second).toMatchObject({ code: 'b' });
    held.open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(answers).toBe(1);
    expect(log.failures).toEqual(['TIMED_OUT']);
  });

  test('takes its time when nobody waits for this acceptor, and carries all of that together', async () => {
    const { batcher, log } = batcherOver(echo, { isUrgent: false });
    const first = send(batcher, promise('a', 1));
    await Promise.resolve();
    const second = send(batcher, promise('b', 1));
    expect(await Promise.all([first, second])).toMatchObject([{ code: 'a' }, { code: 'b' }]);
    expect(log.batches).toEqual([2]);
  });

  test('refuses at once what is too much to wait', async () => {
    const held = gate();
    const { batcher } = batcherOver(
      async (requests, index) => {
        await held.passed;
        return echo(requests, index);
      },
      { maxWaiting: 2 },
    );
    const work = ['a', 'b', 'c'].map((key) => send(batcher, promise(key, 1)));
    expect(await work[2]).toMatchObject({ type: 'failed', code: 'OVERLOADED' });
    held.open();
    expect(await Promise.all(work.slice(0, 2))).toMatchObject([{ code: 'a' }, { code: 'b' }]);
  });

  test('divides by size as well as by number, and sends what is large alone', async () => {
    const { batcher, log } = batcherOver(echo);
    const large = 'x'.repeat(2_000_000);
    const half = 'x'.repeat(400_000);
    const values = [half, half, half, large, 'small', half];
    await Promise.all(values.map((value, at) => send(batcher, accept(`k${at}`, 1, value))));
    expect(log.batches).toEqual([2, 1, 1, 2]);
  });
});
