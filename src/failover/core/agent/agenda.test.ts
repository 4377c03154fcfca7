import { describe, expect, test } from 'vitest';
import { configurationOf } from '../../../../test/failover/agent-scene.ts';
import { type FailoverState, newState, PROFILES, type Timings } from '../machine/index.ts';
import { namedPolicy } from '../scheduling/policy.ts';
import { Agenda, type Due } from './agenda.ts';
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
  const agenda = new Agenda({ region: 'b', observer, hints, firstBeatAt: LATER });
  return { agenda, next: () => agenda.next(state, watch, true, false) };
}

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
