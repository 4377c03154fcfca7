import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Acceptor,
  AcceptorServer,
  DiskAcceptor,
  openAcceptor,
  openCluster,
  type RegisterReply,
} from '../../caspaxos/index.ts';
import { CHECK_REGISTER, SERVICE_STEPS, surveyService } from './service-checks.ts';
import type { Findings } from './survey.ts';

let directory: string;
let disk: DiskAcceptor;
let server: AcceptorServer;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'baton-check-'));
  disk = await DiskAcceptor.open({ directory });
  server = await AcceptorServer.listen(disk, { host: '127.0.0.1', port: 0 });
});

afterEach(async () => {
  await server.close();
  await disk.close();
  rmSync(directory, { recursive: true });
});

function connect(): Acceptor {
  return openAcceptor(server.url, { timeoutMs: 5000 });
}

function survey(open: () => Acceptor = connect, onStep = (): void => {}): Promise<Findings> {
  let clock = 0;
  return surveyService(open, {
    run: '000000000000',
    races: 5,
    pace: { now: () => (clock += 1), samples: 5, budgetMs: 1000 },
    onStep,
  });
}

async function intoSet(): Promise<void> {
  const cluster = await openCluster({ acceptors: [server.url] });
  await cluster.change('k', () => 1);
  await cluster.close();
}

describe('an acceptor service', () => {
  test('in no set is asked, and stays empty, so that it can be taken into one', async () => {
    const { member, checks, latencies } = await survey();
    expect(member).toMatchObject({ set: 0, holdsRegisters: false });
    expect(checks.map(({ name, result }) => [name, result])).toEqual([
      ['promises', 'not done'],
      ['queries', 'passed'],
    ]);
    expect(latencies.map(({ what }) => what)).toEqual(['query', 'queries of 100']);
    await intoSet();
  });

  test('in a set is raced, with promises of one register that never gets a value', async () => {
    await intoSet();
    let steps = 0;
    for (let again = 0; again < 2; again += 1) {
      steps = 0;
      const { member, checks, latencies } = await survey(connect, () => (steps += 1));
      expect(member).toMatchObject({ set: 1, holdsRegisters: true });
      expect(checks.every(({ result }) => result === 'passed')).toBe(true);
      expect(latencies).toHaveLength(3);
    }
    expect(steps).toBe(SERVICE_STEPS);
    const acceptor = connect();
    expect(await acceptor.list('', 10)).toEqual([CHECK_REGISTER, 'k']);
    const [state] = await acceptor.handle([{ key: CHECK_REGISTER, set: 1, message: { type: 'query' } }], 0);
    expect(state).toMatchObject({ type: 'state', value: undefined });
    await acceptor.close();
  });

  test('that was checked can be replaced like any other: its registers are rewritten', async () => {
    await intoSet();
    await survey();
    const place = `memory:check-service-${process.pid}`;
    const cluster = await openCluster({ acceptors: [server.url] });
    await cluster.changeAcceptors([place]);
    expect((await cluster.read('k')).value).toBe(1);
    await cluster.close();
  });
});

describe('a planted defect is caught', () => {
  /** Every connection's answers pass through `change`. */
  function changing(change: (replies: readonly RegisterReply[]) => readonly RegisterReply[]): () => Acceptor {
    return () => {
      const acceptor = connect();
      return new Proxy(acceptor, {
        get(target, name) {
          if (name === 'handle') {
            return async (...args: Parameters<Acceptor['handle']>) => change(await target.handle(...args));
          }
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    };
  }

  test('when promises are forgotten', async () => {
    await intoSet();
    const { checks } = await survey(
      changing((replies) =>
        replies.map((reply) =>
          reply.type === 'nak'
            ? {
                type: '1b',
                acceptor: 0,
                ballot: reply.ballot,
                accepted: { counter: 0, proposer: '', incarnation: 0 },
                value: undefined,
              }
            : reply,
        ),
      ),
    );
    expect(checks[0]).toMatchObject({
      result: 'failed',
      remark: 'A ballot was promised after a higher one had been.',
    });
  });

  test('when a refusal tells of an older promise', async () => {
    await intoSet();
    const { checks } = await survey(
      changing((replies) =>
        replies.map((reply) =>
          reply.type === 'nak' ? { ...reply, promised: { ...reply.promised, counter: 1 } } : reply,
        ),
      ),
    );
    expect(checks[0]).toMatchObject({
      result: 'failed',
      remark: 'A promise that was answered is forgotten.',
    });
  });

  test('when two connections reach two acceptors', async () => {
    await intoSet();
    let count = 0;
    const { checks } = await survey(() => {
      const acceptor = connect();
      count += 1;
      const at = count;
      return new Proxy(acceptor, {
        get(target, name) {
          if (name === 'describe')
            return async () => ({ ...(await target.describe()), ...(at === 2 && { id: 'other' }) });
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    });
    expect(checks[1]).toMatchObject({ result: 'failed', remark: expect.stringContaining('two acceptors') });
  });
});
