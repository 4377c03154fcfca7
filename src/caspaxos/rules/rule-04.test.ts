import { describe, expect, test } from 'vitest';
import { handling, increment, memoryUrls, openAround, openFor } from '../../../test/caspaxos/clusters.ts';
import { leapingHost } from '../../../test/caspaxos/leaping-host.ts';
import { isAccept, type Line, Lines, randomFrom } from '../../../test/caspaxos/lines.ts';
import type { Acceptor } from '../acceptors.ts';
import type { Cluster } from '../cluster.ts';
import { REMEMBERED_OPERATIONS } from '../core/index.ts';
import type { UnknownOperation } from '../outcomes.ts';

/** An increment that nobody knows the outcome of: `lines` are what its accept messages meet, and it is given up there. */
async function inLimbo(urls: readonly string[], ...lines: readonly Line[]): Promise<UnknownOperation> {
  const network = new Lines(3, isAccept);
  const cluster = await openAround(urls, network.wrap);
  network.set(...lines);
  const abort = new AbortController();
  network.onMet((met) => {
    if (met === 3) abort.abort();
  });
  const outcome = await cluster.change('k', increment, { signal: abort.signal });
  if (outcome.outcome !== 'unknown') throw new Error(`expected unknown, not ${outcome.outcome}`);
  expect(outcome.error).toMatchObject({ code: 'ABORTED', outcome: 'unknown' });
  await cluster.close();
  return outcome.operation;
}

async function valueAt(urls: readonly string[]): Promise<number | undefined> {
  const cluster = await openFor({ acceptors: urls });
  return (await cluster.read<number>('k')).value;
}

describe('rule 4: an unknown outcome', () => {
  test('is told as such, with what is needed to find out', async () => {
    const operation = await inLimbo(memoryUrls(), 'mute', 'mute', 'mute');
    expect(operation).toMatchObject({ sequence: 1, sinceVersion: 0 });
    expect(operation.attempts).toBeGreaterThanOrEqual(1);
    expect(JSON.parse(JSON.stringify(operation))).toEqual(operation);
  });

  test('is also what a deadline leaves behind', async () => {
    const network = new Lines(3, isAccept);
    const host = leapingHost();
    const cluster = await openAround(memoryUrls(), network.wrap, { host });
    network.set('mute', 'mute', 'mute');
    network.onMet((met) => {
      if (met === 3) host.leap(60_000);
    });
    expect(await cluster.change('k', increment, { timeoutMs: 60_000 })).toMatchObject({
      outcome: 'unknown',
      error: { code: 'DEADLINE_EXCEEDED', outcome: 'unknown' },
    });
    expect(cluster.counters).toMatchObject({ unknown: 1, committed: 0, rejected: 0 });
  });

  test('of a change that was refused before anything was proposed is no unknown outcome', async () => {
    const network = new Lines(3);
    const cluster = await openAround(memoryUrls(), network.wrap);
    network.set('cut', 'cut', 'open');
    expect(await cluster.change('k', increment, { timeoutMs: 50 })).toMatchObject({
      outcome: 'rejected',
      error: { code: 'DEADLINE_EXCEEDED', outcome: 'rejected' },
    });
  });

  test('within one call is not repeated blindly: an accept that was done unheard is found, not done again', async () => {
    let isLost = true;
    const losing = (acceptor: Acceptor): Acceptor =>
      handling(acceptor, async (requests, index) => {
        const replies = await acceptor.handle(requests, index);
        if (isLost && requests.some(isAccept)) throw new Error('no answer');
        return replies;
      });
    const cluster = await openAround(memoryUrls(), losing, {
      backoff: { delayMs: ({ because }) => (because === undefined ? 0 : ((isLost = false), 1)) },
    });
    expect(await cluster.change('k', increment)).toMatchObject({
      outcome: 'committed',
      value: 1,
      version: 1,
      changed: true,
    });
    expect(await cluster.read('k')).toEqual({ value: 1, version: 1 });
    expect(cluster.counters.attempts).toBe(2);
  });
});

describe('rule 4: continuing an operation of unknown outcome', () => {
  test('that was applied unheard changes nothing, from any process, however often', async () => {
    const urls = memoryUrls();
    const retryOf = await inLimbo(urls, 'mute', 'mute', 'mute');
    for (let time = 0; time < 3; time += 1) {
      const cluster = await openFor({ acceptors: urls });
      expect(await cluster.change('k', increment, { retryOf })).toMatchObject({
        outcome: 'committed',
        appliedBefore: true,
        value: undefined,
        version: 1,
      });
    }
    expect(await valueAt(urls)).toBe(1);
  });

  test('that never arrived applies it, once', async () => {
    const urls = memoryUrls();
    const retryOf = await inLimbo(urls, 'cut', 'cut', 'cut');
    const cluster = await openFor({ acceptors: urls });
    expect(await cluster.change('k', increment, { retryOf })).toMatchObject({
      outcome: 'committed',
      appliedBefore: false,
      value: 1,
    });
    expect(await cluster.change('k', increment, { retryOf })).toMatchObject({
      outcome: 'committed',
      version: 1,
    });
    expect(await valueAt(urls)).toBe(1);
  });

  test('that somebody else completed meanwhile changes nothing', async () => {
    const urls = memoryUrls();
    // It lies on one acceptor, and the next proposer can reach only that one and another.
    const retryOf = await inLimbo(urls, 'mute', 'cut', 'cut');
    const network = new Lines();
    const somebody = await openAround(urls, network.wrap);
    network.set('open', 'open', 'cut');
    expect(await somebody.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    const cluster = await openFor({ acceptors: urls });
    expect(await cluster.change('k', increment, { retryOf })).toMatchObject({
      appliedBefore: true,
      version: 1,
    });
    expect(await valueAt(urls)).toBe(2);
  });

  test('that lies where nobody saw it is applied, and what lies there never comes back', async () => {
    const urls = memoryUrls();
    const retryOf = await inLimbo(urls, 'mute', 'cut', 'cut');
    const network = new Lines();
    const elsewhere = await openAround(urls, network.wrap);
    network.set('cut', 'open', 'open');
    expect(await elsewhere.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
    expect(await elsewhere.change('k', increment, { retryOf })).toMatchObject({
      appliedBefore: false,
      value: 2,
    });
    // From now on acceptor 0, with its old proposal, is part of the quorum.
    network.set('open', 'cut', 'open');
    expect(await elsewhere.change('k', increment)).toMatchObject({ outcome: 'committed', value: 3 });
    network.set('open', 'open', 'open');
    expect(await valueAt(urls)).toBe(3);
  });

  test('that too many others have built on stays unknown, and changes nothing', async () => {
    const urls = memoryUrls();
    const retryOf = await inLimbo(urls, 'mute', 'mute', 'mute');
    for (let other = 0; other < REMEMBERED_OPERATIONS; other += 1) {
      const cluster = await openFor({ acceptors: urls });
      await cluster.change('k', increment);
      await cluster.close();
    }
    const cluster = await openFor({ acceptors: urls });
    expect(await cluster.change('k', increment, { retryOf })).toMatchObject({
      outcome: 'unknown',
      error: { code: 'OPERATION_FORGOTTEN', outcome: 'unknown' },
      operation: { origin: retryOf.origin, sequence: retryOf.sequence },
    });
    expect(await valueAt(urls)).toBe(REMEMBERED_OPERATIONS + 1);
  });

  test('whose editor now refuses is rejected for good: what lay about is buried', async () => {
    const urls = memoryUrls();
    const retryOf = await inLimbo(urls, 'cut', 'cut', 'cut');
    const cluster = await openFor({ acceptors: urls });
    const outcome = await cluster.compareAndSwap<number>('k', 7, 8, { retryOf });
    expect(outcome).toMatchObject({ outcome: 'rejected', error: { code: 'COMPARISON_FAILED' } });
    expect(await valueAt(urls)).toBeUndefined();
  });

  test('is still unknown if it ends before it began', async () => {
    const urls = memoryUrls();
    const retryOf = await inLimbo(urls, 'mute', 'mute', 'mute');
    const cluster = await openFor({ acceptors: urls });
    const signal = AbortSignal.abort();
    const outcome = await cluster.change('k', increment, { retryOf, signal });
    expect(outcome).toMatchObject({ outcome: 'unknown', error: { code: 'ABORTED', outcome: 'unknown' } });
  });
});

describe('rule 4: counters on lines that fail at random', () => {
  async function incrementThroughTrouble(cluster: Cluster, times: number): Promise<number> {
    let done = 0;
    let retryOf: UnknownOperation | undefined;
    while (done < times) {
      const outcome = await cluster.change(
        'k',
        increment,
        retryOf ? { timeoutMs: 40, retryOf } : { timeoutMs: 40 },
      );
      if (outcome.outcome === 'committed') {
        done += 1;
        retryOf = undefined;
      } else if (outcome.outcome === 'unknown') {
        retryOf = outcome.operation;
      }
    }
    return done;
  }

  test.each([1, 2, 3])('end at exactly what was asked for, seed %i', async (seed) => {
    const random = randomFrom(seed);
    const unreliable = (acceptor: Acceptor): Acceptor =>
      handling(acceptor, async (requests, index) => {
        if (random() < 0.15) throw new Error('the line is cut');
        const replies = await acceptor.handle(requests, index);
        if (random() < 0.3) throw new Error('no answer');
        return replies;
      });
    const urls = memoryUrls();
    const clusters = await Promise.all([0, 1, 2].map(() => openAround(urls, unreliable)));
    await Promise.all(clusters.map((cluster) => incrementThroughTrouble(cluster, 15)));
    expect(await valueAt(urls)).toBe(45);
    const unavailable = clusters.reduce((sum, { counters }) => sum + counters.unavailable, 0);
    expect(unavailable).toBeGreaterThan(5);
  });
});
