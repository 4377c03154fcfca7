import { describe, expect, test } from 'vitest';
import {
  accepted,
  after,
  failedOver,
  healthy,
  heartbeat,
  intent,
  settling,
  silence,
} from '../../../../test/failover/reports.ts';
import type { Configuration } from './configuration.ts';
import { certainlyOver } from '../time.ts';
import { electionWaitMs, settleMs } from './election.ts';
import type { RegionReport } from './report.ts';
import { type FailoverState, MACHINE_VERSION } from './state.ts';

/** The writer A is silent; nobody has reported yet. */
function raised(changes: Partial<Configuration> = {}, leaseSet?: readonly string[]): FailoverState {
  const state = healthy(changes);
  return accepted(leaseSet === undefined ? state : { ...state, leaseSet }, silence(state, 'B'));
}

/** These report in turn, the last one after a long wait. */
function reporting(
  state: FailoverState,
  ...reports: readonly [string, Partial<RegionReport>?][]
): FailoverState {
  return reports.reduce((now, [name, says], index) => {
    const isLast = index === reports.length - 1;
    return isLast ? settling(now, name, says) : accepted(now, heartbeat(now, name, says));
  }, state);
}

const at = (epoch: number, lsn: number) => ({ progress: { epoch, lsn } });

describe('the settling time', () => {
  test('nobody is elected before it is over', () => {
    const state = raised();
    const wait = { step: state.step, waitedMs: settleMs(state) - 1 };
    expect(accepted(state, heartbeat(state, 'B', { wait })).writer).toBeNull();
    expect(
      accepted(state, heartbeat(state, 'B', { wait: { ...wait, waitedMs: wait.waitedMs + 1 } })).writer,
    ).toBe('B');
  });

  test('a wait in another step of the machine is no wait', () => {
    const state = raised();
    const wait = { step: state.step - 1, waitedMs: 60_000 };
    expect(accepted(state, heartbeat(state, 'B', { wait })).writer).toBeNull();
  });

  test('is shorter when all but the silent writer have reported', () => {
    const state = after(raised(), (now) => heartbeat(now, 'B'));
    expect(state.writer).toBeNull();
    expect(after(state, (now) => heartbeat(now, 'C')).writer).toBe('B');
  });

  test('after a raise without silence the old writer is waited for too', () => {
    const forced = after(healthy(), () => intent({ kind: 'failover' }));
    const two = after(
      forced,
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'C'),
    );
    expect(two.writer).toBeNull();
    expect(after(two, (now) => heartbeat(now, 'A')).writer).toBe('B');
  });

  test('doubles with every election in vain, up to a lease, and a good beat ends that', () => {
    const state = raised();
    const vain = (count: number): FailoverState => ({ ...state, damping: { ...state.damping, vain: count } });
    expect([0, 1, 2, 4, 9].map((count) => Math.round(settleMs(vain(count))))).toEqual([
      2000, 4000, 8000, 32_000, 45_090,
    ]);
    const alone = settling(vain(1), 'B', { reaches: [] });
    expect(alone).toMatchObject({ writer: 'B', damping: { vain: 2 } });
    expect(after(alone, (now) => heartbeat(now, 'B')).damping.vain).toBe(0);
  });
});

describe('at the weaker levels, where no lease set protects what was acknowledged', () => {
  const LEASE = certainlyOver(45_000);
  const session = (changes: Partial<Configuration> = {}) =>
    raised({ minDurability: 1, consistency: 'Session', ...changes });
  const waited = (state: FailoverState, name: string, waitedMs: number, says: Partial<RegionReport> = {}) =>
    accepted(state, heartbeat(state, name, { wait: { step: state.step, waitedMs }, ...says }));

  test('one region of three is not elected alone until a whole lease has passed', () => {
    const state = session();
    expect(waited(state, 'B', settleMs(state)).writer).toBeNull();
    expect(waited(state, 'B', LEASE - 1).writer).toBeNull();
    expect(waited(state, 'B', LEASE).writer).toBe('B');
  });

  test.each(['Strong', 'BoundedStaleness'] as const)(
    'at %s it is, after the settling time',
    (consistency) => {
      const state = session({ consistency });
      expect(waited(state, 'B', settleMs(state)).writer).toBe('B');
    },
  );

  test('most of the built regions are enough, and then the settling time is', () => {
    const state = session({ priorities: ['A', 'B', 'C', 'D', 'E'] });
    const two = after(
      state,
      (now) => heartbeat(now, 'B'),
      (now) => heartbeat(now, 'C'),
    );
    expect(waited(two, 'C', settleMs(state)).writer).toBeNull();
    expect(waited(two, 'D', settleMs(state) - 1).writer).toBeNull();
    expect(waited(two, 'D', settleMs(state)).writer).toBe('B');
  });

  test('the last of them has the longest log, and is the one', () => {
    const one = waited(session(), 'B', settleMs(session()), at(1, 10));
    expect(waited(one, 'C', 100, at(1, 30))).toMatchObject({ writer: 'C', phase: 'Steady' });
  });

  test('a region that is being built, or is leaving, is not waited for', () => {
    const state = after(
      healthy({ minDurability: 1, consistency: 'Session', priorities: ['A', 'B', 'C', 'D', 'E'] }),
      () => intent({ kind: 'remove region', target: 'C' }),
      (now) => heartbeat(now, 'D', { build: 'Building' }),
      (now) => silence(now, 'B'),
    );
    expect(waited(state, 'B', settleMs(state)).writer).toBeNull();
    const two = accepted(state, heartbeat(state, 'B'));
    expect(waited(two, 'E', settleMs(state)).writer).toBe('B');
  });

  test('of two regions the other is elected as soon as it has reported that this one is silent', () => {
    const state = session({ priorities: ['A', 'B'] });
    expect(accepted(state, heartbeat(state, 'B')).writer).toBe('B');
  });

  test('a forced failover waits for the old writer, but not longer than a lease', () => {
    const forced = after(healthy({ priorities: ['A', 'B'], minDurability: 1, consistency: 'Session' }), () =>
      intent({ kind: 'failover' }),
    );
    expect(waited(forced, 'B', settleMs(forced)).writer).toBeNull();
    expect(waited(forced, 'B', LEASE).writer).toBe('B');
  });

  test.each([{ target: 'B' }, { acceptLoss: true }] as const)(
    'what a person has decided needs no reports of others: %o',
    (decision) => {
      const state = healthy({ minDurability: 1, consistency: 'Session' });
      const forced = after(state, () => intent({ kind: 'failover', ...decision }));
      expect(waited(forced, 'B', settleMs(forced)).writer).toBe('B');
      const other = 'target' in decision ? waited(forced, 'C', settleMs(forced)).writer : null;
      expect(other).toBeNull();
    },
  );

  test('elections in vain never make the wait longer than a lease', () => {
    const state = session();
    const vain = { ...state, damping: { ...state.damping, vain: 9 } };
    expect(electionWaitMs(vain, MACHINE_VERSION)).toBe(LEASE);
  });

  test('rule 11: the longest log comes before reaching the minimum durability, for which commits do not wait', () => {
    const state = raised({ minDurability: 2, consistency: 'Session' });
    expect(reporting(state, ['B', { ...at(1, 99), reaches: [] }], ['C', at(1, 10)]).writer).toBe('B');
    expect(reporting(state, ['B', { ...at(1, 10), reaches: [] }], ['C', at(1, 10)]).writer).toBe('C');
  });

  test('rule 11: and before its place in the priorities, or a signal for a planned move: the writes can move from there', () => {
    const state = session({ signals: { disk: 'graceful', traffic: 'failover' } });
    const leaving = after(state, () => intent({ kind: 'remove region', target: 'B' }));
    expect(reporting(leaving, ['B', at(1, 99)], ['C', at(1, 10)]).writer).toBe('B');
    expect(reporting(leaving, ['B', at(1, 10)], ['C', at(1, 10)]).writer).toBe('C');
    const graceful = { ...at(1, 99), signals: ['disk'] };
    expect(reporting(state, ['B', graceful], ['C', at(1, 10)]).writer).toBe('B');
    // Whoever would lose the writes again at once is not elected for its log.
    const useless = [{ signals: ['traffic'] }, { canCommit: false }];
    for (const says of useless)
      expect(reporting(state, ['B', { ...at(1, 99), ...says }], ['C', at(1, 10)]).writer).toBe('C');
  });

  test('it sleeps until every region runs the version that has it', () => {
    const old = after(healthy({ minDurability: 2, consistency: 'Session' }), (now) =>
      heartbeat(now, 'C', { version: 2 }),
    );
    const state = accepted(old, silence(old, 'B'));
    expect(waited(state, 'B', settleMs(state)).writer).toBe('B');
    const cutOff = accepted(state, heartbeat(state, 'B', { ...at(1, 99), reaches: [] }));
    expect(accepted(cutOff, heartbeat(cutOff, 'C', { version: 2, ...at(1, 10) })).writer).toBe('C');
  });
});

describe('rule 9: who may be elected', () => {
  test('rule 9: an outsider with a longer log is not elected at Strong', () => {
    const state = reporting(raised({ minDurability: 1 }, ['A', 'C']), ['B', at(1, 99)], ['C', at(1, 10)]);
    expect(state).toMatchObject({ writer: 'C', leaseSet: ['C'] });
  });

  test('rule 9: at weaker levels any built region that reported may be', () => {
    const weak = raised({ minDurability: 1, consistency: 'Session' }, ['A', 'C']);
    expect(reporting(weak, ['B', at(1, 99)], ['C', at(1, 10)])).toMatchObject({
      writer: 'B',
      leaseSet: ['B', 'C'],
    });
  });

  test('rule 9: the new lease set is those members of the old one that reported under this GCN', () => {
    expect(failedOver(healthy(), ['B', 'C']).leaseSet).toEqual(['B', 'C']);
    expect(failedOver(healthy({ minDurability: 1 }), ['C']).leaseSet).toEqual(['C']);
  });

  test.each([
    ['building', { build: 'Building' }],
    ['stopping', { stopping: true }],
  ] as const)('not one that is %s', (_, says) => {
    const state = reporting(raised({ minDurability: 1 }), ['B', says], ['C']);
    expect(state).toMatchObject({ writer: 'C', leaseSet: ['C'] });
  });

  test('no eligible region: there is no writer until one reports', () => {
    const state = settling(raised({ minDurability: 1 }, ['A']), 'B');
    expect(state.writer).toBeNull();
    expect(settling(state, 'A').writer).toBe('A');
  });

  test('an operator who accepts the loss may take an outsider', () => {
    const state = after(raised({ minDurability: 1 }, ['A']), () =>
      intent({ kind: 'failover', target: 'C', acceptLoss: true }),
    );
    const lost = reporting(state, ['B'], ['C']);
    expect(lost).toMatchObject({ writer: 'C', leaseSet: ['B', 'C'], pin: 'C' });
    // Whoever has more comes back to this history all the same; what is committed from now on is not given up.
    expect(lost.sureFrom).toBe(lost.gcn);
    expect(failedOver(healthy(), ['B', 'C']).sureFrom).toBeUndefined();
  });
});

describe('rule 10: fewer than the minimum durability reported', () => {
  test('rule 10: one is elected all the same, and the old lease set stays', () => {
    const state = settling(raised({ minDurability: 2 }), 'B');
    expect(state).toMatchObject({ writer: 'B', leaseSet: ['A', 'B', 'C'] });
  });

  test('rule 10: then the writer adds live regions, and only then can dead ones go', () => {
    const state = settling(raised({ minDurability: 2 }, ['A', 'B']), 'B');
    expect(state.leaseSet).toEqual(['A', 'B']);
    const asks = (now: FailoverState, says: object) =>
      accepted(now, {
        ...heartbeat(now, 'B'),
        writer: { commitSet: ['A', 'B', 'C'], caughtUp: ['C'], ...says },
      });
    expect(asks(state, { remove: ['A'] }).leaseSet).toEqual(['A', 'B']);
    expect(asks(state, { add: ['C'], remove: ['A'] }).leaseSet).toEqual(['B', 'C']);
  });
});

describe('rule 11: the best candidate', () => {
  test('rule 11: an operator’s target before all others, if it is eligible', () => {
    const forced = after(healthy({ minDurability: 1 }), () => intent({ kind: 'failover', target: 'C' }));
    expect(reporting(forced, ['B', at(1, 99)], ['C', { canCommit: false, reaches: [] }]).writer).toBe('C');
    const dead = reporting(forced, ['A'], ['B']);
    expect(dead.writer).toBe('A');
  });

  test('rule 11: then one that can commit', () => {
    const state = reporting(raised(), ['B', { ...at(1, 99), canCommit: false }], ['C', at(1, 10)]);
    expect(state.writer).toBe('C');
  });

  test('rule 11: then one that reaches others, though they have not reported yet, before one that is cut off', () => {
    const state = reporting(
      raised(),
      ['A', { ...at(1, 99), reaches: [] }],
      ['B', { ...at(1, 10), reaches: ['C'] }],
    );
    expect(state.writer).toBe('B');
  });

  test('rule 11: then one that reaches enough of those that reported', () => {
    const state = reporting(raised(), ['B', { ...at(1, 99), reaches: ['A'] }], ['C', at(1, 10)]);
    expect(state.writer).toBe('C');
  });

  test('rule 11: then the highest epoch, then the highest LSN', () => {
    const two = accepted(raised(), heartbeat(raised(), 'B', at(1, 99)));
    expect(settling(two, 'C', at(2, 5)).writer).toBe('C');
    expect(settling(two, 'C', at(1, 100)).writer).toBe('C');
    expect(settling(two, 'C', at(1, 98)).writer).toBe('B');
  });

  test('rule 11: then the priority', () => {
    const state = raised({ priorities: ['A', 'C', 'B'] });
    expect(reporting(state, ['B'], ['C']).writer).toBe('C');
  });

  test('a leaving region is the last choice, and still one', () => {
    const state = after(raised({ minDurability: 1 }), () => intent({ kind: 'remove region', target: 'B' }));
    expect(reporting(state, ['B', at(1, 99)], ['C', at(1, 10)]).writer).toBe('C');
    expect(settling(state, 'B').writer).toBe('B');
  });

  test('a forced failover without a target leaves the region it was', () => {
    const forced = after(healthy(), () => intent({ kind: 'failover' }));
    expect(reporting(forced, ['A', at(1, 99)], ['B', at(1, 10)], ['C', at(1, 10)]).writer).toBe('B');
    expect(settling(forced, 'A').writer).toBe('A');
  });
});

describe('a limit to the loss', () => {
  const limited = (maxLossWrites: number, consistency: Configuration['consistency'] = 'Session') =>
    after(
      healthy({ minDurability: 1, maxLossWrites, consistency }),
      (now) => heartbeat(now, 'A', { progress: { epoch: 1, lsn: 110 } }),
      (now) => silence(now, 'B'),
    );

  test('beyond it nobody is elected, until the old write region is back', () => {
    const waiting = reporting(limited(99), ['B', at(1, 10)], ['C', at(1, 10)]);
    expect(waiting).toMatchObject({ phase: 'Ungraceful', writer: null });
    expect(settling(waiting, 'A', at(1, 112)).writer).toBe('A');
  });

  test('within it somebody is', () => {
    expect(reporting(limited(100), ['B', at(1, 10)], ['C', at(1, 10)]).writer).toBe('B');
  });

  test('another candidate that loses less is taken, though it would be the second choice', () => {
    const state = limited(5);
    expect(reporting(state, ['B', { ...at(1, 106), canCommit: false }], ['C', at(1, 10)]).writer).toBe('B');
  });

  test('an operator may accept the loss', () => {
    const state = after(limited(99), () => intent({ kind: 'failover', acceptLoss: true }));
    expect(reporting(state, ['B', at(1, 10)], ['C', at(1, 10)]).writer).toBe('B');
  });

  test('it is of no concern at Strong, where nothing acknowledged is lost', () => {
    expect(reporting(limited(0, 'Strong'), ['B', at(1, 10)], ['C', at(1, 10)]).writer).toBe('B');
  });
});

test('the elected region begins to prove itself anew', () => {
  const state = healthy();
  const proven: FailoverState = {
    ...state,
    regions: { ...state.regions, B: { ...state.regions['B']!, good: 19 } },
  };
  expect(failedOver(proven, ['B', 'C']).regions['B']!.good).toBeUndefined();
});

test('rule 1: within one GCN there is one writer', () => {
  const elected = failedOver(healthy(), ['B', 'C']);
  const later = after(
    elected,
    (now) => heartbeat(now, 'A', at(1, 500)),
    (now) => heartbeat(now, 'C', at(2, 500)),
  );
  expect([elected, later].map(({ gcn, writer }) => [gcn, writer])).toEqual([
    [2, 'B'],
    [2, 'B'],
  ]);
});
