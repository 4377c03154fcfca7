import { describe, expect, test } from 'vitest';
import {
  accepted,
  after,
  failedOver,
  healthy,
  heartbeat,
  intent,
  movingTo,
  NOON,
  quiesced,
  quiescing,
  silence,
} from '../../../../test/failover/reports.ts';
import { type HistoryEntry, newEntries, remember, sentenceOf, TRANSITIONS } from './history.ts';
import type { FailoverState } from './state.ts';

const lastOf = (state: FailoverState) => sentenceOf(state.history.at(-1)!);

describe('every change of phase leaves a sentence that names who, why and the GCNs', () => {
  test.each<[string, () => FailoverState, string]>([
    [
      'silence',
      () => accepted(healthy(), silence(healthy(), 'B')),
      'A is no longer the write region (GCN 1 to 2, recorded by B): its lease expired without a renewal.',
    ],
    [
      'unable',
      () => after(healthy(), (now) => heartbeat(now, 'A', { canCommit: false })),
      'A is no longer the write region (GCN 1 to 2, recorded by A): it cannot commit writes and asked to be replaced.',
    ],
    [
      'stop',
      () => after(healthy(), (now) => heartbeat(now, 'A', { stopping: true })),
      'A is no longer the write region (GCN 1 to 2, recorded by A): it is being stopped.',
    ],
    [
      'forced',
      () => after(healthy(), () => intent({ kind: 'failover' }, { who: 'mia' })),
      'A is no longer the write region (GCN 1 to 2, by mia): an operator forced it.',
    ],
    [
      'forced again',
      () =>
        after(
          healthy(),
          () => intent({ kind: 'failover' }),
          () => intent({ kind: 'failover' }, { id: 'x', who: 'mia' }),
        ),
      'The election restarted (GCN 2 to 3, by mia): an operator forced it.',
    ],
    [
      'election',
      () => failedOver(healthy(), ['C', 'B']),
      'B was elected write region (GCN 2, recorded by B).',
    ],
    [
      'begin',
      () => movingTo('B'),
      'A planned move of the writes to B started (GCN 1): an operator requested it.',
    ],
    ['switch', () => quiesced(quiescing('B')), 'The writes moved to B without loss (GCN 1 to 2).'],
    [
      'give up',
      () =>
        after(quiescing('B'), (now) => heartbeat(now, 'A', { wait: { step: now.step, waitedMs: 60_000 } })),
      'The planned move to B was abandoned (GCN 1): it took too long. The write region stays the same.',
    ],
  ])('%s', (_, make, sentence) => {
    expect(lastOf(make())).toBe(`${NOON}: ${sentence}`);
  });
});

test('the state keeps the last three changes; the nodes keep the rest', () => {
  const state = failedOver(failedOver(healthy({ minDurability: 1 }), ['B', 'C']), ['C']);
  expect(state.history.map(({ what, from, to }) => [what, from, to])).toEqual([
    ['elected', 2, 2],
    ['raised', 2, 3],
    ['elected', 3, 3],
  ]);
});

test('an entry of a newer version is printed as far as it is understood', () => {
  const newer = { at: NOON, what: 'raised', who: 'B', why: 'sunspots', from: 1, to: 2, region: 'A' };
  expect(sentenceOf(newer as unknown as HistoryEntry)).toContain('sunspots');
});

describe('what happened between two states', () => {
  const words = (entries: readonly HistoryEntry[]) => entries.map(({ what, to }) => `${what} ${to}`);

  /** The state after these, each in one step and all in one moment: `raised 2`. */
  function later(state: FailoverState, ...happened: readonly string[]): FailoverState {
    let known = state;
    for (const text of happened) {
      const [, what, gcn] = /^(.+) (\d+)$/.exec(text)!;
      const to = Number(gcn);
      const phase = what === 'began' ? 'Graceful' : what === 'raised' ? 'Ungraceful' : 'Steady';
      const entry = { at: NOON, what, who: 'B', why: 'signal', from: known.gcn, to, region: 'B' };
      known = remember({ ...known, gcn: to, phase, step: known.step + 1 }, entry as HistoryEntry);
    }
    return known;
  }

  test('nothing, one, or several steps that were not seen one by one', () => {
    const raised = accepted(healthy(), silence(healthy(), 'C'));
    const elected = failedOver(healthy(), ['C', 'B']);
    expect(words(newEntries(raised, raised))).toEqual([]);
    expect(words(newEntries(healthy(), raised))).toEqual(['raised 2']);
    expect(words(newEntries(healthy(), elected))).toEqual(['raised 2', 'elected 2']);
    expect(words(newEntries(raised, elected))).toEqual(['elected 2']);
  });

  test('a full history moves on: only what is new in it', () => {
    const first = later(healthy(), 'raised 2', 'elected 2', 'began 2');
    expect(words(newEntries(first, later(first, 'raised 3')))).toEqual(['raised 3']);
    expect(words(newEntries(first, later(first, 'raised 3', 'elected 3')))).toEqual([
      'raised 3',
      'elected 3',
    ]);
  });

  test('of more than three that were missed, the three that are left', () => {
    const missed = ['raised 2', 'elected 2', 'raised 3', 'elected 3', 'raised 4'];
    expect(words(newEntries(healthy(), later(healthy(), ...missed)))).toEqual(missed.slice(-3));
    const first = later(healthy(), 'raised 2', 'elected 2', 'began 2');
    expect(words(newEntries(first, later(first, 'switched 3', ...missed.slice(2))))).toEqual(
      missed.slice(-3),
    );
  });

  test('a move that is tried again in the same moment is told from the first', () => {
    const began = later(healthy(), 'began 1');
    const again = later(began, 'gave up 1', 'began 1');
    const often = later(again, 'gave up 1', 'began 1');
    expect(often.history).toEqual(again.history);
    expect(words(newEntries(began, again))).toEqual(['gave up 1', 'began 1']);
    expect(words(newEntries(again, later(again, 'gave up 1')))).toEqual(['gave up 1']);
    expect(words(newEntries(again, often))).toEqual(['gave up 1', 'began 1']);
    expect(words(newEntries(began, often))).toEqual(['gave up 1', 'began 1']);
    const bothReady = { ...often, step: often.step + 2 };
    expect(words(newEntries(again, bothReady))).toEqual(['gave up 1', 'began 1']);
  });

  test('a target that is ready is a step without an entry', () => {
    const began = movingTo('B');
    expect(quiescing('B').step).toBe(began.step + 1);
    expect(newEntries(began, quiescing('B'))).toEqual([]);
    expect(words(newEntries(began, quiesced(quiescing('B'))))).toEqual(['switched 2']);
  });

  test('steps that this version does not know are no reason to tell everything again', () => {
    const elected = failedOver(healthy(), ['C', 'B']);
    const newer = { ...elected, step: elected.step + 5 };
    expect(newEntries(elected, newer)).toEqual([]);
    expect(words(newEntries(elected, later(newer, 'began 2')))).toEqual(['began 2']);
  });
});

test('the list of transitions has every pair of these tests', () => {
  const states = [
    failedOver(healthy(), ['C', 'B']),
    after(healthy(), (now) => heartbeat(now, 'A', { canCommit: false })),
    after(healthy(), () => intent({ kind: 'failover' })),
    quiesced(quiescing('B')),
  ];
  for (const { what, why } of states.flatMap(({ history }) => history))
    expect(TRANSITIONS[what]).toContain(why);
});
