import { describe, expect, test } from 'vitest';
import {
  accepted,
  after,
  failedOver,
  healthy,
  heartbeat,
  intent,
  movingTo,
  quiescing,
  settling,
  silence,
} from '../../../../test/failover/reports.ts';
import { actionsFor } from './actions.ts';
import { newState } from './create.ts';
import type { FailoverState } from './state.ts';

const doing = (state: FailoverState, name: string) => actionsFor(state, name).map((action) => action.do);
const [A, B, C] = ['A', 'B', 'C'];

describe('what a region is told to do', () => {
  test('Steady: one accepts writes, the others follow', () => {
    const state = healthy();
    expect(actionsFor(state, A)).toEqual([{ do: 'accept writes', epoch: 1, leaseSet: [A, B, C] }]);
    expect(actionsFor(state, B)).toEqual([{ do: 'follow', epoch: 1, writer: A }]);
  });

  test('Graceful: the writer goes on until its target has been heard, then quiesces', () => {
    expect(doing(movingTo(B), A)).toEqual(['accept writes']);
    const state = quiescing(B);
    expect(actionsFor(state, A)).toEqual([
      { do: 'quiesce writes', epoch: 1, step: state.step, target: B, leaseSet: [A, B, C] },
    ]);
    expect(doing(state, B)).toEqual(['follow']);
  });

  test('rule 7: Ungraceful: everybody fences itself, whether it has reported or not', () => {
    const state = healthy();
    const raised = after(accepted(state, silence(state, B)), (now) => heartbeat(now, B));
    for (const name of [A, B, C]) expect(actionsFor(raised, name)).toEqual([{ do: 'fence', epoch: 2 }]);
  });

  test('rule 7: after the election, whoever has not reported fences itself first', () => {
    const state = failedOver(healthy({ minDurability: 1 }), [B]);
    expect([doing(state, A), doing(state, B), doing(state, C)]).toEqual([
      ['fence'],
      ['accept writes'],
      ['fence'],
    ]);
  });

  test('a region that is building copies the data, one that is gone leaves', () => {
    const state = after(healthy(), (now) => heartbeat(now, C, { build: 'Building' }));
    expect(actionsFor(state, C)).toEqual([{ do: 'build', epoch: 1, writer: A }]);
    expect(actionsFor(state, 'Z')).toEqual([{ do: 'leave' }]);
  });

  test('a writer that has lost its data fences itself: it has nothing to welcome anybody to', () => {
    const state = after(healthy({ minDurability: 1 }), (now) =>
      heartbeat(now, A, { build: 'Building', incarnation: 2 }),
    );
    expect(state.writer).toBe(A);
    expect(actionsFor(state, A)).toEqual([{ do: 'fence', epoch: 1 }]);
  });

  test('the writer is told of a level to prepare and of regions to let go', () => {
    const state = after(
      healthy({ consistency: 'Session' }),
      () => intent({ kind: 'consistency', consistency: 'Strong' }),
      () => intent({ kind: 'remove region', target: C }),
    );
    expect(actionsFor(state, A).slice(1)).toEqual([
      { do: 'prepare level', consistency: 'Strong' },
      { do: 'let go', regions: [C] },
    ]);
    expect(doing(state, B)).toEqual(['follow']);
  });
});

describe('rule 12: a new writer waits for rights that others may still have', () => {
  const found = (state: FailoverState) => ({ gcn: 1, writer: A, beat: state.regions[A]!.beat });

  test('rule 12: after a raise without silence, until every region has reported under the new GCN', () => {
    const state = healthy();
    const forced = after(state, () => intent({ kind: 'failover', target: B }));
    const elected = settling(
      after(forced, (now) => heartbeat(now, C)),
      B,
    );
    expect(actionsFor(elected, B)).toEqual([
      {
        do: 'accept writes',
        epoch: 2,
        leaseSet: [B, C],
        waitFor: found(state),
        after: found(state),
        unfenced: [A],
      },
    ]);
    const fenced = after(elected, (now) => heartbeat(now, A));
    expect(actionsFor(fenced, B)).toEqual([{ do: 'accept writes', epoch: 2, leaseSet: [B, C] }]);
  });

  test('rule 12: after a silence it has been waited for already', () => {
    expect(actionsFor(failedOver(healthy({ minDurability: 1 }), [B]), B)).toEqual([
      { do: 'accept writes', epoch: 2, leaseSet: [B] },
    ]);
  });

  test('rule 12: a second raise, for whatever reason, does not make the first one’s wait vanish', () => {
    const state = healthy({ minDurability: 1 });
    const twice = after(
      state,
      () => intent({ kind: 'failover', target: B }),
      () => intent({ kind: 'failover', target: C }, { id: 'again' }),
    );
    expect(actionsFor(settling(twice, C), C)).toMatchObject([
      { epoch: 3, waitFor: found(state), unfenced: [A, B] },
    ]);
  });

  test('rule 13: rule 22: after a graceful switch it writes at once, and knows who has not fenced itself', () => {
    const state = after(quiescing(B), (now) => ({
      ...heartbeat(now, A),
      writer: { commitSet: now.leaseSet, caughtUp: [B], quiescedInStep: now.step },
    }));
    expect(state.writer).toBe(B);
    const [action] = actionsFor(state, B);
    expect(action).toMatchObject({ do: 'accept writes', unfenced: [A, C], after: { gcn: 1, writer: A } });
    expect(action).not.toHaveProperty('waitFor');
    const fenced = after(
      state,
      (now) => heartbeat(now, A),
      (now) => heartbeat(now, C),
    );
    expect(actionsFor(fenced, B)[0]).not.toHaveProperty('unfenced');
  });

  test('nobody waits at the beginning', () => {
    const state = newState('orders-7', healthy().configuration);
    expect(actionsFor(state, A)).toEqual([{ do: 'accept writes', epoch: 1, leaseSet: [A, B, C] }]);
    expect(doing(state, B)).toEqual(['fence']);
  });
});
