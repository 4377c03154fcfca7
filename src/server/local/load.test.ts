/** The built-in load: its pace, its limits, and what it counts. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { epkOf } from '../../engine/index.ts';
import { parseClusterFile, partitionSetsOf } from '../config/index.ts';
import { documentOf, Load, type LoadClient, targetsIn } from './load.ts';
import { LoadFigures } from './load-figures.ts';

describe('figures', () => {
  test('a gap is from the first write that waits to the next that is acknowledged, also past failures', () => {
    const figures = new LoadFigures();
    figures.sent('a', 1000);
    figures.acknowledge('a', 1005);
    expect(figures.worstGapMs(1005)).toBe(5);
    figures.sent('a', 2000);
    figures.sent('a', 2100);
    figures.fail('a');
    figures.fail('a');
    figures.sent('b', 2500);
    figures.acknowledge('b', 2510);
    expect(figures.worstGapMs(3000)).toBe(1000);
    figures.sent('a', 4000);
    figures.acknowledge('a', 4500);
    expect(figures.worstGapMs(4600)).toBe(2500);
    expect([figures.acknowledged, figures.failed]).toEqual([3, 2]);
  });

  test('a gap that ended is known for ten seconds, one that lasts for as long as it does', () => {
    const figures = new LoadFigures();
    figures.sent('a', 0);
    figures.acknowledge('a', 2500);
    expect(figures.worstGapMs(11_999)).toBe(2500);
    expect(figures.worstGapMs(12_000)).toBe(0);
    figures.sent('a', 20_000);
    expect(figures.worstGapMs(60_000)).toBe(40_000);
  });

  test('after an acknowledgement what is still under way waits from then on', () => {
    const figures = new LoadFigures();
    figures.sent('a', 0);
    figures.sent('a', 100);
    figures.acknowledge('a', 300);
    expect(figures.underWayIn('a')).toBe(1);
    expect(figures.worstGapMs(700)).toBe(400);
  });
});

describe('a load', () => {
  const TARGETS = ['a', 'b', 'c', 'd'].map((name) => ({ partitionSet: name, key: `key-${name}` }));
  let writes: string[] = [];
  let reads: string[] = [];
  let closed = 0;
  let answer: (key: string) => Promise<unknown>;
  let answerRead: (key: string) => Promise<unknown>;
  let load: Load;

  const client: LoadClient = {
    write: (key) => {
      writes.push(key);
      return answer(key);
    },
    read: (key) => {
      reads.push(key);
      return answerRead(key);
    },
    close: () => {
      closed += 1;
      return Promise.resolve();
    },
  };

  beforeEach(() => {
    vi.useFakeTimers();
    [writes, reads, closed] = [[], [], 0];
    answer = () => Promise.resolve();
    answerRead = () => Promise.resolve();
    load = new Load({ targets: TARGETS, connect: () => Promise.resolve(client) });
  });

  afterEach(async () => {
    const stopped = load.stop();
    const written = writes.length;
    // As long as it may take to give up connecting. Not until no timer is left: others may have some that never end.
    await vi.advanceTimersByTimeAsync(1000);
    await stopped;
    expect(writes, 'what was stopped writes no more').toHaveLength(written);
    vi.useRealTimers();
  });

  test('is off until it is told to be on, and then writes everywhere at its pace and reads some of it', async () => {
    await vi.advanceTimersByTimeAsync(1000);
    expect([load.state.on, writes]).toEqual([false, []]);
    load.start(100);
    await vi.advanceTimersByTimeAsync(4000);
    expect(writes.length).toBeGreaterThanOrEqual(395);
    expect(writes.length).toBeLessThanOrEqual(400);
    for (const { key } of TARGETS) expect(writes.filter((one) => one === key).length).toBeGreaterThan(95);
    expect(reads.length).toBeGreaterThan(95);
    expect(reads.length).toBeLessThan(105);
    expect(new Set(reads).size).toBe(TARGETS.length);
    expect(load.state).toMatchObject({ on: true, perSecond: 100, acknowledged: writes.length, failed: 0 });
  });

  test('told again, goes on at the new pace; off and on again, counts from nothing', async () => {
    load.start(100);
    await vi.advanceTimersByTimeAsync(1000);
    const before = writes.length;
    load.start(20);
    await vi.advanceTimersByTimeAsync(1000);
    expect(writes.length - before).toBeLessThanOrEqual(21);
    expect(load.state).toMatchObject({ perSecond: 20, acknowledged: writes.length });
    await load.stop();
    expect([load.state.on, closed]).toEqual([false, 1]);
    expect(load.state.acknowledged).toBe(writes.length);
    const after = writes.length;
    await vi.advanceTimersByTimeAsync(1000);
    expect(writes).toHaveLength(after);
    load.start();
    expect(load.state).toMatchObject({ perSecond: 200, acknowledged: 0 });
  });

  test('has few writes under way where nobody answers, and goes on elsewhere', async () => {
    answer = (key) => (key === 'key-a' ? new Promise(() => {}) : Promise.resolve());
    load.start(100);
    await vi.advanceTimersByTimeAsync(5000);
    expect(writes.filter((key) => key === 'key-a')).toHaveLength(4);
    expect(writes.filter((key) => key === 'key-b').length).toBeGreaterThan(100);
    expect(load.state.worstGapMs).toBeGreaterThan(4800);
    const stopped = load.stop();
    await vi.advanceTimersByTimeAsync(60_000);
    await stopped;
    expect(load.state).toMatchObject({ failed: 0, worstGapMs: 0 });
  });

  test('counts what fails, writes and reads', async () => {
    answer = (key) => (key === 'key-a' ? Promise.reject(new Error('no')) : Promise.resolve());
    answerRead = (key) => (key === 'key-b' ? Promise.reject(new Error('no')) : Promise.resolve());
    load.start(100);
    await vi.advanceTimersByTimeAsync(1000);
    const failedWrites = writes.filter((key) => key === 'key-a').length;
    const failedReads = reads.filter((key) => key === 'key-b').length;
    expect(Math.min(failedWrites, failedReads)).toBeGreaterThan(0);
    expect(load.state.failed).toBe(failedWrites + failedReads);
    expect(load.state.acknowledged).toBe(writes.length - failedWrites);
  });

  test('after a pause of its process does not make up for it', async () => {
    const many = Array.from({ length: 500 }, (_, at) => ({ partitionSet: `p${at}`, key: `key-${at}` }));
    load = new Load({ targets: many, connect: () => Promise.resolve(client) });
    load.start(100);
    await vi.advanceTimersByTimeAsync(1000);
    const before = writes.length;
    const now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now + 60_000);
    await vi.advanceTimersByTimeAsync(20);
    vi.restoreAllMocks();
    expect(writes.length - before).toBeLessThanOrEqual(25);
  });

  test('connects again until it can, and can be stopped meanwhile', async () => {
    let tries = 0;
    const connect = (): Promise<LoadClient> => {
      tries += 1;
      return tries < 3 ? Promise.reject(new Error('nobody there')) : Promise.resolve(client);
    };
    load = new Load({ targets: TARGETS, connect });
    load.start(100);
    await vi.advanceTimersByTimeAsync(100);
    expect([tries, load.state.on, writes.length]).toEqual([1, true, 0]);
    await vi.advanceTimersByTimeAsync(2000);
    expect(tries).toBe(3);
    expect(writes.length).toBeGreaterThan(50);

    const never = new Load({ targets: TARGETS, connect: () => Promise.reject(new Error('nobody there')) });
    never.start();
    const stopped = never.stop();
    await vi.advanceTimersByTimeAsync(1000);
    await stopped;
    expect(never.state.on).toBe(false);
  });
});

const FILE = (partitionKey: string): string => `
cluster: demo
account: { name: demo }
regions: [{ name: west, nodes: [{ name: west-1, listen: "127.0.0.1:4101", data: ./west }] }]
acceptors: [{ name: a1, url: "http://127.0.0.1:4301", data: ./a1 }]
containers: [{ name: items, partitionKey: ${partitionKey}, partitionSets: 37 }]
`;

describe('its documents', () => {
  test.each(['/id', '[/tenant, /user/id]'])('are one in each partition-set of a container by %s', (paths) => {
    const config = parseClusterFile(FILE(paths), { path: '/tmp/baton.yaml' });
    const { partitionKey } = config.containers[0]!;
    const places = partitionSetsOf(config);
    const targets = targetsIn(places, partitionKey.length);
    expect(targets.map(({ partitionSet }) => partitionSet)).toEqual(places.map(({ name }) => name));
    for (const [at, { key }] of targets.entries()) {
      const epk = epkOf(partitionKey.map(() => key));
      expect(places[at]!.from <= epk && epk < places[at]!.to).toBe(true);
    }
  });

  test('have the key wherever the container looks for it', () => {
    expect(documentOf('k', 3, ['/id'])).toEqual({ id: 'k', count: 3 });
    expect(documentOf('k', 3, ['/tenant', '/user/id'])).toEqual({
      id: 'k',
      count: 3,
      tenant: 'k',
      user: { id: 'k' },
    });
  });
});
