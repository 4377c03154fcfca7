import { describe, expect, test } from 'vitest';
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
} from '../../../../test/failover/reports.ts';
import { missedBeats } from './beats.ts';
import { neededLive } from './graceful.ts';
import type { RegionReport } from './report.ts';
import { type FailoverState, lastSaidOf, MACHINE_VERSION, type RegionState } from './state.ts';

const ENOUGH_MISSED = missedBeats(MACHINE_VERSION);

/** B has been elected; A, which is preferred, is back, in the lease set, and has two live beats. */
function awayFromHome(changes: Parameters<typeof healthy>[0] = {}): FailoverState {
  const elected = failedOver(healthy(changes), ['B', 'C']);
  const readers = (state: FailoverState) =>
    after(
      state,
      (now) => heartbeat(now, 'A'),
      (now) => heartbeat(now, 'C'),
    );
  const back = after(readers(readers(elected)), (now) =>
    writerSays(now, { add: ['A'], commitSet: ['A', 'B', 'C'], caughtUp: [] }),
  );
  return back;
}

function changed(state: FailoverState, name: string, changes: Partial<RegionState>): FailoverState {
  return { ...state, regions: { ...state.regions, [name]: { ...state.regions[name]!, ...changes } } };
}

const beats = (state: FailoverState, changes: Partial<RegionReport> = {}) =>
  accepted(state, heartbeat(state, state.writer!, { scheduled: false, ...changes }));

describe('a planned move begins', () => {
  test('when a preferred region is healthy, built, caught up, in the lease set and live long enough', () => {
    expect(beats(awayFromHome())).toMatchObject({ phase: 'Graceful', target: 'A', why: 'priority', gcn: 2 });
  });

  const notReady: readonly (readonly [string, (state: FailoverState) => FailoverState])[] = [
    ['has too few live beats', (state) => changed(state, 'A', { live: 1 })],
    ['is building', (state) => changed(state, 'A', { building: true })],
    ['is leaving', (state) => changed(state, 'A', { leaving: true })],
    ['has stopped', (state) => changed(state, 'A', { stop: 1 })],
    ['misses its beats', (state) => changed(state, 'A', { missed: ENOUGH_MISSED })],
    ['cannot commit', (state) => after(state, (now) => heartbeat(now, 'A', { canCommit: false }))],
    ['reaches too few', (state) => after(state, (now) => heartbeat(now, 'A', { reaches: [] }))],
    ['rule 19: is outside the lease set', (state) => ({ ...state, leaseSet: ['B', 'C'] })],
  ];

  test.each(notReady)('not while the target %s', (_, spoil) => {
    expect(beats(spoil(awayFromHome())).phase).toBe('Steady');
  });

  test('rule 18: not while the writer still waits for a region that is no longer in the lease set', () => {
    const state = { ...awayFromHome(), leaseSet: ['A', 'B'] };
    expect(accepted(state, writerSays(state, { commitSet: ['A', 'B', 'C'] })).phase).toBe('Steady');
    expect(accepted(state, writerSays(state, { commitSet: ['A', 'B'] })).phase).toBe('Graceful');
  });

  test('away from a region that is being removed, though an operator waits for one that is not ready', () => {
    const wished = after(
      awayFromHome(),
      () => intent({ kind: 'switchover', target: 'C' }),
      () => intent({ kind: 'remove region', target: 'B' }),
    );
    const moved = accepted(wished, writerSays(wished, { caughtUp: ['A'] }));
    expect(moved).toMatchObject({ phase: 'Graceful', target: 'A', why: 'leaving' });
  });

  test('not home while an operator waits for another region to get ready', () => {
    const wished = after(awayFromHome(), () => intent({ kind: 'switchover', target: 'C' }));
    expect(accepted(wished, writerSays(wished, { caughtUp: ['A'] })).phase).toBe('Steady');
  });

  test('not while the target has not caught up', () => {
    const state = awayFromHome();
    expect(accepted(state, writerSays(state, { caughtUp: ['C'] })).phase).toBe('Steady');
  });

  test('only in an update of the writer, one that renews its lease, of a process that has reported before', () => {
    const state = awayFromHome();
    expect(accepted(state, heartbeat(state, 'C')).phase).toBe('Steady');
    expect(beats(state, { reaches: [] }).phase).toBe('Steady');
    expect(beats(state, { incarnation: 2 }).phase).toBe('Steady');
  });

  test('to the most preferred of those that are ready', () => {
    const state = after(healthy(), () => intent({ kind: 'priorities', priorities: ['C', 'B', 'A'] }));
    expect(beats(state)).toMatchObject({ target: 'C', why: 'priority' });
    expect(beats(changed(state, 'C', { missed: ENOUGH_MISSED }))).toMatchObject({ target: 'B' });
  });

  test('not while paused, and an operator’s wish even then', () => {
    const paused = after(awayFromHome(), () => intent({ kind: 'pause' }));
    expect(beats(paused).phase).toBe('Steady');
    expect(movingTo('A', paused)).toMatchObject({ phase: 'Graceful', target: 'A', why: 'operator' });
  });

  test('not while failback is off or out of its windows', () => {
    const off = after(awayFromHome(), () => intent({ kind: 'failback', failback: 'off' }));
    expect(beats(off).phase).toBe('Steady');
    const windows = [{ from: '22:00', to: '06:00' }];
    const atNight = after(awayFromHome(), () => intent({ kind: 'failback', failback: { windows } }));
    expect(beats(atNight, { at: '2026-03-01T21:59:59Z' }).phase).toBe('Steady');
    expect(beats(atNight, { at: '2026-03-01T22:00:00Z' }).phase).toBe('Graceful');
    expect(beats(atNight, { at: '2026-03-02T05:59:59Z' }).phase).toBe('Graceful');
    expect(beats(atNight, { at: '2026-03-02T06:00:00Z' }).phase).toBe('Steady');
  });

  test('not away from a pinned region, and home to it', () => {
    const state = awayFromHome();
    expect(beats({ ...state, pin: 'B' }).phase).toBe('Steady');
    expect(beats({ ...state, pin: 'C' })).toMatchObject({ target: 'C' });
  });

  test('an operator’s wish skips damping', () => {
    const damped: FailoverState = { ...awayFromHome(), damping: { failures: 3, wait: 8, vain: 0 } };
    expect(beats(damped).phase).toBe('Steady');
    expect(movingTo('A', changed(damped, 'A', { live: 0 }))).toMatchObject({
      phase: 'Graceful',
      target: 'A',
    });
  });

  test('away from a write region that is leaving, or that is revoked', () => {
    const leaving = after(healthy(), () => intent({ kind: 'remove region', target: 'A' }));
    expect(beats(leaving)).toMatchObject({ target: 'B', why: 'leaving' });
    const revoked = after(healthy(), () => intent({ kind: 'revoke', target: 'A' }));
    expect(beats(revoked)).toMatchObject({ target: 'B', why: 'operator' });
  });
});

describe('a process that is busy with moves', () => {
  const busy = { busy: true } as const;

  test('puts off a move home until its next beat', () => {
    const state = awayFromHome();
    const later = beats(state, busy);
    expect(later).toMatchObject({ phase: 'Steady', writer: 'B', damping: state.damping });
    expect(beats(later)).toMatchObject({ phase: 'Graceful', target: 'A', why: 'priority' });
  });

  test('puts off a move to the pinned region too', () => {
    const state: FailoverState = { ...awayFromHome(), pin: 'C' };
    expect(beats(state, busy).phase).toBe('Steady');
    expect(beats(state)).toMatchObject({ phase: 'Graceful', target: 'C' });
  });

  test('goes on with the move that is under way', () => {
    const begun = beats(awayFromHome());
    const done = after(
      begun,
      (now) => heartbeat(now, 'A', { ...busy, wait: { step: now.step, waitedMs: 1 } }),
      (now) => writerSays(now, { quiescedInStep: now.step }, busy),
    );
    expect(done).toMatchObject({ phase: 'Steady', writer: 'A', gcn: 3 });
  });

  test.each([
    ['operator', 'wishes', () => after(healthy(), () => intent({ kind: 'switchover', target: 'B' })), {}],
    ['operator', 'revokes', () => after(healthy(), () => intent({ kind: 'revoke', target: 'A' })), {}],
    ['leaving', 'removes', () => after(healthy(), () => intent({ kind: 'remove region', target: 'A' })), {}],
    ['signal', 'signals', () => healthy({ signals: { disk: 'graceful' } }), { signals: ['disk'] }],
  ] as const)('does not hold a move of which somebody else says when: %s (%s)', (why, _, state, says) => {
    expect(beats(state(), { ...busy, ...says })).toMatchObject({ phase: 'Graceful', target: 'B', why });
  });
});

describe('the two halves of a move', () => {
  test('writes go on until the target has been heard in this step', () => {
    const begun = movingTo('B');
    expect(begun.quiesce).toBeUndefined();
    const say = (region: string, step: number) =>
      accepted(begun, heartbeat(begun, region, { wait: { step, waitedMs: 1 } })).quiesce;
    expect([say('B', begun.step - 1), say('C', begun.step), say('B', begun.step)]).toEqual([
      undefined,
      undefined,
      true,
    ]);
  });

  test('rule 18: the final report is taken only if commit set = lease set', () => {
    const state = quiescing('B');
    const final = (commitSet: readonly string[]) =>
      accepted(
        state,
        writerSays(state, { quiescedInStep: state.step, commitSet }, { progress: { epoch: 1, lsn: 50 } }),
      ).final;
    expect(final(['A', 'B', 'C', 'D'])).toBeUndefined();
    expect(final(['A', 'B'])).toBeUndefined();
    expect(final(['C', 'B', 'A'])).toEqual({ epoch: 1, lsn: 50 });
  });

  test('rule 18: only from the writer, once, in this step, by a process that has reported before', () => {
    const state = quiescing('B');
    const lsn = { progress: { epoch: 1, lsn: 50 } };
    expect(quiesced(state, { ...lsn, incarnation: 2 }).final).toBeUndefined();
    expect(accepted(state, writerSays(state, { quiescedInStep: state.step - 1 }, lsn)).final).toBeUndefined();
    expect(quiesced(quiesced(state, lsn), { progress: { epoch: 1, lsn: 60 } }).final).toEqual({
      epoch: 1,
      lsn: 50,
    });
    expect(quiesced(movingTo('B'), lsn).final).toBeUndefined();
  });
});

describe('rule 18: after a raise without silence', () => {
  /** Forced from A to C by too few, so that A is still a member; nobody has heard of A since. */
  const forced = after(
    healthy(),
    () => intent({ kind: 'failover', target: 'C' }),
    (now) => heartbeat(now, 'C', { wait: { step: now.step, waitedMs: 60_000 } }),
    (now) => heartbeat(now, 'B'),
    () => intent({ kind: 'switchover', target: 'B' }),
  );
  const says = (state: FailoverState, hasWaited: boolean) =>
    accepted(state, writerSays(state, { quiescedInStep: state.step, ...(hasWaited && { hasWaited: true }) }));

  test('rule 18: no move begins while rule 12’s wait runs', () => {
    expect(forced).toMatchObject({
      writer: 'C',
      gcn: 2,
      leaseSet: ['A', 'B', 'C'],
      raise: { cause: 'forced' },
    });
    expect(says(forced, false).phase).toBe('Steady');
    expect(says(forced, true)).toMatchObject({ phase: 'Graceful', target: 'B' });
  });

  test('rule 18: no final report while rule 12’s wait runs', () => {
    const moving = says(forced, true);
    const state = accepted(moving, heartbeat(moving, 'B', { wait: { step: moving.step, waitedMs: 1 } }));
    expect(state.quiesce).toBe(true);
    expect(says(state, false)).toMatchObject({ writer: 'C', gcn: 2 });
    expect(says(state, false).final).toBeUndefined();
    expect(says(state, true)).toMatchObject({ writer: 'B', gcn: 3 });
  });

  test('rule 18: when every region has reported there is nothing to wait for', () => {
    expect(says(accepted(forced, heartbeat(forced, 'A')), false).phase).toBe('Graceful');
  });
});

describe('rule 19: the switch', () => {
  const final = () => quiesced(quiescing('B'), { progress: { epoch: 1, lsn: 50 } });
  const reports = (epoch: number, lsn: number, region = 'B') => {
    const state = final();
    return accepted(state, heartbeat(state, region, { progress: { epoch, lsn } }));
  };

  test('moves GCN and write region in one step, and keeps the lease set', () => {
    const { beat } = final().regions['A']!;
    expect(reports(1, 50)).toMatchObject({
      gcn: 2,
      writer: 'B',
      phase: 'Steady',
      leaseSet: ['A', 'B', 'C'],
      raise: { cause: 'switch', gcn: 1, writer: 'A', beat, lsn: 50 },
      pin: 'B',
    });
  });

  test('rule 19: the same LSN of another epoch is not the same progress', () => {
    expect(reports(0, 50).phase).toBe('Graceful');
    expect(reports(1, 49).phase).toBe('Graceful');
    expect(reports(1, 51).phase).toBe('Graceful');
  });

  test('rule 19: another member that has the final progress is not the target', () => {
    expect(reports(1, 50, 'C').phase).toBe('Graceful');
  });

  test('rule 19: the final progress is cleared on leaving Graceful', () => {
    const state = final();
    const ways = [
      reports(1, 50),
      accepted(state, silence(state, 'C')),
      accepted(state, heartbeat(state, 'A', { wait: { step: state.step, waitedMs: 60_000 } })),
    ];
    for (const { final: left, target, why, quiesce } of ways) {
      expect([left, target, why, quiesce]).toEqual([undefined, undefined, undefined, undefined]);
    }
  });

  test('forgets failures and clears the reports under the old GCN (rule 7)', () => {
    const next = accepted(
      { ...final(), damping: { failures: 3, wait: 0, vain: 0 } },
      heartbeat(final(), 'B', { progress: { epoch: 1, lsn: 50 } }),
    );
    expect(next.damping).toEqual({ failures: 0, wait: 0, vain: 0 });
    expect(Object.values(next.regions).map(({ report }) => report)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(lastSaidOf(next, 'B').progress).toEqual({ epoch: 1, lsn: 50 });
  });

  test('an automatic move pins nothing', () => {
    const begun = beats(awayFromHome());
    const done = after(
      begun,
      (now) => heartbeat(now, 'A', { wait: { step: now.step, waitedMs: 1 } }),
      (now) => writerSays(now, { quiescedInStep: now.step }),
    );
    expect(done).toMatchObject({ writer: 'A', gcn: 3 });
    expect(done.pin).toBeUndefined();
  });

  test('away from a revoked region pins nothing either; it gets the writes back when it has proved itself', () => {
    const begun = beats(after(healthy(), () => intent({ kind: 'revoke', target: 'A' })));
    const away = after(
      begun,
      (now) => heartbeat(now, 'B', { wait: { step: now.step, waitedMs: 1 } }),
      (now) => writerSays(now, { quiescedInStep: now.step }),
    );
    expect(away).toMatchObject({ writer: 'B', gcn: 2, regions: { A: { live: 0 } } });
    expect(away.pin).toBeUndefined();
    expect(beats(away).phase).toBe('Steady');
    const again = after(
      away,
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'A'),
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'A'),
    );
    expect(beats(again)).toMatchObject({ phase: 'Graceful', target: 'A', why: 'priority' });
  });
});

describe('rule 20: a move that comes to nothing', () => {
  const waits = (state: FailoverState, waitedMs: number, region = 'A') =>
    accepted(state, heartbeat(state, region, { scheduled: false, wait: { step: state.step, waitedMs } }));

  test('rule 20: quiesced for a third of a lease, the live writer goes on, under the same GCN', () => {
    const state = quiescing('B');
    expect(waits(state, 14_999).phase).toBe('Graceful');
    expect(waits(state, 15_000)).toMatchObject({ phase: 'Steady', writer: 'A', gcn: 1 });
  });

  test('rule 20: a target that does not answer is waited for a whole lease: writes go on meanwhile', () => {
    const state = movingTo('B');
    expect(waits(state, 44_999).phase).toBe('Graceful');
    expect(waits(state, 45_000)).toMatchObject({ phase: 'Steady', writer: 'A' });
  });

  test('rule 20: only the writer can say so', () => {
    expect(waits(quiescing('B'), 60_000, 'C').phase).toBe('Graceful');
  });

  test('the next one waits twice as many beats each time, and at most 256', () => {
    const wait = (failures: number) =>
      waits({ ...quiescing('B'), damping: { failures, wait: 0, vain: 0 } }, 15_000).damping;
    expect([0, 1, 2, 7, 8, 100].map((failures) => wait(failures).wait)).toEqual([2, 4, 8, 256, 256, 256]);
    expect(wait(2).failures).toBe(3);
  });

  test('and the wait is over after that many beats of the writer', () => {
    const state: FailoverState = { ...awayFromHome(), damping: { failures: 1, wait: 2, vain: 0 } };
    const round = (now: FailoverState) =>
      after(
        now,
        (next) => heartbeat(next, 'A'),
        (next) => heartbeat(next, 'C'),
        (next) => heartbeat(next, 'B'),
      );
    expect(round(state)).toMatchObject({ phase: 'Steady', damping: { wait: 1 } });
    expect(round(round(state)).phase).toBe('Graceful');
  });

  test.each([
    ['stops', (state: FailoverState) => after(state, (now) => heartbeat(now, 'B', { stopping: true }))],
    [
      'loses its data',
      (state: FailoverState) => after(state, (now) => heartbeat(now, 'B', { build: 'Building' })),
    ],
    [
      'is removed',
      (state: FailoverState) => after(state, () => intent({ kind: 'remove region', target: 'B' })),
    ],
  ])('at once when the target %s', (_, spoil) => {
    const next = beats(spoil(quiescing('B')));
    expect(next).toMatchObject({ phase: 'Steady', writer: 'A' });
    expect(next.history.at(-1)!.why).toBe('target gone');
  });

  test('at once when the writer is a new process: what it had quiesced it no longer knows', () => {
    const next = beats(quiescing('B'), { incarnation: 2 });
    expect(next.phase).toBe('Steady');
    expect(next.history.at(-1)!.why).toBe('writer restarted');
  });

  test('the operator’s wish is cancelled, not tried again behind his back', () => {
    const next = waits(quiescing('B'), 15_000);
    expect(next.open).toEqual([]);
    expect(next.recent).toEqual([{ id: 'switchover-1', kind: 'switchover', end: 'cancelled' }]);
  });

  test('a later wish of the operator takes the place of the one under way, and is not lost with it', () => {
    const state = after(quiescing('B'), () => intent({ kind: 'switchover', target: 'C' }, { id: 'later' }));
    const given = beats(state);
    expect(given.history.at(-1)!.why).toBe('withdrawn');
    expect(given.open.map(({ id }) => id)).toEqual(['later']);
    expect(beats(given)).toMatchObject({ phase: 'Graceful', target: 'C' });
  });
});

test('a target that succeeded and then died needs exponentially more live beats', () => {
  const needed = (deaths: number) => neededLive(changed(healthy(), 'A', { deaths }), 'A');
  expect([neededLive(healthy(), 'A'), ...[1, 2, 3, 8, 20].map(needed)]).toEqual([2, 4, 8, 16, 512, 512]);
  const state = changed(awayFromHome(), 'A', { deaths: 2, live: 7 });
  expect(beats(state).phase).toBe('Steady');
  expect(beats(changed(state, 'A', { live: 8 })).phase).toBe('Graceful');
});
