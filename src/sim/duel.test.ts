import { describe, expect, test } from 'vitest';
import { namedPolicy, type PolicyName } from '../failover/index.ts';
import { latencyModel } from './core/index.ts';
import { type DuelCounts, type DuelOptions, newDuelCounts, runDuel, snapshotOf } from './duel.ts';

function hours(
  count: number,
  policy: PolicyName,
  changes: Partial<DuelOptions> = {},
  baseMs = 100,
): DuelCounts {
  const counts = newDuelCounts();
  for (let hour = 0; hour < count; hour += 1) {
    runDuel(
      {
        proposers: 9,
        acceptors: 7,
        policy: namedPolicy(policy, baseMs),
        latency: latencyModel('lognormal:60,0.5')!,
        intervalMs: 30_000,
        leaseMs: 45_000,
        durationMs: 3_600_000,
        seed: 1 + hour,
        ...changes,
      },
      counts,
    );
  }
  return counts;
}

describe('dueling proposers', () => {
  test('a seed gives the same run twice, and another seed another one', () => {
    expect(snapshotOf(hours(2, 'initial'))).toEqual(snapshotOf(hours(2, 'initial')));
    expect(snapshotOf(hours(1, 'initial', { seed: 8 }))).not.toEqual(
      snapshotOf(hours(1, 'initial', { seed: 9 })),
    );
  });

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
