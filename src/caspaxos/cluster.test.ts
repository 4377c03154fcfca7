import { describe, expect, test } from 'vitest';
import {
  errorOf,
  handling,
  increment,
  memoryUrls,
  nameOf,
  openAround,
  openFor,
} from '../../test/caspaxos/clusters.ts';
import { Lines } from '../../test/caspaxos/lines.ts';
import { until } from '../../test/support/until.ts';
import { CasPaxosError } from './errors.ts';
import { reject } from './editing.ts';
import { committed } from './outcomes.ts';
import { MemoryStore } from './stores/memory.ts';

describe('change', () => {
  test('applies the editor and says what came of it', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    expect(await cluster.change('k', increment)).toEqual({
      outcome: 'committed',
      value: 1,
      version: 1,
      changed: true,
      appliedBefore: false,
      attempts: 1,
    });
    expect(await cluster.change('k', (value) => value)).toMatchObject({
      value: 1,
      version: 1,
      changed: false,
    });
    const refused = await cluster.change('k', () => reject('not today'));
    expect(refused).toMatchObject({
      outcome: 'rejected',
      error: { code: 'REJECTED_BY_EDITOR', message: 'not today', outcome: 'rejected' },
      current: { value: 1, version: 1 },
    });
  });

  test('keeps any JSON value', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    for (const value of [null, false, 0, '', 'null', [], {}, { a: [1, { b: null }] }, '鍵🔑\u0000']) {
      expect(await cluster.change<unknown>('k', () => value)).toMatchObject({ outcome: 'committed', value });
      expect((await cluster.read('k')).value).toEqual(value);
    }
  });

  test('gives each register a life of its own', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await Promise.all(
      ['a', 'b', 'a', '__proto__', 'constructor'].map((key) => cluster.change(key, increment)),
    );
    expect((await cluster.read('a')).value).toBe(2);
    expect((await cluster.read('b')).value).toBe(1);
    expect((await cluster.read('__proto__')).value).toBe(1);
    expect((await cluster.read('toString')).version).toBe(0);
  });

  test('from several processes at once loses none', async () => {
    const acceptors = memoryUrls(5);
    const clusters = await Promise.all(
      Array.from({ length: 6 }, () => openFor({ acceptors, timeoutMs: 20_000 })),
    );
    const outcomes = await Promise.all(
      clusters.flatMap((cluster) => Array.from({ length: 10 }, () => cluster.change('k', increment))),
    );
    const versions = outcomes.map((outcome) => outcome.outcome === 'committed' && outcome.version);
    expect(versions.toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 60 }, (_, at) => at + 1),
    );
    expect(await clusters[0]!.read('k')).toEqual({ value: 60, version: 60 });
  });

  test('goes on without a minority of its acceptors', async () => {
    const lines = new Lines(5);
    const cluster = await openAround(memoryUrls(5), lines.wrap);
    lines.set('cut', 'mute', 'open', 'open', 'open');
    for (let at = 1; at <= 5; at += 1) {
      expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: at });
    }
  });

  test('committed() gives the outcome or throws its error', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    expect(committed(await cluster.change('k', increment)).value).toBe(1);
    const refused = await cluster.change('k', () => reject('no'));
    expect(() => committed(refused)).toThrow(CasPaxosError);
  });
});

describe('compareAndSwap', () => {
  test('replaces what is expected, and reports what is there otherwise', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    expect(await cluster.compareAndSwap('k', undefined, { a: 1, b: 2 })).toMatchObject({
      outcome: 'committed',
    });
    expect(await cluster.compareAndSwap('k', undefined, { a: 3, b: 4 })).toMatchObject({
      outcome: 'rejected',
      error: { code: 'COMPARISON_FAILED' },
      current: { value: { a: 1, b: 2 }, version: 1 },
    });
    expect(await cluster.compareAndSwap('k', { b: 2, a: 1 }, { a: 3, b: 4 })).toMatchObject({ version: 2 });
    expect(await cluster.compareAndSwap('k', { a: 3, b: 4 }, undefined)).toMatchObject({ version: 3 });
    expect(await cluster.read('k')).toEqual({ value: undefined, version: 3 });
  });

  test('by many at once succeeds for one', async () => {
    const acceptors = memoryUrls();
    const clusters = await Promise.all(Array.from({ length: 4 }, () => openFor({ acceptors })));
    const outcomes = await Promise.all(
      clusters.map((cluster, at) => cluster.compareAndSwap<string>('leader', undefined, `p${at}`)),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'committed')).toHaveLength(1);
    const winner = outcomes.findIndex(({ outcome }) => outcome === 'committed');
    for (const outcome of outcomes) {
      if (outcome.outcome === 'rejected')
        expect(outcome.current).toEqual({ value: `p${winner}`, version: 1 });
    }
  });
});

describe('delete', () => {
  test('leaves a tombstone, and the version goes on', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', increment);
    expect(await cluster.delete('k')).toMatchObject({
      outcome: 'committed',
      value: undefined,
      version: 2,
      changed: true,
    });
    expect(await cluster.read('k')).toEqual({ value: undefined, version: 2 });
    expect(await cluster.delete('k')).toMatchObject({ outcome: 'committed', version: 2, changed: false });
    expect(await cluster.change('k', increment)).toMatchObject({ value: 1, version: 3 });
  });

  test('of a register that never was changes nothing', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    expect(await cluster.delete('never')).toMatchObject({ outcome: 'committed', version: 0, changed: false });
  });
});

describe('the one-round-trip path', () => {
  test('is taken when a proposer is alone on a register', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    for (let at = 0; at < 10; at += 1) await cluster.change('k', increment);
    expect(cluster.counters).toMatchObject({ committed: 10, oneRoundTrip: 9 });
    // One phase 1, for which two of three acceptors are asked, or all of them if those take long.
    expect(cluster.counters.messages).toBeGreaterThanOrEqual(2 + 3 * 10);
    expect(cluster.counters.messages).toBeLessThanOrEqual(3 + 3 * 10);
  });

  test('can be switched off', async () => {
    const cluster = await openFor({ acceptors: memoryUrls(), oneRoundTrip: false });
    for (let at = 0; at < 5; at += 1) await cluster.change('k', increment);
    expect(cluster.counters.oneRoundTrip).toBe(0);
    expect(cluster.counters.messages).toBeGreaterThanOrEqual((2 + 3) * 5);
    expect(cluster.counters.messages).toBeLessThanOrEqual((3 + 3) * 5);
  });

  test('is safe when it is not alone: taking turns, nothing is lost', async () => {
    const acceptors = memoryUrls();
    const [one, other] = await Promise.all([openFor({ acceptors }), openFor({ acceptors })]);
    for (let at = 0; at < 20; at += 1) {
      const cluster = at % 3 === 2 ? other : one;
      expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: at + 1 });
    }
    expect(one.counters.oneRoundTrip + other.counters.oneRoundTrip).toBeLessThan(19);
  });

  test('starts from the value that was promised, not from one that somebody else chose since', async () => {
    const acceptors = memoryUrls();
    const [one, other] = await Promise.all([openFor({ acceptors }), openFor({ acceptors })]);
    await one.change('k', () => 'one');
    await other.change('k', () => 'other');
    expect(await one.change<string>('k', (value) => `${value} and one`)).toMatchObject({
      value: 'other and one',
      version: 3,
    });
  });
});

describe('counters and events', () => {
  test('count outcomes, attempts, reads, and how long things took', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', increment);
    await cluster.change('k', () => reject('no'));
    await cluster.read('k');
    expect(cluster.counters).toMatchObject({
      committed: 1,
      rejected: 1,
      unknown: 0,
      reads: 1,
      slowReads: 0,
      alarms: 0,
    });
    expect(cluster.counters.attempts).toBe(2);
    expect(cluster.latencies.change.count).toBe(2);
    expect(cluster.latencies.read.count).toBe(1);
    expect(cluster.latencies.phase1.count).toBeGreaterThan(0);
    expect(cluster.latencies.phase2.count).toBeGreaterThan(0);
  });

  test('tell when an acceptor stops and starts answering, once each', async () => {
    const lines = new Lines(3);
    const cluster = await openAround(memoryUrls(), lines.wrap);
    await cluster.change('k', increment);
    const events: string[] = [];
    cluster.on('acceptor', ({ url, state, error }) =>
      events.push(`${url.slice(-1)} ${state} ${error?.code ?? ''}`.trim()),
    );
    lines.set('open', 'cut', 'open');
    for (let at = 0; at < 5; at += 1) await cluster.change('k', increment);
    await until('it is reported down', () => events.length > 0);
    lines.set('open', 'open', 'open');
    for (let at = 0; at < 5; at += 1) await cluster.change('k', increment);
    await until('it is reported up', () => events.length > 1);
    for (let at = 0; at < 5; at += 1) await cluster.change('k', increment);
    expect(events).toEqual(['b down UNREACHABLE', 'b up']);
  });

  test('count conflicts between proposers', async () => {
    const acceptors = memoryUrls();
    const clusters = await Promise.all([0, 1, 2].map(() => openFor({ acceptors })));
    await Promise.all(
      clusters.flatMap((cluster) => Array.from({ length: 10 }, () => cluster.change('k', increment))),
    );
    const sum = clusters.reduce((all, { counters }) => all + counters.conflicts, 0);
    const attempts = clusters.reduce((all, { counters }) => all + counters.attempts, 0);
    expect(sum).toBeGreaterThan(0);
    expect(attempts).toBeGreaterThanOrEqual(30 + sum);
  });

  test('count requests that failed', async () => {
    const lines = new Lines(3);
    const cluster = await openAround(memoryUrls(), lines.wrap);
    lines.set('cut', 'open', 'open');
    await cluster.change('k', increment);
    await until('the request has failed', () => cluster.counters.failedRequests > 0);
    expect(cluster.counters.requests).toBeGreaterThan(cluster.counters.failedRequests);
  });

  test('show how each acceptor is doing', async () => {
    const acceptors = memoryUrls();
    const cluster = await openFor({ acceptors });
    expect(cluster.acceptors.map(({ url, state }) => [url, state])).toEqual(
      acceptors.map((url) => [url, 'up']),
    );
    MemoryStore.clear(nameOf(acceptors[1]!));
    await cluster.change('new', increment);
    await until('it is reported', () => cluster.acceptors[1]!.state === 'down');
    expect(cluster.acceptors[1]).toMatchObject({ state: 'down', error: { code: 'ACCEPTOR_EMPTY' } });
  });
});

describe('opening', () => {
  test("takes acceptors of one's own", async () => {
    const urls = memoryUrls();
    let batches = 0;
    const cluster = await openAround(urls, (acceptor) =>
      handling(acceptor, (requests, index) => {
        batches += 1;
        return acceptor.handle(requests, index);
      }),
    );
    await cluster.change('k', increment);
    expect(batches).toBeGreaterThan(0);
  });

  test('needs only some of the acceptors once the cluster exists, and finds the others itself', async () => {
    const acceptors = memoryUrls();
    await openFor({ acceptors });
    const cluster = await openFor({ acceptors: [acceptors[1]!] });
    expect(cluster.acceptors).toHaveLength(3);
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed' });
  });

  test('uses a cluster that was not opened is a clear error', async () => {
    const { Cluster } = await import('./cluster.ts');
    const cluster = new Cluster({ acceptors: memoryUrls() });
    expect(() => cluster.configuration).toThrow('not opened');
    expect(await errorOf(cluster.read('k'))).toMatchObject({ code: 'CLOSED' });
  });
});
