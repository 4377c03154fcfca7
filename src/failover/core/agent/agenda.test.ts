import { describe, expect, test } from 'vitest';
import { configurationOf } from '../../../../test/failover/agent-scene.ts';
import { type FailoverState, MACHINE_VERSION, newState, PROFILES, type Timings } from '../machine/index.ts';
import { namedPolicy } from '../scheduling/policy.ts';
import { Agenda, type Due } from './agenda.ts';
import { RequestBudget } from './budget.ts';
import { Watch } from './watch.ts';

const LEARNED_AT = 500;
const LATER = 1e9;

interface Scene {
  readonly agenda: Agenda;
  readonly next: () => Due;
}

/** A reader that has just learned of the writer's beat, and whose own heartbeat is a long time off. */
function reader(timings: Timings, changes: Partial<FailoverState> = {}, hints = true): Scene {
  const state = { ...newState('ps', configurationOf({ timings })), ...changes };
  const watch = new Watch();
  watch.onBeat({ gcn: state.gcn, writer: 'a', beat: 1 }, LEARNED_AT);
  const { observer } = namedPolicy('baton');
  const agenda = new Agenda({
    region: 'b',
    observer,
    hints,
    firstBeatAt: LATER,
    version: MACHINE_VERSION,
    budget: new RequestBudget(),
  });
  return { agenda, next: () => agenda.next(state, watch, true, false) };
}

/** Every region runs that version of the machine. */
function runBy(version: number): FailoverState {
  const state = newState('ps', configurationOf({ timings: PROFILES.fast }));
  const regions = Object.entries(state.regions).map(([name, region]) => [name, { ...region, version }]);
  return { ...state, regions: Object.fromEntries(regions) as FailoverState['regions'] };
}

describe('the next heartbeat', () => {
  const STATE = runBy(MACHINE_VERSION);
  const after = (
    region: string,
    isSlow: boolean,
    changes: Partial<FailoverState> = {},
    hints = true,
  ): number => {
    const { observer } = namedPolicy('baton');
    const agenda = new Agenda({
      region,
      observer,
      hints,
      firstBeatAt: LATER,
      version: MACHINE_VERSION,
      budget: new RequestBudget(),
    });
    return agenda.beatMs({ ...STATE, ...changes }, isSlow);
  };

  test('comes after an interval, and after two where updates take long and the region only watches', () => {
    expect(STATE).toMatchObject({ writer: 'a', leaseSet: ['a', 'b', 'c'] });
    expect(after('b', false)).toBe(1000);
    expect([after('b', true), after('c', true)]).toEqual([2000, 2000]);
  });

  test.each<[string, string, Partial<FailoverState>, boolean?]>([
    ['the writer', 'a', {}],
    ['who would have the writes', 'a', { writer: 'b' }],
    ['to whom they are pinned', 'b', { pin: 'b' }],
    ['who is not in the lease set', 'c', { leaseSet: ['a', 'b'] }],
    ['anybody while they move', 'c', { phase: 'Graceful', target: 'b' }],
    ['anybody while there is no writer', 'c', { phase: 'Ungraceful', writer: null }],
    ['who is told nothing by hints', 'b', {}, false],
    ['who would be taken for dead by an older machine', 'b', { regions: runBy(2).regions }],
  ])('of %s comes after one whatever updates take', (_, region, changes, hints = true) => {
    expect(after(region, true, changes, hints)).toBe(1000);
  });
});

describe('a hint that has not come', () => {
  test.each([
    ['short intervals: when the lease has an interval left', PROFILES.fast, 2000],
    ['long ones: when it is late by a tenth of one', PROFILES.paper, 33_000],
    [
      'a lease of hardly more than two: whichever is later',
      { intervalMs: 1000, leaseMs: 2100, settleMs: 0 },
      1100,
    ],
  ])('makes the observer read; %s', (_, timings, afterMs) => {
    const { why, at } = reader(timings).next();
    expect(why).toBe('overdue');
    expect(at).toBeCloseTo(LEARNED_AT + afterMs, 6);
  });

  test('is measured by the lease that was granted, not by the one that is configured', () => {
    const { at } = reader(PROFILES.fast, { leaseMs: 5000 }).next();
    expect(at).toBe(LEARNED_AT + 4000);
  });

  test('means nothing where nobody sends any', () => {
    expect(reader(PROFILES.fast, { paused: true }, false).next()).toEqual({ at: LATER, why: 'heartbeat' });
  });

  test('makes it read once in an interval, and one read at a time', () => {
    const { agenda, next } = reader(PROFILES.fast, { paused: true });
    agenda.startRead(LEARNED_AT + 2000);
    expect(next().why).toBe('heartbeat');
    agenda.readEnded();
    expect(next()).toEqual({ at: LEARNED_AT + 3000, why: 'overdue' });
  });
});

describe('a writer that gets no lease', () => {
  const STATE = runBy(MACHINE_VERSION);
  /** How long it waits after each of its updates, while it has no lease after them. */
  const waits = (agenda: Agenda, updates: number): readonly number[] => {
    let now = 0;
    return Array.from({ length: updates }, () => {
      agenda.updateStarted();
      agenda.updateEnded(now);
      agenda.noteLease(false);
      agenda.wantAgain(now, STATE);
      const { at } = agenda.next(STATE, new Watch(), true, false);
      const waited = at - now;
      now = at;
      return waited;
    });
  };
  const newAgenda = (): Agenda => {
    const { observer } = namedPolicy('baton');
    return new Agenda({
      region: 'a',
      observer,
      hints: true,
      firstBeatAt: LATER,
      version: MACHINE_VERSION,
      budget: new RequestBudget(),
    });
  };

  test('asks soon again for a while, and then leaves the others room for the updates that it waits for', () => {
    expect(waits(newAgenda(), 7)).toEqual([200, 200, 200, 400, 800, 1000, 1000]);
  });

  test('is as eager as before once it has had one', () => {
    const agenda = newAgenda();
    waits(agenda, 6);
    agenda.noteLease(true);
    agenda.updateStarted();
    expect(waits(agenda, 1)).toEqual([200]);
  });
});

describe('an election', () => {
  const between = (changes: Parameters<typeof configurationOf>[0], reporters: readonly string[]): Due => {
    const fresh = newState('ps', configurationOf({ timings: PROFILES.fast, ...changes }));
    const report = { progress: { epoch: 1, lsn: 1 }, gclsn: 1, reaches: [] };
    const regions = Object.entries(fresh.regions).map(([name, region]): [string, typeof region] => [
      name,
      { ...region, version: MACHINE_VERSION, ...(reporters.includes(name) && { report }) },
    ]);
    const state: FailoverState = {
      ...fresh,
      writer: null,
      phase: 'Ungraceful',
      step: 2,
      regions: Object.fromEntries(regions),
    };
    const watch = new Watch();
    watch.onState(state, LEARNED_AT);
    const { observer } = namedPolicy('baton');
    const agenda = new Agenda({
      region: 'b',
      observer,
      hints: true,
      firstBeatAt: LATER,
      version: MACHINE_VERSION,
      budget: new RequestBudget(),
    });
    agenda.updateEnded(LEARNED_AT);
    agenda.startRead(LEARNED_AT);
    return agenda.next(state, watch, true, false);
  };

  test.each([
    ['after the settling time at Strong', { consistency: 'Strong' }, ['b'], 300],
    ['after it when most regions have reported', { consistency: 'Session' }, ['b', 'c'], 300],
    ['after a lease at a weaker level when most have not', { consistency: 'Session' }, ['b'], 3006],
  ] as const)('is tried %s', (_, changes, reporters, afterMs) => {
    const { why, at } = between(changes, reporters);
    expect(why).toBe('settled');
    expect(Math.round(at - LEARNED_AT)).toBe(afterMs);
  });
});
