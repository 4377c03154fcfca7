import { describe, expect, test } from 'vitest';
import {
  accepted,
  after,
  healthy,
  heartbeat,
  intent,
  movingTo,
  quiesced,
  quiescing,
  writerSays,
} from '../../../../test/failover/reports.ts';
import { missedBeats } from './beats.ts';
import type { WriterReport } from './report.ts';
import { type FailoverState, MACHINE_VERSION } from './state.ts';

const ENOUGH_MISSED = missedBeats(MACHINE_VERSION);

const asking = (state: FailoverState, says: Partial<WriterReport>, incarnation = 1) =>
  accepted(state, writerSays(state, says, { incarnation })).leaseSet;

const outside = (): FailoverState => ({ ...healthy(), leaseSet: ['A', 'B'] });

describe('rule 1: the writer changes the lease set, and nobody else', () => {
  test('adds and removes', () => {
    expect(asking(outside(), { add: ['C'], commitSet: ['A', 'B', 'C'] })).toEqual(['A', 'B', 'C']);
    expect(asking(healthy(), { remove: ['C'] })).toEqual(['A', 'B']);
  });

  test('a reader that asks is not heard', () => {
    const state = healthy();
    const report = heartbeat(state, 'B', { writer: { commitSet: ['B'], caughtUp: [], remove: ['A', 'C'] } });
    expect(accepted(state, report).leaseSet).toEqual(['A', 'B', 'C']);
  });

  test('rule 2: the first update of a new process asks for nothing', () => {
    expect(asking(outside(), { add: ['C'], commitSet: ['A', 'B', 'C'] }, 2)).toEqual(['A', 'B']);
    expect(asking(healthy(), { remove: ['C'] }, 2)).toEqual(['A', 'B', 'C']);
  });

  test('rule 8: a writer that reaches too few to renew does not choose its own successors', () => {
    const state = healthy();
    const report = writerSays(state, { remove: ['C'] }, { reaches: [] });
    expect(accepted(state, report).leaseSet).toEqual(['A', 'B', 'C']);
  });

  test('a report that only reads the writer’s mind, without its part, changes nothing', () => {
    const { writer: _, ...report } = writerSays(healthy(), { remove: ['C'] });
    expect(accepted(healthy(), report).leaseSet).toEqual(['A', 'B', 'C']);
  });
});

describe('who may join', () => {
  test('rule 14: rule 16: only a region that is in the commit set already', () => {
    expect(asking(outside(), { add: ['C'], commitSet: ['A', 'B'] })).toEqual(['A', 'B']);
  });

  test.each([
    ['is building', { building: true }],
    ['is leaving', { leaving: true }],
    ['has stopped', { stop: 1 }],
  ] as const)('rule 16: not one that %s', (_, changes) => {
    const state = outside();
    const region = { ...state.regions['C']!, ...changes };
    const next = { ...state, regions: { ...state.regions, C: region } };
    expect(asking(next, { add: ['C'], commitSet: ['A', 'B', 'C'] })).toEqual(['A', 'B']);
  });

  test('not a region that is none of the partition-set', () => {
    expect(asking(outside(), { add: ['Z', 'C'], commitSet: ['A', 'B', 'C', 'Z'] })).toEqual(['A', 'B', 'C']);
  });

  test('a member that is added again is there once', () => {
    expect(asking(outside(), { add: ['B', 'B'], commitSet: ['A', 'B'] })).toEqual(['A', 'B']);
  });
});

describe('who may leave', () => {
  test('no removal takes the lease set below the minimum durability', () => {
    const state = healthy({ minDurability: 2 });
    expect(asking(state, { remove: ['B', 'C'] })).toEqual(['A', 'C']);
    expect(asking(healthy({ minDurability: 3 }), { remove: ['B'] })).toEqual(['A', 'B', 'C']);
  });

  test('the writer never leaves the lease set', () => {
    expect(asking(healthy({ minDurability: 1 }), { remove: ['A'] })).toEqual(['A', 'B', 'C']);
  });

  test('rule 17: removal is the writer’s wish; silence of a member alone removes nobody', () => {
    const beats = Array.from({ length: 5 }, () => (now: FailoverState) => heartbeat(now, 'A'));
    expect(after(healthy(), ...beats).leaseSet).toEqual(['A', 'B', 'C']);
  });
});

describe('rule 18: during a graceful failover', () => {
  const add = { add: ['C'], commitSet: ['A', 'B', 'C'] };

  test('rule 18: during a graceful failover nobody is removed', () => {
    expect(asking(movingTo('B'), { remove: ['C'] })).toEqual(['A', 'B', 'C']);
    expect(asking(quiescing('B'), { remove: ['C'] })).toEqual(['A', 'B', 'C']);
  });

  test('rule 18: members are added only before the final report', () => {
    expect(asking(movingTo('B', outside()), add)).toEqual(['A', 'B', 'C']);
    expect(asking(quiescing('B', outside()), add)).toEqual(['A', 'B', 'C']);
    const final = quiesced(quiescing('B', outside()), { progress: { epoch: 1, lsn: 99 } });
    expect(final.final).toEqual({ epoch: 1, lsn: 99 });
    expect(asking(final, add)).toEqual(['A', 'B']);
  });
});

describe('at weaker levels the lease set is the writer and those that report', () => {
  const weak = (minDurability = 1) => healthy({ consistency: 'Session', minDurability });

  test('a region that reports is in it', () => {
    const state: FailoverState = { ...weak(), leaseSet: ['A'] };
    expect(after(state, (now) => heartbeat(now, 'C')).leaseSet).toEqual(['A', 'C']);
  });

  test('a region that the writer finds dead is not', () => {
    const beats = Array.from({ length: ENOUGH_MISSED }, () => (now: FailoverState) => heartbeat(now, 'A'));
    expect(after(weak(), ...beats).leaseSet).toEqual(['A']);
    expect(after(weak(2), ...beats).leaseSet).toEqual(['A', 'C']);
  });

  test('nor one that is building, stopping or leaving', () => {
    expect(after(weak(), (now) => heartbeat(now, 'C', { build: 'Building' })).leaseSet).toEqual(['A', 'B']);
    expect(after(weak(), (now) => heartbeat(now, 'C', { stopping: true })).leaseSet).toEqual(['A', 'B']);
    const leaving = after(weak(), () => intent({ kind: 'remove region', target: 'C' }));
    expect(after(leaving, (now) => heartbeat(now, 'A', { scheduled: false })).leaseSet).toEqual(['A', 'B']);
  });
});
