import { describe, expect, test } from 'vitest';
import {
  accepted,
  after,
  failedOver,
  healthy,
  heartbeat,
  intent,
  quiescing,
  silence,
} from '../../../../test/failover/reports.ts';
import { certainlyOver } from '../time.ts';
import { missedBeats } from './beats.ts';
import { type FailoverState, lastSaidOf, MACHINE_VERSION, type RegionState } from './state.ts';

const ENOUGH_MISSED = missedBeats(MACHINE_VERSION);

describe('rule 4: silence', () => {
  test('rule 4: any beat of the writer restarts the wait', () => {
    const state = healthy();
    const beaten = after(state, (now) => heartbeat(now, 'A'));
    expect(accepted(beaten, { ...silence(state, 'B') }).phase).toBe('Steady');
    expect(accepted(beaten, silence(beaten, 'B')).phase).toBe('Ungraceful');
  });

  test.each([
    ['another GCN', { gcn: 2 }],
    ['another writer', { writer: 'C' }],
    ['another beat', { beat: 1 }],
  ])('rule 4: a wait for %s is no wait for this one', (_, other) => {
    const state = healthy();
    expect(accepted(state, silence(state, 'B', other)).phase).toBe('Steady');
  });

  test('rule 4: the wait is a lease with the margin for two clocks that drift', () => {
    const state = healthy();
    const enough = (45_000 * 1.001) / 0.999;
    expect(certainlyOver(45_000)).toBe(enough);
    expect(accepted(state, silence(state, 'B', { waitedMs: enough - 0.01 })).phase).toBe('Steady');
    expect(accepted(state, silence(state, 'B', { waitedMs: enough })).phase).toBe('Ungraceful');
  });

  test('rule 4: the writer’s own silence says nothing', () => {
    const state = healthy();
    expect(accepted(state, silence(state, 'A')).phase).toBe('Steady');
  });

  test('rule 20: in the middle of a graceful failover it takes the same whole lease', () => {
    const state = quiescing('B');
    const third = state.leaseMs / 3;
    const waiting = silence(state, 'C', { waitedMs: third });
    expect(accepted(state, { ...waiting, wait: { step: state.step, waitedMs: 60_000 } }).phase).toBe(
      'Graceful',
    );
    expect(accepted(state, silence(state, 'C')).phase).toBe('Ungraceful');
  });

  test('paused, nobody acts on it', () => {
    const state = after(healthy(), () => intent({ kind: 'pause' }));
    expect(accepted(state, silence(state, 'B')).phase).toBe('Steady');
  });
});

describe('raising the GCN', () => {
  test('rule 7: raising the GCN clears what was reported under the old one', () => {
    const state = healthy();
    const raised = accepted(state, silence(state, 'B'));
    expect(raised).toMatchObject({ gcn: 2, writer: null, phase: 'Ungraceful' });
    expect(Object.values(raised.regions).every(({ report }) => report === undefined)).toBe(true);
  });

  test('what a disk was known to have stays known, until its region reports anew', () => {
    const known = healthy();
    const progress = { epoch: 1, lsn: 12 };
    const state = after(known, (now) => heartbeat(now, 'C', { progress }));
    const twice = after(
      state,
      (now) => silence(now, 'B'),
      () => intent({ kind: 'failover' }),
    );
    expect(lastSaidOf(twice, 'C')).toEqual({ incarnation: 1, progress });
    const said = { epoch: 1, lsn: 11 };
    const reported = accepted(twice, heartbeat(twice, 'C', { progress: said }));
    expect(lastSaidOf(reported, 'C')).toMatchObject({ incarnation: 1, progress: said });
    expect(reported.regions['C']).not.toHaveProperty('had');
  });

  test('rule 19: clears the target and the final progress of a planned move', () => {
    const state = quiescing('B');
    const raised = accepted(state, silence(state, 'C'));
    expect(raised).not.toHaveProperty('target');
    expect(raised).not.toHaveProperty('quiesce');
    expect(raised).not.toHaveProperty('final');
  });

  test('rule 12: records what it found, inside the editor', () => {
    const state = after(healthy(), (now) => heartbeat(now, 'A', { progress: { epoch: 1, lsn: 99 } }));
    const { beat } = state.regions['A']!;
    expect(accepted(state, silence(state, 'B')).raise).toEqual({
      cause: 'silence',
      gcn: 1,
      writer: 'A',
      beat,
      lsn: 99,
    });
  });

  test('rule 12: a raise that finds no writer keeps the earlier record', () => {
    const state = healthy();
    const { beat } = state.regions['A']!;
    const again = after(
      state,
      (now) => silence(now, 'B'),
      () => intent({ kind: 'failover', target: 'B' }),
    );
    expect(again.gcn).toBe(3);
    expect(again.raise).toEqual({ cause: 'silence', gcn: 1, writer: 'A', beat, lsn: 10, target: 'B' });
  });

  test('rule 12: but takes the operator’s target and what he accepts from the last one alone', () => {
    const state = after(
      healthy(),
      () => intent({ kind: 'failover', target: 'B', acceptLoss: true }),
      () => intent({ kind: 'failover', target: 'C' }, { id: 'second' }),
    );
    expect(state.raise).toMatchObject({ cause: 'forced', gcn: 1, writer: 'A', target: 'C' });
    expect(state.raise.acceptLoss).toBeUndefined();
  });

  test('measures a loss by the switch when the new writer has not reported since', () => {
    const state = after(
      quiescing('B'),
      (now) => heartbeat(now, 'B', { progress: { epoch: 1, lsn: 50 } }),
      (now) => ({
        ...heartbeat(now, 'A', { progress: { epoch: 1, lsn: 50 } }),
        writer: { commitSet: now.leaseSet, caughtUp: ['B'], quiescedInStep: now.step },
      }),
    );
    expect(state).toMatchObject({ gcn: 2, writer: 'B' });
    expect(accepted(state, silence(state, 'C')).raise.lsn).toBe(50);
  });
});

describe('a writer that cannot go on', () => {
  const unable = (state: FailoverState) => accepted(state, heartbeat(state, 'A', { canCommit: false }));
  const changed = (name: string, changes: object): FailoverState => {
    const state = healthy();
    return { ...state, regions: { ...state.regions, [name]: { ...state.regions[name]!, ...changes } } };
  };

  test('is replaced at once', () => {
    expect(unable(healthy())).toMatchObject({ phase: 'Ungraceful', raise: { cause: 'unable' } });
  });

  test('has lost its data: is replaced at once', () => {
    const state = healthy();
    const next = accepted(state, heartbeat(state, 'A', { build: 'Building' }));
    expect(next).toMatchObject({ phase: 'Ungraceful', raise: { cause: 'unable' } });
  });

  test('is not replaced when nobody could do better', () => {
    const alone = healthy({ priorities: ['A'], minDurability: 1 });
    expect(unable(alone).phase).toBe('Steady');
    const others = after(
      healthy(),
      (now) => heartbeat(now, 'B', { canCommit: false }),
      (now) => heartbeat(now, 'C', { canCommit: false }),
    );
    expect(unable(others).phase).toBe('Steady');
  });

  test.each([
    ['dead', { missed: ENOUGH_MISSED }],
    ['building', { building: true }],
    ['leaving', { leaving: true }],
    ['stopped', { stop: 1 }],
    ['without a report', { report: undefined }],
  ])('one that is %s is no successor', (_, changes) => {
    const state = healthy({ priorities: ['A', 'B'] });
    const region = { ...state.regions['B']!, ...changes } as RegionState;
    expect(unable({ ...state, regions: { ...state.regions, B: region } }).phase).toBe('Steady');
  });

  test('one outside the lease set is a successor at weak levels only', () => {
    const outside = (state: FailoverState): FailoverState => ({ ...state, leaseSet: ['A'] });
    expect(unable(outside(healthy())).phase).toBe('Steady');
    expect(unable(outside(healthy({ consistency: 'Session' }))).phase).toBe('Ungraceful');
  });

  test('rule 2: the first update of a new process decides nothing', () => {
    const state = healthy();
    expect(accepted(state, heartbeat(state, 'A', { canCommit: false, incarnation: 2 })).phase).toBe('Steady');
  });

  test('rule 22: that stops on purpose is not held dead', () => {
    const state = changed('A', { good: 5 });
    const next = accepted({ ...state, pin: 'A' }, heartbeat(state, 'A', { stopping: true }));
    expect(next).toMatchObject({ phase: 'Ungraceful', raise: { cause: 'stop' }, pin: 'A' });
    expect(next.regions['A']!.live).toBe(state.regions['A']!.live + 1);
  });

  test('loses its pin and its live beats when it dies', () => {
    const state: FailoverState = { ...healthy(), pin: 'A' };
    const next = accepted(state, silence(state, 'B'));
    expect(next.pin).toBeUndefined();
    expect(next.regions['A']!.live).toBe(0);
  });
});

describe('a target that got the writes back and died', () => {
  test('needs twice as many live beats each time', () => {
    const state = healthy();
    const givenBack: FailoverState = { ...state, raise: { ...state.raise, cause: 'switch' } };
    const young = { ...givenBack.regions['A']!, good: 3 };
    const died = accepted(
      { ...givenBack, regions: { ...givenBack.regions, A: young } },
      silence(givenBack, 'B'),
    );
    expect(died.regions['A']!.deaths).toBe(1);
  });

  test('after twenty good beats it counts as new', () => {
    const state = healthy();
    const givenBack: FailoverState = { ...state, raise: { ...state.raise, cause: 'switch' } };
    const old = { ...givenBack.regions['A']!, good: 20 };
    const died = accepted(
      { ...givenBack, regions: { ...givenBack.regions, A: old } },
      silence(givenBack, 'B'),
    );
    expect(died.regions['A']!.deaths).toBeUndefined();
  });

  test('an election that put it there does not count', () => {
    const state = failedOver(healthy(), ['B', 'C']);
    expect(accepted(state, silence(state, 'C')).regions['B']!.deaths).toBeUndefined();
  });
});
