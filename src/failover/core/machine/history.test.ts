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
import { type HistoryEntry, sentenceOf } from './history.ts';
import type { FailoverState } from './state.ts';

const lastOf = (state: FailoverState) => sentenceOf(state.history.at(-1)!);

describe('every change of phase leaves a sentence that names who, why and the GCNs', () => {
  test.each<[string, () => FailoverState, string]>([
    [
      'silence',
      () => accepted(healthy(), silence(healthy(), 'B')),
      'A lost the writes (GCN 1 to 2, by B): its lease ran out without a sign of life.',
    ],
    [
      'unable',
      () => after(healthy(), (now) => heartbeat(now, 'A', { canCommit: false })),
      'A lost the writes (GCN 1 to 2, by A): it cannot commit writes and asked to be replaced.',
    ],
    [
      'stop',
      () => after(healthy(), (now) => heartbeat(now, 'A', { stopping: true })),
      'A lost the writes (GCN 1 to 2, by A): it is being stopped.',
    ],
    [
      'forced',
      () => after(healthy(), () => intent({ kind: 'failover' }, { who: 'mia' })),
      'A lost the writes (GCN 1 to 2, by mia): an operator forced it.',
    ],
    [
      'forced again',
      () =>
        after(
          healthy(),
          () => intent({ kind: 'failover' }),
          () => intent({ kind: 'failover' }, { id: 'x', who: 'mia' }),
        ),
      'The election began anew (GCN 2 to 3, by mia): an operator forced it.',
    ],
    [
      'election',
      () => failedOver(healthy(), ['C', 'B']),
      'B was elected write region (GCN 2, in an update of B).',
    ],
    [
      'begin',
      () => movingTo('B'),
      'A planned move of the writes to B began (GCN 1): an operator asked for it.',
    ],
    ['switch', () => quiesced(quiescing('B')), 'The writes moved to B without loss (GCN 1 to 2).'],
    [
      'give up',
      () =>
        after(quiescing('B'), (now) => heartbeat(now, 'A', { wait: { step: now.step, waitedMs: 60_000 } })),
      'The planned move to B was given up (GCN 1): took too long. Writes go on where they were.',
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
