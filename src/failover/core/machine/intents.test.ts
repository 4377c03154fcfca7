import { describe, expect, test } from 'vitest';
import {
  accepted,
  after,
  failedOver,
  healthy,
  heartbeat,
  intent,
  movingTo,
  settling,
  silence,
} from '../../../../test/failover/reports.ts';
import type { IntentBody } from './intents.ts';
import type { FailoverState } from './state.ts';
import { transition } from './transition.ts';

const refusalOf = (state: FailoverState, body: IntentBody, changes: object = {}) => {
  const verdict = transition(state, intent(body, changes));
  return verdict.verdict === 'refused' ? [verdict.refusal.code, verdict.refusal.field] : verdict.verdict;
};

describe('an intent', () => {
  test('is open until its effect is in the state', () => {
    const wished = after(healthy(), () => intent({ kind: 'switchover', target: 'B' }));
    expect(wished.open).toEqual([{ id: 'switchover-1', kind: 'switchover', who: 'ops', target: 'B' }]);
    expect(wished.recent).toEqual([]);
  });

  test('the same intent posted twice is one intent', () => {
    const once = after(healthy(), () => intent({ kind: 'failover', target: 'B' }));
    const twice = after(once, () => intent({ kind: 'failover', target: 'B' }));
    expect(twice).toBe(once);
  });

  test('the same intent posted after its end changes nothing either', () => {
    const ended = after(
      healthy(),
      () => intent({ kind: 'pause' }),
      () => intent({ kind: 'resume' }),
    );
    expect(after(ended, () => intent({ kind: 'pause' }))).toBe(ended);
  });

  test('that names a GCN which has passed is refused', () => {
    const state = failedOver(healthy(), ['B', 'C']);
    expect(refusalOf(state, { kind: 'switchover', target: 'C' }, { gcn: 1 })).toEqual([
      'INTENT_REFUSED',
      'gcn',
    ]);
    expect(refusalOf(state, { kind: 'switchover', target: 'C' }, { gcn: 2 })).toBe('accepted');
  });

  test('is cancelled when the GCN passes the one it named', () => {
    const state = after(healthy(), () => intent({ kind: 'revoke', target: 'A' }, { gcn: 1 }));
    const raised = accepted(state, silence(state, 'B'));
    expect(raised.recent).toEqual([{ id: 'revoke-1', kind: 'revoke', end: 'cancelled' }]);
  });

  test('without a GCN survives a failover, if it can still come true', () => {
    const state = after(healthy(), () => intent({ kind: 'remove region', target: 'C' }));
    expect(accepted(state, silence(state, 'B')).open.map(({ kind }) => kind)).toEqual(['remove region']);
  });

  test('a switchover is overtaken when the write region dies', () => {
    const state = after(healthy(), () => intent({ kind: 'switchover', target: 'C' }));
    expect(accepted(state, silence(state, 'B')).recent.at(-1)).toMatchObject({ end: 'cancelled' });
  });

  test('four may be open; one more is refused, and withdrawing one is not', () => {
    const wishes: readonly IntentBody[] = [
      { kind: 'switchover', target: 'C' },
      { kind: 'revoke', target: 'A' },
      { kind: 'durability', minDurability: 3 },
      { kind: 'add region', target: 'D' },
    ];
    const narrow: FailoverState = { ...healthy(), leaseSet: ['A', 'B'] };
    const full = after(narrow, ...wishes.map((body) => () => intent(body)));
    expect(full.open).toHaveLength(4);
    expect(refusalOf(full, { kind: 'remove region', target: 'C' })).toEqual(['INTENT_REFUSED', 'intent']);
    expect(refusalOf(full, { kind: 'pause' })).toBe('accepted');
    const freed = after(full, () => intent({ kind: 'withdraw', intent: 'revoke-1' }));
    expect(freed.open).toHaveLength(3);
  });
});

describe('switchover', () => {
  test('is honoured when the target writes', () => {
    const done = failedOver(
      after(healthy(), () => intent({ kind: 'switchover', target: 'A' })),
      ['B', 'C'],
    );
    expect(done.recent).toEqual([{ id: 'switchover-1', kind: 'switchover', end: 'honoured' }]);
  });

  test.each([
    ['an unknown region', 'Z', 'intent.target'],
    ['a region that is being removed', 'C', 'intent.target'],
  ])('to %s is refused', (_, target, field) => {
    const state = after(healthy(), () => intent({ kind: 'remove region', target: 'C' }));
    expect(refusalOf(state, { kind: 'switchover', target })).toEqual(['INTENT_REFUSED', field]);
  });

  test('is refused while nobody writes', () => {
    const state = healthy();
    const raised = accepted(state, silence(state, 'B'));
    expect(refusalOf(raised, { kind: 'switchover', target: 'B' })).toEqual(['INTENT_REFUSED', 'intent.kind']);
  });

  test('a later one takes the place of an earlier one', () => {
    const state = after(
      healthy(),
      () => intent({ kind: 'switchover', target: 'B' }),
      () => intent({ kind: 'switchover', target: 'C' }, { id: 'later' }),
    );
    expect(state.open.map(({ id }) => id)).toEqual(['later']);
    expect(state.recent.map(({ id, end }) => [id, end])).toEqual([['switchover-1', 'cancelled']]);
  });
});

describe('forced failover', () => {
  test('raises the GCN at once, also while paused, and is honoured by the election', () => {
    const forced = after(
      healthy(),
      () => intent({ kind: 'pause' }),
      () => intent({ kind: 'failover', target: 'C' }),
    );
    expect(forced).toMatchObject({ gcn: 2, phase: 'Ungraceful', raise: { cause: 'forced', target: 'C' } });
    expect(forced.open).toHaveLength(1);
    const elected = settling(forced, 'C');
    expect(elected).toMatchObject({ writer: 'C', pin: 'C', open: [] });
  });

  test('to an outsider is refused at Strong, unless a loss is accepted', () => {
    const state: FailoverState = { ...healthy(), leaseSet: ['A', 'B'] };
    expect(refusalOf(state, { kind: 'failover', target: 'C' })).toEqual(['INTENT_REFUSED', 'intent.target']);
    expect(refusalOf(state, { kind: 'failover', target: 'C', acceptLoss: true })).toBe('accepted');
    const weak: FailoverState = { ...healthy({ consistency: 'Session' }), leaseSet: ['A', 'B'] };
    expect(refusalOf(weak, { kind: 'failover', target: 'C' })).toBe('accepted');
  });

  test('cannot be withdrawn: the GCN has been raised', () => {
    const forced = after(healthy(), () => intent({ kind: 'failover' }));
    expect(refusalOf(forced, { kind: 'withdraw', intent: 'failover-1' })).toEqual([
      'INTENT_REFUSED',
      'intent.intent',
    ]);
  });
});

describe('withdrawing', () => {
  test('an intent that is not open is refused', () => {
    expect(refusalOf(healthy(), { kind: 'withdraw', intent: 'nothing' })).toEqual([
      'INTENT_REFUSED',
      'intent.intent',
    ]);
  });

  test('a switchover under way ends it at the writer’s next update', () => {
    const state = after(movingTo('B'), () => intent({ kind: 'withdraw', intent: 'switchover-1' }));
    expect(state.phase).toBe('Graceful');
    expect(after(state, (now) => heartbeat(now, 'A')).phase).toBe('Steady');
  });

  const narrow: FailoverState = { ...healthy({ consistency: 'Session' }), leaseSet: ['A', 'B'] };

  test.each([
    [{ kind: 'durability', minDurability: 3 }, narrow],
    [{ kind: 'consistency', consistency: 'Strong' }, narrow],
  ] as const)('%j takes it back', (body, state) => {
    const wished = after(state, () => intent(body));
    expect(wished.configuration.wanted).toBeDefined();
    const back = after(wished, () => intent({ kind: 'withdraw', intent: `${body.kind}-1` }));
    expect(back.configuration.wanted).toBeUndefined();
    expect(back.recent.map(({ end }) => end)).toEqual(['cancelled', 'honoured']);
  });

  test('a removal that is not done yet keeps the region, an addition removes it again', () => {
    const removing = after(healthy(), () => intent({ kind: 'remove region', target: 'C' }));
    const kept = after(removing, () => intent({ kind: 'withdraw', intent: 'remove region-1' }));
    expect(kept.regions['C']!.leaving).toBeUndefined();
    expect(kept.configuration.priorities).toEqual(['A', 'B', 'C']);
    const adding = after(healthy(), () => intent({ kind: 'add region', target: 'D' }));
    const gone = after(adding, () => intent({ kind: 'withdraw', intent: 'add region-1' }));
    expect(gone.regions['D']!.leaving).toBe(true);
    expect(gone.configuration.priorities).toEqual(['A', 'B', 'C']);
  });

  test('the same happens when the GCN passes: a cancelled wish leaves nothing behind', () => {
    const wished = after(narrow, () => intent({ kind: 'durability', minDurability: 3 }, { gcn: 1 }));
    const raised = accepted(wished, silence(wished, 'B'));
    expect(raised.configuration.wanted).toBeUndefined();
    expect(raised.recent).toEqual([{ id: 'durability-1', kind: 'durability', end: 'cancelled' }]);
  });
});

test('an intent of a kind that only a newer version knows stays as it is', () => {
  const newer = {
    id: 'n',
    kind: 'something new',
    who: 'ops',
    gcn: 1,
  } as unknown as FailoverState['open'][number];
  const state: FailoverState = { ...healthy(), open: [newer] };
  const later = settling(accepted(state, silence(state, 'B')), 'B');
  expect(later.open).toEqual([newer]);
});
