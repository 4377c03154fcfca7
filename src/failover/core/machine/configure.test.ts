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
  writerSays,
} from '../../../../test/failover/reports.ts';
import type { Configuration } from './configuration.ts';
import type { IntentBody } from './intents.ts';
import type { WriterReport } from './report.ts';
import { parseState } from './schema.ts';
import { type FailoverState, lastIncarnation } from './state.ts';
import { storedForm } from './stored.ts';
import { transition } from './transition.ts';

const posting = (state: FailoverState, body: IntentBody) => after(state, () => intent(body));
const says = (state: FailoverState, part: Partial<WriterReport>) => accepted(state, writerSays(state, part));
const isRefused = (state: FailoverState, body: IntentBody) => {
  const verdict = transition(state, intent(body, { id: 'another' }));
  return verdict.verdict === 'refused' && verdict.refusal.code === 'INTENT_REFUSED' && verdict.refusal.field;
};

describe('a new region', () => {
  const added = () => posting(healthy(), { kind: 'add region', target: 'D', priority: 1 });

  test('is building, and in the priorities at its place', () => {
    expect(added().regions['D']).toMatchObject({ building: true, incarnation: 0, beat: 0 });
    expect(added().configuration.priorities).toEqual(['A', 'D', 'B', 'C']);
    expect(added().leaseSet).toEqual(['A', 'B', 'C']);
  });

  test('the intent is honoured when it is built', () => {
    const building = after(added(), (now) => heartbeat(now, 'D', { build: 'Building' }));
    expect(building.open).toHaveLength(1);
    const built = after(building, (now) => heartbeat(now, 'D'));
    expect(built.recent.at(-1)).toMatchObject({ kind: 'add region', end: 'honoured' });
  });

  test('that is there already is refused', () => {
    expect(isRefused(added(), { kind: 'add region', target: 'B' })).toBe('intent.target');
  });

  test('does not put newer rules to sleep before it runs', () => {
    expect(transition(added(), intent({ kind: 'maximum loss', writes: 1 })).verdict).toBe('accepted');
  });
});

describe('removing a region', () => {
  const leaving = () => posting(healthy(), { kind: 'remove region', target: 'C' });

  test('takes it out of the priorities at once', () => {
    expect(leaving().regions['C']!.leaving).toBe(true);
    expect(leaving().configuration.priorities).toEqual(['A', 'B']);
  });

  test('rule 17: it goes when it is in neither the lease set nor the commit set', () => {
    const asked = says(leaving(), { remove: ['C'], commitSet: ['A', 'B', 'C'] });
    expect(asked.leaseSet).toEqual(['A', 'B']);
    expect(asked.regions['C']).toBeDefined();
    const gone = says(asked, { commitSet: ['A', 'B'] });
    expect(gone.regions['C']).toBeUndefined();
    expect(gone).toMatchObject({ removed: ['C'], open: [] });
  });

  test('rule 2: not in the first update of a new process', () => {
    const asked = says(leaving(), { remove: ['C'], commitSet: ['A', 'B', 'C'] });
    const next = accepted(asked, writerSays(asked, { commitSet: ['A', 'B'] }, { incarnation: 2 }));
    expect(next.regions['C']).toBeDefined();
  });

  test('is refused when the rest could not keep the minimum durability', () => {
    expect(isRefused(leaving(), { kind: 'remove region', target: 'B' })).toBe('intent.target');
    expect(
      isRefused(healthy({ priorities: ['A'], minDurability: 1 }), { kind: 'remove region', target: 'A' }),
    ).toBe('intent.target');
  });

  test('removing the pinned region unpins it', () => {
    const pinned: FailoverState = { ...healthy(), pin: 'C' };
    expect(posting(pinned, { kind: 'remove region', target: 'C' }).pin).toBeUndefined();
    expect(posting(pinned, { kind: 'remove region', target: 'B' }).pin).toBe('C');
  });

  test('a region that comes back while it is leaving is kept', () => {
    const back = posting(leaving(), { kind: 'add region', target: 'C' });
    expect(back.regions['C']!.leaving).toBeUndefined();
    expect(back.leaseSet).toEqual(['A', 'B', 'C']);
  });

  test('a region that comes back later is new', () => {
    const gone = says(says(leaving(), { remove: ['C'] }), { commitSet: ['A', 'B'] });
    const back = after(gone, () => intent({ kind: 'add region', target: 'C' }));
    expect(back.regions['C']).toMatchObject({ building: true });
    expect(back.removed).toBeUndefined();
  });

  test('rule 2: but its beats and incarnations go on from where they were', () => {
    const life = (state: FailoverState) => accepted(state, heartbeat(state, 'C', { incarnation: 7 }));
    const before = life(leaving());
    const { beat } = before.regions['C']!;
    const gone = says(says(before, { remove: ['C'] }), { commitSet: ['A', 'B'] });
    expect(gone.departed).toEqual([{ region: 'C', incarnation: 7, beat }]);
    expect(lastIncarnation(gone, 'C')).toBe(7);
    const back = after(gone, () => intent({ kind: 'add region', target: 'C' }));
    expect(back.regions['C']).toMatchObject({ incarnation: 7, beat, seen: beat, version: 0, live: 0 });
    expect(back.departed).toBeUndefined();
    const earlier = transition(back, heartbeat(back, 'C', { incarnation: 6 }));
    expect(earlier).toMatchObject({ verdict: 'refused', refusal: { code: 'INCARNATION_OLD' } });
    expect(accepted(back, heartbeat(back, 'C', { incarnation: 8 })).regions['C']!.beat).toBe(beat + 1);
    expect(parseState(storedForm(gone))).toEqual({ value: gone });
  });

  test('and its numbers are known however many others were removed after it', () => {
    let state = says(says(leaving(), { remove: ['C'] }), { commitSet: ['A', 'B'] });
    for (let number = 0; number < 12; number += 1) {
      const name = `region-${number}`;
      state = posting(state, { kind: 'add region', target: name });
      state = says(posting(state, { kind: 'remove region', target: name }), { commitSet: ['A', 'B'] });
    }
    expect(state.regions['region-11']).toBeUndefined();
    expect(lastIncarnation(state, 'C')).toBe(1);
    const late = transition(state, heartbeat(state, 'C'));
    expect(late).toMatchObject({ verdict: 'refused', refusal: { code: 'REGION_REMOVED' } });
  });
});

describe('priorities', () => {
  test('must name each region once', () => {
    for (const priorities of [
      ['A', 'B'],
      ['A', 'B', 'B'],
      ['A', 'B', 'Z'],
      ['A', 'B', 'C', 'C'],
    ]) {
      expect(isRefused(healthy(), { kind: 'priorities', priorities })).toBe('intent.priorities');
    }
  });

  test('that change unpin', () => {
    const pinned: FailoverState = { ...healthy(), pin: 'B' };
    const next = posting(pinned, { kind: 'priorities', priorities: ['C', 'B', 'A'] });
    expect(next.pin).toBeUndefined();
    expect(next.configuration.priorities).toEqual(['C', 'B', 'A']);
  });
});

describe('minimum durability', () => {
  const narrow: FailoverState = { ...healthy(), leaseSet: ['A', 'B'] };

  test('that is lowered is in force at once', () => {
    expect(posting(healthy(), { kind: 'durability', minDurability: 1 }).configuration.minDurability).toBe(1);
  });

  test('that is raised waits until the lease set is that large', () => {
    const wished = posting(narrow, { kind: 'durability', minDurability: 3 });
    expect(wished.configuration).toMatchObject({ minDurability: 2, wanted: { minDurability: 3 } });
    const waiting = says(wished, {});
    expect(waiting.configuration.minDurability).toBe(2);
    const grown = says(wished, { add: ['C'], commitSet: ['A', 'B', 'C'] });
    expect(grown.configuration.minDurability).toBe(3);
    expect(grown.configuration.wanted).toBeUndefined();
    expect(grown.recent.at(-1)).toMatchObject({ kind: 'durability', end: 'honoured' });
  });

  test('beyond the number of regions is refused', () => {
    expect(isRefused(healthy(), { kind: 'durability', minDurability: 4 })).toBe('intent.minDurability');
  });

  test('a later wish takes the place of an earlier one, which is cancelled', () => {
    const wished = posting(narrow, { kind: 'durability', minDurability: 3 });
    const later = after(wished, () => intent({ kind: 'durability', minDurability: 1 }, { id: 'later' }));
    expect(later.configuration).toMatchObject({ minDurability: 1 });
    expect(later.configuration.wanted).toBeUndefined();
    expect(later.recent.map(({ end }) => end)).toEqual(['cancelled', 'honoured']);
  });
});

describe('consistency', () => {
  const weaker = (changes: Partial<Configuration> = {}) =>
    posting(healthy(changes), { kind: 'consistency', consistency: 'Eventual' });

  test('that is weaker waits until the writer says that nobody has rights of the stronger one any more', () => {
    const wished = weaker();
    expect(wished.configuration).toMatchObject({
      consistency: 'Strong',
      wanted: { consistency: 'Eventual' },
    });
    expect(wished.open).toHaveLength(1);
    expect(says(wished, {}).configuration.consistency).toBe('Strong');
    expect(says(wished, { readyFor: 'Session' }).configuration.consistency).toBe('Strong');
    const inForce = says(wished, { readyFor: 'Eventual' });
    expect(inForce.configuration.consistency).toBe('Eventual');
    expect(inForce.configuration.wanted).toBeUndefined();
    expect(inForce).toMatchObject({ leaseSet: wished.leaseSet, open: [] });
  });

  test('rule 9: that is weaker lets no outsider be elected before it is in force', () => {
    const narrow: FailoverState = { ...weaker(), leaseSet: ['A', 'B'] };
    const raised = accepted(narrow, silence(narrow, 'C'));
    const outsider = heartbeat(raised, 'C', { progress: { epoch: 1, lsn: 5 } });
    expect(settling(accepted(raised, outsider), 'C').phase).toBe('Ungraceful');
    const elected = failedOver(narrow, ['C', 'B']);
    expect(elected).toMatchObject({ writer: 'B', configuration: { consistency: 'Strong' } });
    expect(says(elected, { readyFor: 'Eventual' }).configuration.consistency).toBe('Eventual');
  });

  test('rule 2: the first update of a new process puts none in force', () => {
    const wished = weaker();
    const restarted = writerSays(wished, { readyFor: 'Eventual' }, { incarnation: 2 });
    expect(accepted(wished, restarted).configuration.consistency).toBe('Strong');
  });

  test('that is wanted back before the weaker one is in force never ended', () => {
    const back = after(weaker(), () =>
      intent({ kind: 'consistency', consistency: 'Strong' }, { id: 'back' }),
    );
    expect(back.configuration.wanted).toBeUndefined();
    expect(back.recent.map(({ end }) => end)).toEqual(['cancelled', 'honoured']);
    expect(says(back, { readyFor: 'Eventual' }).configuration.consistency).toBe('Strong');
  });

  test('changes in no planned move', () => {
    const moving = movingTo('B', weaker());
    expect(says(moving, { readyFor: 'Eventual' }).configuration.consistency).toBe('Strong');
  });

  test('from bounded staleness another bound waits too, whether it is wider or narrower', () => {
    const bounded = healthy({ consistency: 'BoundedStaleness', staleness: { writes: 10, seconds: 5 } });
    for (const staleness of [
      { writes: 100, seconds: 5 },
      { writes: 10, seconds: 1 },
    ]) {
      const wished = posting(bounded, { kind: 'consistency', consistency: 'BoundedStaleness', staleness });
      expect(wished.configuration).toMatchObject({
        staleness: { writes: 10, seconds: 5 },
        wanted: { consistency: 'BoundedStaleness', staleness },
      });
      expect(parseState(storedForm(wished))).toEqual({ value: wished });
      const inForce = says(wished, { readyFor: 'BoundedStaleness' });
      expect(inForce.configuration).toMatchObject({ consistency: 'BoundedStaleness', staleness });
      expect(inForce.configuration.wanted).toBeUndefined();
    }
  });

  test('that is weaker is refused as long as a region runs a machine that would put it in force at once', () => {
    const mixed = after(healthy(), (now) => heartbeat(now, 'C', { version: 2 }));
    const verdict = transition(mixed, intent({ kind: 'consistency', consistency: 'Session' }));
    expect(verdict).toMatchObject({ verdict: 'refused', refusal: { code: 'FEATURE_NOT_YET' } });
    const session = after(healthy({ consistency: 'Session' }), (now) => heartbeat(now, 'C', { version: 2 }));
    expect(posting(session, { kind: 'consistency', consistency: 'Strong' }).open).toHaveLength(1);
    // A writer that goes back to the release before says too soon that it is ready.
    const back = after(weaker(), (now) => heartbeat(now, 'A', { version: 2 }));
    expect(says(back, { readyFor: 'Eventual' }).configuration.consistency).toBe('Strong');
  });

  test('that is stronger waits until the writer says that its whole log is durable on its commit set', () => {
    const weak: FailoverState = { ...healthy({ consistency: 'Session' }), leaseSet: ['A', 'B', 'C'] };
    const wished = posting(weak, { kind: 'consistency', consistency: 'Strong' });
    expect(wished.configuration).toMatchObject({ consistency: 'Session', wanted: { consistency: 'Strong' } });
    expect(says(wished, {}).configuration.consistency).toBe('Session');
    expect(says(wished, { readyFor: 'BoundedStaleness' }).configuration.consistency).toBe('Session');
    const strong = says(wished, { readyFor: 'Strong', commitSet: ['A', 'B'] });
    // What was committed before may have been on one disk, and be undone.
    expect(strong).toMatchObject({
      configuration: { consistency: 'Strong' },
      leaseSet: ['A', 'B'],
      sureFrom: strong.gcn,
    });
  });

  test('not on fewer than the minimum durability, nor without the writer', () => {
    const weak = posting(healthy({ consistency: 'Session' }), { kind: 'consistency', consistency: 'Strong' });
    expect(says(weak, { readyFor: 'Strong', commitSet: ['A'] }).configuration.consistency).toBe('Session');
    expect(says(weak, { readyFor: 'Strong', commitSet: ['B', 'C'] }).configuration.consistency).toBe(
      'Session',
    );
  });

  test('rule 14: from bounded staleness, nobody leaves the lease set on the way', () => {
    const staleness = { writes: 10, seconds: 5 };
    const bounded = posting(healthy({ consistency: 'BoundedStaleness', staleness }), {
      kind: 'consistency',
      consistency: 'Strong',
    });
    expect(says(bounded, { readyFor: 'Strong', commitSet: ['A', 'B'] }).configuration.consistency).toBe(
      'BoundedStaleness',
    );
    expect(says(bounded, { readyFor: 'Strong' })).toMatchObject({ configuration: { consistency: 'Strong' } });
  });

  test('bounded staleness needs its bound', () => {
    expect(isRefused(healthy(), { kind: 'consistency', consistency: 'BoundedStaleness' })).toBe(
      'intent.staleness',
    );
    const staleness = { writes: 10, seconds: 5 };
    const wished = posting(healthy(), { kind: 'consistency', consistency: 'BoundedStaleness', staleness });
    const bounded = says(wished, { readyFor: 'BoundedStaleness' });
    expect(bounded.configuration).toMatchObject({ consistency: 'BoundedStaleness', staleness });
  });
});

describe('the other settings', () => {
  test.each([
    [{ kind: 'failback', failback: 'off' }, { failback: 'off' }],
    [{ kind: 'maximum loss', writes: 7 }, { maxLossWrites: 7 }],
    [{ kind: 'signals', signals: { disk: 'graceful' } }, { signals: { disk: 'graceful' } }],
  ] as const)('%j is in force at once, under a new version', (body, configured) => {
    const next = posting(healthy(), body);
    expect(next.configuration).toMatchObject({ ...configured, version: 2 });
    expect(next.recent).toHaveLength(1);
  });

  test('a maximum loss can be taken away', () => {
    const limited = healthy({ maxLossWrites: 5 });
    expect(posting(limited, { kind: 'maximum loss', writes: null }).configuration).not.toHaveProperty(
      'maxLossWrites',
    );
  });

  test('a lease that cannot be renewed in time is refused', () => {
    const timings = { intervalMs: 1000, leaseMs: 1000, settleMs: 10 };
    expect(isRefused(healthy(), { kind: 'timings', timings })).toBe('intent.timings.leaseMs');
    expect(
      posting(healthy(), { kind: 'timings', timings: { ...timings, leaseMs: 1001 } }).configuration.timings
        .leaseMs,
    ).toBe(1001);
  });

  test('nothing of it is in the way of a failover', () => {
    const wishes: readonly IntentBody[] = [
      { kind: 'remove region', target: 'C' },
      { kind: 'durability', minDurability: 2 },
      { kind: 'consistency', consistency: 'Session' },
    ];
    const state = after(healthy({ minDurability: 1 }), ...wishes.map((body) => () => intent(body)));
    expect(failedOver(state, ['B', 'C']).writer).toBe('B');
  });
});
