import { describe, expect, test } from 'vitest';
import { after, healthy, heartbeat, intent, writerSays } from '../../../../test/failover/reports.ts';
import type { FailoverState } from './state.ts';
import { storedForm } from './stored.ts';

/** Among the longest names that Azure has. */
const NAMES = ['southafricanorth', 'germanywestcentral', 'switzerlandnorth'];

/** Everything that three regions can bring into the state at once, in the middle of a graceful failover, years later. */
function worst(): FailoverState {
  const [first, second, third] = NAMES as [string, string, string];
  const id = (n: number) => `0198a7c2-7a54-7c1e-9d5b-3f0c6a1b2c${n}`;
  const young = healthy({
    priorities: [first, second, third],
    consistency: 'BoundedStaleness',
    staleness: { writes: 100_000, seconds: 300 },
    maxLossWrites: 1000,
    failback: { windows: [{ from: '22:00', to: '06:00' }] },
    signals: { 'no-successful-user-traffic': 'graceful', 'disk-failing': 'failover' },
  });
  const old: FailoverState = {
    ...young,
    partitionSet: 'orders-0198a7c2-000123',
    gcn: 1234,
    step: 5678,
    regions: Object.fromEntries(
      Object.entries(young.regions).map(([name, region]) => [
        name,
        { ...region, incarnation: 1_772_000_000, beat: 12_345_678, seen: 12_345_670, live: 1000, deaths: 2 },
      ]),
    ),
    removed: ['westeurope'],
    departed: [{ region: 'westeurope', incarnation: 1_772_000_000, beat: 12_345_678 }],
    statistics: Object.fromEntries(
      NAMES.map((name) => [name, { count: 512.5, average: 118, mean: 121, squares: 8_123_456 }]),
    ),
  };
  const entry = { progress: { epoch: 1234, lsn: 9_876_543_210 }, gclsn: 9_876_543_209 };
  const at = '2026-03-01T12:00:00.000Z';
  return after(
    old,
    ...NAMES.toReversed().map((name) => (now: FailoverState) => heartbeat(now, name, entry)),
    (now) => writerSays(now, {}, { ...entry, at, phase2Ms: 100 }),
    () => intent({ kind: 'switchover', target: second }, { id: id(1), who: 'operator@example.org' }),
    (now) => heartbeat(now, first, { ...entry, scheduled: false, at }),
    (now) => heartbeat(now, first, { ...entry, wait: { step: now.step, waitedMs: 99_999 }, at }),
    () =>
      intent(
        { kind: 'timings', timings: old.configuration.timings },
        { id: id(2), who: 'operator@example.org' },
      ),
    () =>
      intent({ kind: 'switchover', target: second }, { id: id(3), who: 'operator@example.org', gcn: 1234 }),
    (now) => heartbeat(now, first, { ...entry, scheduled: false, at }),
    (now) => heartbeat(now, second, { ...entry, wait: { step: now.step, waitedMs: 10 }, at }),
    (now) => ({
      ...writerSays(now, { quiescedInStep: now.step }, { at }),
      progress: { epoch: 1234, lsn: 9_876_543_211 },
    }),
  );
}

describe('the state as stored', () => {
  test('at three regions with long names, in the middle of everything, is at most 2 kB', () => {
    const state = worst();
    expect(state).toMatchObject({ phase: 'Graceful', quiesce: true, final: { epoch: 1234 } });
    expect(state.open).toHaveLength(1);
    expect(state.recent).toHaveLength(2);
    expect(state.history).toHaveLength(3);
    expect(Object.keys(state.statistics)).toHaveLength(3);
    expect(Buffer.byteLength(JSON.stringify(storedForm(state)))).toBeLessThanOrEqual(2048);
  });
});
