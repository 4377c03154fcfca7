import { describe, expect, test } from 'vitest';
import { namedPolicy, type PolicyName, type SchedulingPolicy, without } from '../failover/index.ts';
import { latencyModel } from './core/index.ts';
import { type DuelOptions, runDuel } from './duel.ts';
import { addSnapshot, type DuelCounts, newDuelCounts, snapshotOf } from './duel-counts.ts';
import { percentileOf } from './duel-rate.ts';

function hours(
  count: number,
  policy: PolicyName | SchedulingPolicy,
  changes: Partial<DuelOptions> = {},
  baseMs = 100,
): DuelCounts {
  const counts = newDuelCounts();
  for (let hour = 0; hour < count; hour += 1) {
    runDuel(
      {
        proposers: 9,
        acceptors: 7,
        policy: typeof policy === 'string' ? namedPolicy(policy, baseMs) : policy,
        latency: latencyModel('lognormal:60,0.5')!,
        intervalMs: 30_000,
        leaseMs: 45_000,
        durationMs: 3_600_000,
        skewMs: 0,
        writerDies: false,
        seed: 1 + hour,
        ...changes,
      },
      counts,
    );
  }
  return counts;
}

describe('dueling proposers', () => {
  test('a lone proposer is never refused: two round trips to seven acceptors', () => {
    const counts = hours(1, 'baton', { proposers: 1, latency: latencyModel('fixed:50')! });
    expect(counts).toMatchObject({ due: 120, failures: 0, refusals: 0 });
    expect(counts.attempts).toBe(counts.updates);
    expect(counts.requests).toBe(14 * counts.updates);
    expect(counts.updates).toBeGreaterThanOrEqual(119);
  });

  test('the shape of Figure 9: static backoff loses leases that the improved approach keeps', () => {
    const initial = hours(30, 'initial', {}, 1000);
    const adaptive = hours(30, 'adaptive');
    const baton = hours(30, 'baton');
    expect(initial.failures / initial.due).toBeGreaterThan(0.005);
    expect(adaptive.failures).toBe(0);
    expect(baton.failures).toBe(0);
    expect(baton.attempts / baton.updates).toBeLessThan(1.05);
    expect(adaptive.attempts / adaptive.updates).toBeGreaterThan(1.5);
  });

  test('a proposer that never succeeds counts for every update it misses', () => {
    // Nobody gets a quorum within the hour: messages take longer than that.
    const counts = hours(1, 'baton', { proposers: 2, latency: latencyModel('fixed:4000000')! });
    expect(counts.updates).toBe(0);
    expect(counts.failures).toBe(2 * (1 + Math.floor((3_600_000 - 45_000) / 30_000)));
  });
});

describe('the trace of an hour', () => {
  const trace = (changes: Partial<DuelOptions> = {}, policy: PolicyName = 'initial'): string =>
    hours(1, policy, { durationMs: 600_000, ...changes }).trace;

  test.each([1, 2, 3])('is the same when seed %i runs twice, and so is all that is counted', (seed) => {
    for (const policy of ['initial', 'adaptive', 'baton'] as const) {
      const twice = [1, 2].map(() => snapshotOf(hours(1, policy, { seed, writerDies: true })));
      expect(twice[0]).toEqual(twice[1]);
      expect(twice[0]!.trace).toMatch(/^[0-9a-f]{16}$/);
    }
  });

  test('is another one with another seed, latency, number of proposers or policy', () => {
    const traces = [
      trace({ seed: 8 }),
      trace({ seed: 9 }),
      trace({ seed: 8, latency: latencyModel('lognormal:61,0.5')! }),
      trace({ seed: 8, proposers: 8 }),
      trace({ seed: 8 }, 'adaptive'),
    ];
    expect(new Set(traces).size).toBe(traces.length);
  });

  test('is another one when a single event is different', () => {
    // One message of thousands takes a thousandth of a millisecond longer.
    const normal = latencyModel('lognormal:60,0.5')!;
    let left = 500;
    const slipped = {
      ...normal,
      message: (...args: Parameters<typeof normal.message>) => {
        left -= 1;
        return normal.message(...args) + (left === 0 ? 0.001 : 0);
      },
    };
    expect(trace({ latency: slipped })).not.toBe(trace());
    expect(left).toBeLessThan(0);
  });

  test('of several hours does not depend on who played which, nor on the order', () => {
    const hour = (seed: number): ReturnType<typeof snapshotOf> => snapshotOf(hours(1, 'baton', { seed }));
    const [first, second] = [newDuelCounts(), newDuelCounts()];
    for (const seed of [1, 2, 3]) addSnapshot(first, hour(seed));
    for (const seed of [3, 1, 2]) addSnapshot(second, hour(seed));
    expect(first.trace).toBe(second.trace);
    expect(first.trace).toBe(hours(3, 'baton').trace);
  });
});

describe('a writer that dies', () => {
  test('is noticed a lease after the first other proposer learned of its last beat', () => {
    const counts = hours(10, 'baton', { writerDies: true });
    expect(counts.detectionsMs).toHaveLength(10);
    expect(counts.undetected).toBe(0);
    for (const ms of counts.detectionsMs) expect(ms).toBeGreaterThan(45_000);
    expect(percentileOf(counts.detectionsMs, 0.5)).toBeLessThan(55_000);
  });

  test('is noticed only at the second heartbeat by those who look at heartbeats', () => {
    const baton = hours(10, 'baton', { writerDies: true });
    const heartbeats = hours(10, without('baton', 'observer'), { writerDies: true });
    const [fast, slow] = [baton, heartbeats].map((counts) => percentileOf(counts.detectionsMs, 0.5)!);
    expect(slow! - fast!).toBeGreaterThan(10_000);
    expect(Math.min(...heartbeats.detectionsMs)).toBeGreaterThan(59_000);
  });

  test('looking costs a few more updates and no lease', () => {
    const baton = hours(10, 'baton', { writerDies: true });
    const heartbeats = hours(10, without('baton', 'observer'), { writerDies: true });
    expect(baton.updates / heartbeats.updates).toBeLessThan(1.05);
    expect(baton.attempts / baton.updates).toBeLessThan(1.01);
    expect(baton.failures).toBe(0);
  });
});

test('clocks that are wrong cost those their slot who follow only their own', () => {
  const changes = { latency: latencyModel('lognormal:150,0.5')!, skewMs: 10_000 };
  const fastest = hours(5, 'baton', changes);
  const own = hours(5, without('baton', 'clock'), changes);
  expect(fastest.attempts / fastest.updates).toBeLessThan(1.05);
  expect(own.attempts / own.updates).toBeGreaterThan(1.1);
});
