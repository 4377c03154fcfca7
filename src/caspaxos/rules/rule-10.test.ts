import { describe, expect, test } from 'vitest';
import {
  gate,
  handling,
  increment,
  memoryUrls,
  openAround,
  openFor,
} from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { accept } from '../../../test/conformance/messages.ts';
import { BallotSource, DEFAULT_PROPOSER_POLICY, majority, RegisterProposer } from '../core/index.ts';
import { DiskAcceptor } from '../service/disk-acceptor.ts';

describe('rule 10: one register has one change in flight', () => {
  test('a proposer refuses a second one', () => {
    const port = { broadcast: () => undefined, wait: () => undefined, finished: () => undefined };
    const ballots = new BallotSource({ proposer: 'p', incarnation: 1 });
    const proposer = new RegisterProposer<string>(ballots, majority(3), port, DEFAULT_PROPOSER_POLICY);
    proposer.start((current) => current);
    expect(() => proposer.start((current) => current)).toThrow('one change at a time');
  });

  test('further callers queue, and are served in order', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const finished: number[] = [];
    const order = Array.from({ length: 20 }, (_, at) => at);
    const outcomes = await Promise.all(
      order.map(async (at) => {
        const outcome = await cluster.change<number[]>('k', (list) => [...(list ?? []), at]);
        finished.push(at);
        return outcome;
      }),
    );
    expect(finished).toEqual(order);
    expect((await cluster.read('k')).value).toEqual(order);
    const versions = outcomes.map((outcome) => outcome.outcome === 'committed' && outcome.version);
    expect(versions).toEqual(order.map((at) => at + 1));
    // Two in flight would have refused each other.
    expect(cluster.counters).toMatchObject({ conflicts: 0, attempts: 20 });
  });

  test('one that waits in the queue can be given up without disturbing the others', async () => {
    const held = gate();
    const cluster = await openAround(memoryUrls(), (acceptor) =>
      handling(acceptor, async (requests, index) => {
        await held.passed;
        return acceptor.handle(requests, index);
      }),
    );
    const abort = new AbortController();
    const first = cluster.change('k', increment);
    const second = cluster.change('k', increment, { signal: abort.signal });
    const third = cluster.change('k', increment);
    abort.abort();
    expect(await second).toMatchObject({
      outcome: 'rejected',
      error: { code: 'ABORTED', outcome: 'rejected' },
    });
    held.open();
    expect(await first).toMatchObject({ outcome: 'committed', value: 1 });
    expect(await third).toMatchObject({ outcome: 'committed', value: 2 });
  });

  test('a register that is stuck does not hold up another', async () => {
    const held = gate();
    const reached = gate();
    const cluster = await openAround(memoryUrls(), (acceptor) => ({
      ...handling(acceptor, async (requests, index) => {
        if (requests.some(({ key }) => key === 'stuck')) {
          reached.open();
          await held.passed;
        }
        return acceptor.handle(requests, index);
      }),
      concurrency: 8,
    }));
    const stuck = cluster.change('stuck', increment);
    await reached.passed;
    expect(await cluster.change('free', increment)).toMatchObject({ outcome: 'committed' });
    held.open();
    expect(await stuck).toMatchObject({ outcome: 'committed' });
  });
});

describe('rule 10: thousands of registers share requests', () => {
  test('changes of one moment go to each acceptor in a few requests', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const keys = Array.from({ length: 1500 }, (_, at) => `k${at}`);
    const outcomes = await Promise.all(keys.map((key) => cluster.change(key, increment)));
    expect(outcomes.every(({ outcome }) => outcome === 'committed')).toBe(true);
    const { messages, requests, attempts } = cluster.counters;
    expect(attempts).toBe(1500);
    // Values go to all three acceptors; promises are asked of two, and of the third only where that takes long.
    expect(messages).toBeGreaterThanOrEqual(1500 * (2 + 3));
    expect(messages).toBeLessThanOrEqual(1500 * (3 + 3));
    expect(requests).toBeLessThanOrEqual(60);
  });

  test('more than a request may carry are divided', async () => {
    const sizes: number[] = [];
    const cluster = await openAround(memoryUrls(1), (acceptor) =>
      handling(acceptor, (requests, index) => {
        sizes.push(requests.length);
        return acceptor.handle(requests, index);
      }),
    );
    await Promise.all(Array.from({ length: 5000 }, (_, at) => cluster.change(`k${at}`, increment)));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(10_000);
    const large = 'x'.repeat(300_000);
    sizes.length = 0;
    await Promise.all(Array.from({ length: 10 }, (_, at) => cluster.change(`large${at}`, () => large)));
    expect(Math.max(...sizes.slice(1))).toBeLessThanOrEqual(4);
  });

  test('reads share requests as well', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await Promise.all(Array.from({ length: 500 }, (_, at) => cluster.read(`k${at}`)));
    expect(cluster.counters).toMatchObject({ messages: 1500, reads: 500 });
    expect(cluster.counters.requests).toBeLessThanOrEqual(30);
  });
});

describe('rule 10: a batch is one transaction with one sync', () => {
  test('however many registers it concerns', async () => {
    const disk = await DiskAcceptor.open({ directory: temporaryDirectory(), journalBytes: 4 * 1024 * 1024 });
    await disk.handle(
      Array.from({ length: 2000 }, (_, at) => accept(`k${at}`, 1, 'v')),
      0,
    );
    expect(disk.counters).toMatchObject({ requests: 2000, batches: 1, syncs: 1 });
    await disk.close();
  });

  test('what arrives while one is being written shares the next', async () => {
    const disk = await DiskAcceptor.open({ directory: temporaryDirectory(), journalBytes: 1024 * 1024 });
    const first = disk.handle([accept('first', 1, 'v')], 0);
    const others = Array.from({ length: 500 }, (_, at) => disk.handle([accept(`k${at}`, 1, 'v')], 0));
    await Promise.all([first, ...others]);
    expect(disk.counters.syncs).toBeLessThanOrEqual(3);
    expect(disk.counters.requests).toBe(501);
    await disk.close();
  });

  test('reads cost no sync', async () => {
    const disk = await DiskAcceptor.open({ directory: temporaryDirectory(), journalBytes: 1024 * 1024 });
    await disk.handle([accept('k', 1, 'v')], 0);
    const { syncs } = disk.counters;
    await disk.handle([{ key: 'k', set: 1, message: { type: 'query' } }], 0);
    expect(disk.counters.syncs).toBe(syncs);
    await disk.close();
  });

  test('a thousand changes through acceptor services cost a handful of syncs on each', async () => {
    const services = await TestService.startThree();
    const cluster = await openFor({ acceptors: services.map(({ url }) => url) });
    const outcomes = await Promise.all(
      Array.from({ length: 1000 }, (_, at) => cluster.change(`k${at}`, increment)),
    );
    expect(outcomes.every(({ outcome }) => outcome === 'committed')).toBe(true);
    for (const { disk } of services) expect(disk.counters.syncs).toBeLessThanOrEqual(20);
  });
});
