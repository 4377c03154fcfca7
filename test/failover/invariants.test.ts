import type { FailoverState, RegionState, Report } from 'baton/failover';
import { expect, test } from 'vitest';
import { brokenBy, INVARIANTS } from './invariants.ts';
import {
  accepted,
  after,
  failedOver,
  healthy,
  heartbeat,
  intent,
  movingTo,
  quiesced,
  quiescing,
  silence,
  writerSays,
} from './reports.ts';

const withRegion = (state: FailoverState, name: string, changes: Partial<RegionState>): FailoverState => ({
  ...state,
  regions: { ...state.regions, [name]: { ...state.regions[name]!, ...changes } },
});

/** An update as the machine makes it, and what a defect would make of it. */
function spoiled(
  before: FailoverState,
  report: Report,
  spoil: (after: FailoverState) => FailoverState,
): readonly string[] {
  const next = accepted(before, report);
  expect(brokenBy({ before, report, after: next })).toEqual([]);
  return brokenBy({ before, report, after: spoil(next) }).map((complaint) => complaint.split(':')[0]!);
}

const state = healthy();
const beat = heartbeat(state, 'B');
const raised = accepted(state, silence(state, 'B'));
const final = quiesced(quiescing('B'), { progress: { epoch: 1, lsn: 50 } });
const stopped = after(state, (now) => heartbeat(now, 'C', { stopping: true }));
const reported = after(raised, (now) => heartbeat(now, 'B'));

/** Forced away from a region that has not fenced itself; the new writer has not waited yet. */
const forced = after(
  healthy(),
  () => intent({ kind: 'failover', target: 'B' }),
  (now) => heartbeat(now, 'B', { wait: { step: now.step, waitedMs: 60_000 } }),
  (now) => heartbeat(now, 'C'),
);

const PLANTED: Readonly<Record<string, () => readonly string[]>> = {
  I1: () => spoiled(state, beat, (next) => ({ ...next, writer: 'B' })),
  I2: () => spoiled(state, beat, (next) => ({ ...next, step: next.step - 1 })),
  I3: () => spoiled(state, beat, (next) => withRegion(next, 'C', { beat: 0 })),
  I4: () => spoiled(state, beat, (next) => ({ ...next, leaseSet: ['B', 'C'] })),
  I5: () => spoiled(state, beat, (next) => ({ ...next, leaseSet: ['A'] })),
  I6: () =>
    spoiled({ ...reported, leaseSet: ['B', 'A'] }, heartbeat(reported, 'C'), (next) => ({
      ...next,
      leaseSet: [...next.leaseSet, 'C'],
    })),
  I7: () => spoiled(state, silence(state, 'B'), (next) => withRegion(next, 'C', { stop: 1 })),
  I8: () =>
    spoiled(final, heartbeat(final, 'A', { incarnation: 2 }), (next) => ({
      ...next,
      final: { epoch: 1, lsn: 50 },
    })),
  I9: () => spoiled(movingTo('B'), heartbeat(state, 'C'), (next) => ({ ...next, leaseSet: ['A', 'C'] })),
  I10: () =>
    spoiled(final, heartbeat(final, 'B', { progress: { epoch: 1, lsn: 50 } }), (next) => ({
      ...next,
      leaseSet: ['A', 'B'],
    })),
  I11: () => spoiled(state, silence(state, 'B'), (next) => ({ ...next, history: state.history })),
  I12: () => spoiled(state, beat, (next) => ({ ...next, leaseSet: ['A', 'B'] })),
  I13: () =>
    spoiled(state, intent({ kind: 'failover' }), (next) => ({
      ...next,
      raise: { ...next.raise, cause: 'silence' },
    })),
  I14: () =>
    spoiled(raised, heartbeat(raised, 'B'), (next) => ({ ...next, raise: { ...next.raise, beat: 99 } })),
  I15: () => spoiled(state, beat, (next) => withRegion(next, 'A', { beat: 99 })),
  I16: () =>
    spoiled(stopped, heartbeat(stopped, 'C'), (next) => {
      const { stop: _, ...region } = next.regions['C']!;
      return { ...next, regions: { ...next.regions, C: region } };
    }),
  I17: () =>
    spoiled(
      after(state, () => intent({ kind: 'switchover', target: 'B' })),
      beat,
      (next) => ({ ...next, open: [] }),
    ),
  I18: () => spoiled(state, beat, (next) => ({ ...next, pin: 'Z' })),
  I19: () =>
    spoiled(state, beat, (next) => ({ ...next, configuration: { ...next.configuration, minDurability: 1 } })),
  I20: () =>
    spoiled(forced, heartbeat(forced, 'B'), (next) => ({
      ...next,
      phase: 'Graceful',
      target: 'C',
      why: 'operator',
    })),
  I21: () =>
    spoiled(state, beat, (next) => ({
      ...next,
      configuration: { ...next.configuration, version: 2, consistency: 'Session' },
    })),
};

test.each(INVARIANTS)('$id is seen to be broken by a planted defect', ({ id }) => {
  expect(PLANTED[id]!()).toContain(id);
});

test('a defect is planted for every invariant, and nothing else', () => {
  expect(Object.keys(PLANTED)).toEqual(INVARIANTS.map(({ id }) => id));
});

test('what honest regions do breaks none', () => {
  const elected = failedOver(state, ['B', 'C']);
  const report = writerSays(elected, { add: ['A'], commitSet: ['A', 'B', 'C'] });
  const back = after(elected, (now) => heartbeat(now, 'A'));
  expect(brokenBy({ before: back, report, after: accepted(back, report) })).toEqual([]);
});
