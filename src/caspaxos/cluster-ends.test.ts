import { describe, expect, test, vi } from 'vitest';
import {
  errorOf,
  gate,
  handling,
  increment,
  memoryUrls,
  openAround,
  openFor,
} from '../../test/caspaxos/clusters.ts';
import { leapingHost } from '../../test/caspaxos/leaping-host.ts';
import { isAccept, Lines } from '../../test/caspaxos/lines.ts';
import { until } from '../../test/support/until.ts';
import type { Acceptor } from './acceptors.ts';
import type { Cluster } from './cluster.ts';
import type { RegisterRequest, WaitingSituation } from './core/index.ts';

/** Nothing ends by itself in this time. */
const LONG_MS = 3_600_000;

/** A cluster whose acceptors hold what `when` picks until the gate opens; `reached` tells that something is held. */
async function holding(when: (request: RegisterRequest) => boolean = () => true) {
  const held = gate();
  const reached = gate();
  let isArmed = false;
  const wrap = (acceptor: Acceptor): Acceptor =>
    handling(acceptor, async (requests, index) => {
      if (isArmed && requests.some((request) => when(request))) {
        reached.open();
        await held.passed;
      }
      return acceptor.handle(requests, index);
    });
  const urls = memoryUrls();
  const host = leapingHost();
  const cluster: Cluster = await openAround(urls, wrap, { host, requestTimeoutMs: LONG_MS });
  return { urls, cluster, held, reached, host, arm: () => (isArmed = true) };
}

describe('a deadline', () => {
  test('ends a change in time: rejected if nothing was proposed', async () => {
    const { cluster, arm } = await holding();
    arm();
    expect(await cluster.change('k', increment, { timeoutMs: 50 })).toMatchObject({
      outcome: 'rejected',
      error: { code: 'DEADLINE_EXCEEDED', outcome: 'rejected' },
    });
  });

  test('ends a change in time: unknown if something was', async () => {
    const { cluster, arm, reached, host } = await holding(isAccept);
    arm();
    const work = cluster.change('k', increment, { timeoutMs: LONG_MS });
    await reached.passed;
    host.leap(LONG_MS);
    expect(await work).toMatchObject({
      outcome: 'unknown',
      error: { code: 'DEADLINE_EXCEEDED', outcome: 'unknown' },
    });
  });

  test('ends a read in time, though the acceptors say nothing', async () => {
    const { cluster, arm } = await holding();
    arm();
    expect(await errorOf(cluster.read('k', { timeoutMs: 50 }))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  test('comes from the options of the cluster when the caller says nothing', async () => {
    const lines = new Lines(3);
    const cluster = await openAround(memoryUrls(), lines.wrap, { timeoutMs: 40 });
    lines.set('cut', 'cut', 'cut');
    expect(await cluster.change('k', increment)).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
    expect(await errorOf(cluster.read('k'))).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
  });

  test('says what kept it', async () => {
    const lines = new Lines(3);
    const host = leapingHost();
    const cluster = await openAround(memoryUrls(), lines.wrap, { host });
    lines.set('cut', 'cut', 'open');
    const work = cluster.change('k', increment, { timeoutMs: LONG_MS });
    await until('two are down', () => cluster.acceptors.filter(({ state }) => state === 'down').length === 2);
    host.leap(LONG_MS);
    expect(await work).toMatchObject({
      error: { message: expect.stringMatching(/2 of 3 acceptors do not answer .*the line is cut/) },
    });
  });

  test('of one change does not touch the next', async () => {
    const { cluster, arm, held } = await holding();
    arm();
    const first = cluster.change('k', increment, { timeoutMs: 30 });
    const second = cluster.change('k', increment, { timeoutMs: LONG_MS });
    expect(await first).toMatchObject({ outcome: 'rejected' });
    held.open();
    expect(await second).toMatchObject({ outcome: 'committed', value: 1 });
  });
});

describe('a backoff of the caller’s own', () => {
  const once = () => {
    const sent = vi.fn();
    return { sent, delayMs: ({ because }: WaitingSituation) => (because === undefined ? 0 : Infinity) };
  };

  test('ends a change that it does not want to try again, and says what kept it', async () => {
    const lines = new Lines(3);
    const cluster = await openAround(memoryUrls(), lines.wrap, { oneRoundTrip: false });
    lines.set('cut', 'cut', 'open');
    const before = cluster.counters.attempts;
    const backoff = once();
    expect(await cluster.change('k', increment, { timeoutMs: LONG_MS, backoff })).toMatchObject({
      outcome: 'rejected',
      error: {
        code: 'DEADLINE_EXCEEDED',
        message: expect.stringMatching(/2 of 3 acceptors do not answer .*the line is cut/),
      },
    });
    expect(cluster.counters.attempts - before).toBe(1);
    expect(backoff.sent).toHaveBeenCalledTimes(1);
    lines.set('open', 'open', 'open');
    expect(await cluster.change('k', increment)).toMatchObject({ value: 1 });
  });

  test('is told of every round that is sent for its call', async () => {
    const lines = new Lines(3);
    const cluster = await openAround(memoryUrls(), lines.wrap, { oneRoundTrip: false });
    const [change, read, vain] = [once(), once(), once()];
    await cluster.change('k', increment, { backoff: change });
    await cluster.read('k', { backoff: read });
    lines.set('cut', 'cut', 'open');
    expect(await errorOf(cluster.read('k', { timeoutMs: LONG_MS, backoff: vain }))).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    // Two phases; a question; a question, and the change that it becomes.
    expect([change, read, vain].map(({ sent }) => sent.mock.calls.length)).toEqual([2, 1, 2]);
  });
});

describe('many changes of one register', () => {
  const COUNT = 500;

  test('whose deadline passes while they wait are not begun for that', async () => {
    const { cluster, arm, reached, held, host } = await holding(isAccept);
    arm();
    const work = Array.from({ length: COUNT }, () => cluster.change('k', increment, { timeoutMs: LONG_MS }));
    await reached.passed;
    const before = cluster.counters.attempts;
    host.leap(LONG_MS);
    const outcomes = await Promise.all(work);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      'unknown',
      ...Array.from({ length: COUNT - 1 }, () => 'rejected'),
    ]);
    expect(cluster.counters.attempts).toBe(before);
    held.open();
  });

  test.each(['one signal', 'a signal of each'])('are not begun to be aborted by %s', async (whose) => {
    const { cluster, arm, reached, held } = await holding(isAccept);
    arm();
    const common = new AbortController();
    const aborts = Array.from({ length: COUNT }, () =>
      whose === 'one signal' ? common : new AbortController(),
    );
    const work = aborts.map(({ signal }) => cluster.change('k', increment, { timeoutMs: LONG_MS, signal }));
    await reached.passed;
    const before = cluster.counters.attempts;
    for (const abort of aborts) abort.abort();
    expect((await Promise.all(work)).map(({ outcome }) => outcome)).toEqual([
      'unknown',
      ...Array.from({ length: COUNT - 1 }, () => 'rejected'),
    ]);
    expect(cluster.counters.attempts).toBe(before);
    held.open();
    // And what comes afterwards is.
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed' });
  });

  test('are not begun either when the cluster is closed', async () => {
    const { cluster, arm, reached } = await holding(isAccept);
    arm();
    const work = Array.from({ length: COUNT }, () => cluster.change('k', increment, { timeoutMs: LONG_MS }));
    await reached.passed;
    const before = cluster.counters.attempts;
    await cluster.close();
    expect((await Promise.all(work)).filter(({ outcome }) => outcome === 'rejected')).toHaveLength(COUNT - 1);
    expect(cluster.counters.attempts).toBe(before);
  });

  test('are refused when too many wait', async () => {
    const { cluster, arm, reached, held } = await holding(isAccept);
    arm();
    const change = () => cluster.change('k', increment, { timeoutMs: LONG_MS });
    const first = change();
    await reached.passed;
    const waiting = Array.from({ length: 10_000 }, change);
    expect(await change()).toMatchObject({ outcome: 'rejected', error: { code: 'OVERLOADED' } });
    // Another register has a queue of its own.
    const other = cluster.change('other', increment, { timeoutMs: LONG_MS });
    await cluster.close();
    held.open();
    expect(
      (await Promise.all([first, other, ...waiting])).every(({ outcome }) => outcome !== 'committed'),
    ).toBe(true);
  });
});

describe('an AbortSignal', () => {
  test('that is aborted already begins nothing', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const signal = AbortSignal.abort();
    let runs = 0;
    const editor = (): number => (runs += 1);
    expect(await cluster.change('k', editor, { signal })).toMatchObject({
      outcome: 'rejected',
      error: { code: 'ABORTED', outcome: 'rejected' },
    });
    expect(await errorOf(cluster.read('k', { signal }))).toMatchObject({ code: 'ABORTED' });
    expect(runs).toBe(0);
    expect(cluster.counters.attempts).toBe(0);
  });

  test('during phase 1 rejects the change, for good', async () => {
    const { urls, cluster, arm, held, reached } = await holding();
    arm();
    const abort = new AbortController();
    const work = cluster.change('k', increment, { signal: abort.signal });
    await reached.passed;
    abort.abort();
    expect(await work).toMatchObject({ outcome: 'rejected', error: { code: 'ABORTED' } });
    held.open();
    await cluster.read('k');
    const other = await openFor({ acceptors: urls });
    expect(await other.read('k')).toEqual({ value: undefined, version: 0 });
  });

  test('during phase 2 leaves the outcome unknown, and it may come true', async () => {
    const { urls, cluster, arm, held, reached } = await holding(isAccept);
    arm();
    const abort = new AbortController();
    const work = cluster.change('k', increment, { signal: abort.signal });
    await reached.passed;
    abort.abort();
    expect(await work).toMatchObject({ outcome: 'unknown', error: { code: 'ABORTED', outcome: 'unknown' } });
    held.open();
    const other = await openFor({ acceptors: urls });
    await until('the accept has arrived', async () => (await other.read('k')).value === 1);
  });

  test('during a read ends it at once', async () => {
    const { cluster, arm, reached } = await holding();
    arm();
    const abort = new AbortController();
    const work = errorOf(cluster.read('k', { signal: abort.signal }));
    await reached.passed;
    abort.abort();
    expect(await work).toMatchObject({ code: 'ABORTED' });
  });

  test('after the end changes nothing, and leaves no listener behind', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const abort = new AbortController();
    const { signal } = abort;
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    expect(await cluster.change('k', increment, { signal })).toMatchObject({ outcome: 'committed' });
    await cluster.read('k', { signal });
    expect(added).toHaveBeenCalled();
    expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
    abort.abort();
    expect((await cluster.read('k')).value).toBe(1);
  });
});

describe('close', () => {
  test('ends what is under way with its true outcome', async () => {
    const { cluster, arm, reached } = await holding(isAccept);
    arm();
    const proposed = cluster.change('k', increment);
    const queued = cluster.change('k', increment);
    await reached.passed;
    await cluster.close();
    expect(await proposed).toMatchObject({
      outcome: 'unknown',
      error: { code: 'CLOSED', outcome: 'unknown' },
    });
    expect(await queued).toMatchObject({
      outcome: 'rejected',
      error: { code: 'CLOSED', outcome: 'rejected' },
    });
  });

  test('ends reads and what is asked afterwards', async () => {
    const { cluster, arm, reached } = await holding();
    arm();
    const read = errorOf(cluster.read('k'));
    await reached.passed;
    await cluster.close();
    expect(await read).toMatchObject({ code: 'CLOSED' });
    expect(await cluster.change('k', increment)).toMatchObject({
      outcome: 'rejected',
      error: { code: 'CLOSED' },
    });
    expect(await errorOf(cluster.read('k'))).toMatchObject({ code: 'CLOSED' });
    await cluster.close();
  });

  test('reports nothing more', async () => {
    const lines = new Lines(3);
    const cluster = await openAround(memoryUrls(), lines.wrap);
    const events: unknown[] = [];
    cluster.on('acceptor', (status) => events.push(status));
    const work = cluster.change('k', increment);
    lines.set('cut', 'cut', 'cut');
    await cluster.close();
    await work;
    const before = events.length;
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(events).toHaveLength(before);
  });
});
