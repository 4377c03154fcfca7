import { describe, expect, test } from 'vitest';
import { configurationOf, statusOfDriver } from '../../../../test/failover/agent-scene.ts';
import {
  type Action,
  type FailoverState,
  keptLevel,
  MACHINE_VERSION,
  newState,
  type WriterReport,
} from '../machine/index.ts';
import { certainlyOver } from '../time.ts';
import type { DriverStatus } from './driver.ts';
import { WriterDuties } from './duties.ts';
import { Watch } from './watch.ts';

const LEASE = 45_000;
const WHOLE = certainlyOver(LEASE);

function reported(state: FailoverState): FailoverState {
  const report = { progress: { epoch: 1, lsn: 10 }, gclsn: 10, reaches: ['a', 'b', 'c'] };
  const regions = Object.fromEntries(
    Object.entries(state.regions).map(([name, region]) => [
      name,
      { ...region, incarnation: 1, version: MACHINE_VERSION, report },
    ]),
  );
  return { ...state, regions };
}

function stateWith(changes: Partial<FailoverState> = {}): FailoverState {
  return { ...reported(newState('ps', configurationOf())), ...changes };
}

type AcceptWrites = Extract<Action, { do: 'accept writes' }>;

function action(state: FailoverState, changes: Partial<AcceptWrites> = {}): AcceptWrites {
  return { do: 'accept writes', epoch: state.gcn, leaseSet: state.leaseSet, ...changes };
}

function dutiesOf(
  state: FailoverState,
  changes: Partial<AcceptWrites> = {},
  by: { now?: number; isRestart?: boolean; watch?: Watch; status?: DriverStatus } = {},
): WriterDuties {
  const { now = 0, isRestart = false, watch = new Watch(), status = statusOfDriver('a') } = by;
  return new WriterDuties(state, action(state, changes), watch, { status, now, isRestart, startedAt: now });
}

/** Of a driver that has assumed what it was told last. */
function reportOf(duties: WriterDuties, state: FailoverState, status: DriverStatus, now = 0): WriterReport {
  const commitSet = new Set(duties.commitSet);
  return duties.report(
    state,
    status,
    { certain: commitSet, possible: commitSet, isSettled: true, keeps: keptLevel(state.configuration) },
    now,
  );
}

function without(status: DriverStatus, region: string): DriverStatus {
  const peer = { acknowledgedMsAgo: LEASE, lsn: 0, behindMs: 60_000 };
  return { ...status, peers: { ...status.peers, [region]: peer } };
}

const B = { region: 'b', incarnation: 1 };

const FORCED = { waitFor: { gcn: 1, writer: 'b', beat: 7 }, after: { gcn: 1, writer: 'b', beat: 7 } };

describe('a level to prepare', () => {
  const state = stateWith({
    configuration: configurationOf({ consistency: 'Session', wanted: { consistency: 'Strong' } }),
  });

  test('is ready when everybody in the commit set has the whole log', () => {
    expect(reportOf(dutiesOf(state), state, statusOfDriver('a')).readyFor).toBe('Strong');
  });

  test('waits for what a log that is being recovered still takes over', () => {
    const duties = dutiesOf(state, {}, { status: statusOfDriver('a', { recovering: true }) });
    const at = (lsn: number, changes: Partial<DriverStatus>): DriverStatus => ({
      ...statusOfDriver('a', changes),
      peers: {
        b: { acknowledgedMsAgo: 0, lsn, behindMs: 0 },
        c: { acknowledgedMsAgo: 0, lsn, behindMs: 0 },
      },
    });
    expect(reportOf(duties, state, at(10, { recovering: true })).readyFor).toBeUndefined();
    const progress = { epoch: 1, lsn: 20 };
    expect(reportOf(duties, state, at(10, { progress })).readyFor).toBeUndefined();
    expect(reportOf(duties, state, at(20, { progress })).readyFor).toBe('Strong');
  });

  test('is not while nothing is known of one of them', () => {
    const { c: _, ...peers } = statusOfDriver('a').peers;
    const status = { ...statusOfDriver('a'), peers };
    expect(reportOf(dutiesOf(state), state, status).readyFor).toBeUndefined();
  });
});

describe('taking over', () => {
  test('after a silence the commit set is the lease set, and writes begin', () => {
    const state = stateWith({ leaseSet: ['a', 'c'] });
    const duties = dutiesOf(state);
    expect(duties.commitSet).toEqual(['a', 'c']);
    expect(duties.mayAccept(action(state), 0)).toBe(true);
  });

  test('rule 12: without a silence it waits a whole lease with all regions in the commit set', () => {
    const state = stateWith({ leaseSet: ['a', 'c'] });
    const forced = { ...FORCED, unfenced: ['b'] };
    const duties = dutiesOf(state, forced, { now: 1000 });
    expect(duties.commitSet).toEqual(['a', 'b', 'c']);
    expect(duties.mayAccept(action(state, forced), 1000 + LEASE)).toBe(false);
    expect(duties.mayAccept(action(state, forced), 1000 + WHOLE)).toBe(true);
    expect(duties.mayAccept(action(state), 1001)).toBe(true);
  });

  test('rule 12: the wait counts from when exactly that triple was held', () => {
    const watch = new Watch();
    watch.onBeat({ gcn: 1, writer: 'b', beat: 7 }, 400);
    const state = stateWith();
    const forced = { ...FORCED, unfenced: ['b'] };
    const duties = dutiesOf(state, forced, { now: 20_000, watch });
    expect(duties.takeover.oldRightsEndAt).toBe(400 + WHOLE);
    const other = dutiesOf(
      state,
      { ...forced, after: { gcn: 1, writer: 'b', beat: 8 } },
      { now: 20_000, watch },
    );
    expect(other.takeover.oldRightsEndAt).toBe(20_000 + WHOLE);
  });

  test('rule 13: after a restart the commit set is all regions, and nobody leaves it for a lease', () => {
    const state = stateWith({ leaseSet: ['a', 'c'] });
    const duties = dutiesOf(state, {}, { isRestart: true });
    const status = without(statusOfDriver('a'), 'b');
    duties.follow(state, action(state), status, WHOLE - 1);
    expect(duties.commitSet).toContain('b');
    duties.follow(state, action(state), status, WHOLE + certainlyOver(LEASE / 3));
    expect(duties.commitSet).not.toContain('b');
  });
});

describe('a region that stops acknowledging', () => {
  const status = without(statusOfDriver('a'), 'b');

  test('is asked out of the lease set, and leaves the commit set only when that is known (rule 17)', () => {
    const state = stateWith();
    const duties = dutiesOf(state);
    expect(reportOf(duties, state, status).remove).toEqual(['b']);
    duties.follow(state, action(state), status, 60_000);
    expect(duties.commitSet).toContain('b');
    const removed = { ...state, leaseSet: ['a', 'c'] };
    duties.follow(removed, action(removed), status, 60_000);
    expect(duties.commitSet).toEqual(['a', 'c']);
  });

  test('is asked out as soon as its stop mark is seen, though it still acknowledges (rule 22)', () => {
    const state = stateWith();
    const { b } = state.regions;
    const stopped = { ...state, regions: { ...state.regions, b: { ...b!, stop: b!.incarnation } } };
    expect(reportOf(dutiesOf(state), state, statusOfDriver('a')).remove).toBeUndefined();
    expect(reportOf(dutiesOf(state), stopped, statusOfDriver('a')).remove).toEqual(['b']);
  });

  test('is not asked out at levels where nobody waits for it', () => {
    const session = stateWith({ configuration: configurationOf({ consistency: 'Session' }) });
    expect(reportOf(dutiesOf(session), session, status).remove).toBeUndefined();
  });

  test('rule 17: not before its read grant has certainly run out', () => {
    const state = stateWith();
    const duties = dutiesOf(state);
    expect(duties.grant(state, B, LEASE, 50_000)).toBe(LEASE / 3);
    const removed = { ...state, leaseSet: ['a', 'c'] };
    const over = 50_000 + certainlyOver(LEASE / 3);
    duties.follow(removed, action(removed), status, over - 1);
    expect(duties.commitSet).toContain('b');
    expect(duties.nextAt).toBe(over);
    duties.follow(removed, action(removed), status, over);
    expect(duties.commitSet).not.toContain('b');
  });

  test('rule 13: not while it may read under an older GCN', () => {
    const state = stateWith({ leaseSet: ['a', 'c'] });
    const after = { gcn: 1, writer: 'c', beat: 3 };
    const duties = dutiesOf(stateWith(), { after, unfenced: ['b'] }, { now: 0 });
    duties.follow(state, action(state, { after, unfenced: ['b'] }), status, WHOLE - 1);
    expect(duties.commitSet).toContain('b');
    duties.follow(state, action(state, { after }), status, WHOLE - 1);
    expect(duties.commitSet).not.toContain('b');
  });

  test('rule 22: its stop mark is as good as the wait', () => {
    const state = stateWith();
    const duties = dutiesOf(state);
    duties.grant(state, B, LEASE, 50_000);
    const stopped = {
      ...state,
      leaseSet: ['a', 'c'],
      regions: { ...state.regions, b: { ...state.regions['b']!, stop: 1 } },
    };
    duties.follow(stopped, action(stopped), status, 50_001);
    expect(duties.commitSet).toEqual(['a', 'c']);
  });
});

describe('a grant that outlives what is known of it', () => {
  const status = without(statusOfDriver('a'), 'b');

  test('rule 22: the stop mark of one process does not cover the grant of another', () => {
    const state = stateWith();
    const duties = dutiesOf(state);
    duties.grant(state, B, LEASE, 50_000);
    const stopped = {
      ...state,
      leaseSet: ['a', 'c'],
      regions: { ...state.regions, b: { ...state.regions['b']!, incarnation: 2, stop: 2 } },
    };
    duties.follow(stopped, action(stopped), status, 50_001);
    expect(duties.commitSet).toContain('b');
    duties.follow(stopped, action(stopped), status, 50_000 + certainlyOver(LEASE / 3));
    expect(duties.commitSet).not.toContain('b');
  });

  test('rule 17: a lease that is shortened afterwards does not shorten it', () => {
    const state = stateWith();
    const duties = dutiesOf(state);
    duties.grant(state, B, LEASE, 50_000);
    const shorter = { ...state, leaseMs: 3000, leaseSet: ['a', 'c'] };
    duties.follow(shorter, action(shorter), status, 60_000);
    expect(duties.commitSet).toContain('b');
  });
});

describe('a region that comes back (rule 16)', () => {
  const away = stateWith({ leaseSet: ['a', 'c'] });

  test('joins the commit set when nearly at the tail, and the lease set when durable up to the takeover', () => {
    const duties = dutiesOf(
      away,
      {},
      { status: statusOfDriver('a', { progress: { epoch: 1, lsn: 50 }, gclsn: 40 }) },
    );
    const behind = (lsn: number, behindMs: number): DriverStatus => {
      const status = statusOfDriver('a', { progress: { epoch: 2, lsn: 60 }, gclsn: 40 });
      return { ...status, peers: { ...status.peers, b: { acknowledgedMsAgo: 0, lsn, behindMs } } };
    };
    duties.follow(away, action(away), behind(10, 5000), 0);
    expect(duties.commitSet).toEqual(['a', 'c']);
    duties.follow(away, action(away), behind(45, 100), 0);
    expect(duties.commitSet).toContain('b');
    expect(reportOf(duties, away, behind(45, 100)).add).toBeUndefined();
    expect(reportOf(duties, away, behind(50, 100)).add).toEqual(['b']);
  });

  test('joins the lease set only when durable up to the end of a log that was recovered from others', () => {
    const at = (lsn: number, peer: number, recovering?: true): DriverStatus => {
      const status = statusOfDriver('a', {
        progress: { epoch: 1, lsn },
        gclsn: 40,
        ...(recovering && { recovering }),
      });
      return { ...status, peers: { ...status.peers, b: { acknowledgedMsAgo: 0, lsn: peer, behindMs: 100 } } };
    };
    // Its disk came back older than it was: it ends at 40, and what was acknowledged since is in the other regions.
    const duties = dutiesOf(away, {}, { status: at(40, 45, true) });
    duties.follow(away, action(away), at(40, 45, true), 0);
    expect(reportOf(duties, away, at(40, 45, true)).add).toBeUndefined();
    duties.follow(away, action(away), at(50, 45), 0);
    expect(reportOf(duties, away, at(50, 45)).add).toBeUndefined();
    expect(reportOf(duties, away, at(60, 50)).add).toEqual(['b']);
  });

  test('rule 18: nobody joins once the writes are on their way to another region', () => {
    const duties = dutiesOf(away);
    const moving = { ...away, phase: 'Graceful' as const, target: 'c' };
    duties.follow(moving, action(moving), statusOfDriver('a'), 0);
    expect(duties.commitSet).toEqual(['a', 'c']);
  });
});

describe('read grants (rule 15)', () => {
  test('only for members of both sets, never longer than the lease that is left, none after the final report', () => {
    const state = stateWith({ leaseSet: ['a', 'b'] });
    const duties = dutiesOf(state);
    expect(duties.grant(state, B, 2000, 0)).toBe(2000);
    expect(duties.grant(state, { region: 'c', incarnation: 1 }, LEASE, 0)).toBe(0);
    expect(duties.grant({ ...state, final: { epoch: 1, lsn: 10 } }, B, LEASE, 0)).toBe(0);
  });
});

describe('a weaker level', () => {
  const weakening = (changes: Partial<FailoverState> = {}): FailoverState => {
    const state = stateWith(changes);
    return { ...state, configuration: { ...state.configuration, wanted: { consistency: 'Session' } } };
  };
  const isReady = (duties: WriterDuties, state: FailoverState, now: number): boolean =>
    reportOf(duties, state, statusOfDriver('a'), now).readyFor === 'Session';

  test('waits for every grant that was given, and nothing new is granted', () => {
    const duties = dutiesOf(stateWith());
    expect(duties.grant(stateWith(), B, LEASE, 100)).toBe(15_000);
    const state = weakening();
    expect(duties.grant(state, B, LEASE, 200)).toBe(0);
    duties.follow(state, action(state), statusOfDriver('a'), 200);
    const endsAt = 100 + certainlyOver(15_000);
    expect(duties.nextAt).toBe(endsAt);
    expect(isReady(duties, state, endsAt - 1)).toBe(false);
    expect(isReady(duties, state, endsAt)).toBe(true);
  });

  test('waits for what an earlier process, or an older GCN, may have granted', () => {
    const state = weakening();
    const restarted = dutiesOf(state, {}, { isRestart: true });
    expect(isReady(restarted, state, WHOLE - 1)).toBe(false);
    expect(isReady(restarted, state, WHOLE)).toBe(true);
    const { b, c } = state.regions;
    const { report: _, ...silent } = c!;
    const forced: FailoverState = {
      ...state,
      gcn: 2,
      raise: { cause: 'forced', gcn: 1, writer: 'b', beat: 7, lsn: 0 },
      regions: { ...state.regions, b: b!, c: silent },
    };
    const elected = dutiesOf(forced, { ...FORCED, unfenced: ['c'] });
    expect(isReady(elected, forced, WHOLE - 1)).toBe(false);
    expect(isReady(elected, forced, WHOLE)).toBe(true);
  });

  test('is not granted for while an update that may have put it in force is unknown', () => {
    const [state, inForce] = [weakening(), stateWith()];
    const duties = dutiesOf(state);
    duties.asked(state, {
      ...inForce,
      configuration: { ...inForce.configuration, consistency: 'Session' },
    });
    // It was wanted back meanwhile, as far as a read shows.
    expect(duties.grant(stateWith(), B, LEASE, 100)).toBe(0);
    duties.settled();
    expect(duties.grant(stateWith(), B, LEASE, 100)).toBe(15_000);
  });

  test('waits for nobody who does not acknowledge: it may be wanted because of that', () => {
    const state = weakening();
    const status = without(statusOfDriver('a'), 'b');
    expect(reportOf(dutiesOf(state), state, status).readyFor).toBe('Session');
  });

  test('is not asked for before every region runs a machine that waits', () => {
    const state = weakening();
    const older = { ...state.regions['b']!, version: 2 };
    const mixed: FailoverState = { ...state, regions: { ...state.regions, b: older } };
    expect(isReady(dutiesOf(mixed), mixed, 0)).toBe(false);
    expect(isReady(dutiesOf(state), state, 0)).toBe(true);
  });

  test('grants nothing where it is in force', () => {
    const state = stateWith();
    const weak: FailoverState = {
      ...state,
      configuration: { ...state.configuration, consistency: 'Session' },
    };
    expect(dutiesOf(weak).grant(weak, B, LEASE, 100)).toBe(0);
  });
});

describe('a stronger level', () => {
  const rising = (): FailoverState => {
    const state = stateWith();
    const configuration = {
      ...state.configuration,
      consistency: 'Session' as const,
      wanted: { consistency: 'Strong' as const },
    };
    return { ...state, configuration };
  };
  const STRONG = { level: 'Strong' } as const;

  test('waits until the driver keeps it, and what was acknowledged before that is everywhere', () => {
    const state = rising();
    const duties = dutiesOf(state);
    const all = new Set(duties.commitSet);
    const ready = (lsn: number, keeps?: typeof STRONG): boolean => {
      const status = statusOfDriver('a', { progress: { epoch: 1, lsn } });
      const driver = { certain: all, possible: all, isSettled: true, ...(keeps && { keeps }) };
      return duties.report(state, status, driver, 0).readyFor === 'Strong';
    };
    expect(ready(10)).toBe(false);
    expect(ready(11, STRONG)).toBe(false);
    const next = dutiesOf(state);
    const status = (lsn: number) => statusOfDriver('a', { progress: { epoch: 1, lsn } });
    expect(reportOf(next, state, status(10)).readyFor).toBe('Strong');
    // Under load the log is always a little longer than what the others have.
    expect(reportOf(next, state, status(99)).readyFor).toBe('Strong');
  });

  test('is not asked for where the editor would not take it', () => {
    const state = rising();
    const narrow = { ...state, leaseSet: ['a'], configuration: { ...state.configuration, minDurability: 2 } };
    expect(reportOf(dutiesOf(narrow), narrow, statusOfDriver('a')).readyFor).toBeUndefined();
    const moving: FailoverState = { ...state, phase: 'Graceful', target: 'b' };
    expect(reportOf(dutiesOf(moving), moving, statusOfDriver('a')).readyFor).toBeUndefined();
  });

  test('waits for every region of the commit set, also for one of which nothing is known', () => {
    const state = rising();
    const { peers } = statusOfDriver('a');
    const { b: _, ...others } = peers;
    expect(reportOf(dutiesOf(state), state, statusOfDriver('a', { peers: others })).readyFor).toBeUndefined();
    const empty = { progress: { epoch: 0, lsn: 0 }, gclsn: 0 };
    const silent = { ...peers, b: { acknowledgedMsAgo: Infinity, lsn: 0, behindMs: Infinity } };
    const status = statusOfDriver('a', { ...empty, peers: silent });
    expect(reportOf(dutiesOf(state), state, status).readyFor).toBeUndefined();
    expect(reportOf(dutiesOf(state), state, statusOfDriver('a', empty)).readyFor).toBe('Strong');
  });
});
