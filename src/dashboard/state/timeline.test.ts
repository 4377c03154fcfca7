import { describe, expect, test } from 'vitest';
import { change } from '../testing/rows.ts';
import { headline, reason, Timeline } from './timeline.ts';

const many = (count: number, at: (index: number) => number, what = 'raised') =>
  Array.from({ length: count }, (_, index) => change({ partitionSet: `s-${index}`, at: at(index), what }));

describe('the timeline', () => {
  test('takes a change once, however many nodes tell it', () => {
    const timeline = new Timeline();
    timeline.add([change()]);
    timeline.add([change({ sentence: 'in other words' })]);
    timeline.add([change({ gcn: 3, fromGcn: 2 })]);
    expect(timeline.count).toBe(2);
  });

  test('puts together what many do within a second of each other, in whatever order they come', () => {
    const timeline = new Timeline();
    const changes = many(50, (index) => 10_000 + index * 100);
    timeline.add(changes.toReversed());
    expect(timeline.groups).toMatchObject([{ fromMs: 10_000, untilMs: 14_900, region: 'east' }]);
    expect(timeline.groups[0]!.changes).toHaveLength(50);
  });

  test('keeps apart what is further apart, and joins it when something comes between', () => {
    const timeline = new Timeline();
    timeline.add([change({ at: 1000 }), change({ partitionSet: 's-2', at: 2800 })]);
    expect(timeline.groups.map(({ fromMs }) => fromMs)).toEqual([2800, 1000]);
    timeline.add([change({ partitionSet: 's-3', at: 1900 })]);
    expect(timeline.groups).toMatchObject([{ fromMs: 1000, untilMs: 2800 }]);
    expect(timeline.groups[0]!.changes).toHaveLength(3);
  });

  test('keeps apart what differs in kind, cause or region, the latest first', () => {
    const timeline = new Timeline();
    timeline.add([
      change({ at: 1000 }),
      change({ at: 1010, partitionSet: 's-2', cause: 'forced' }),
      change({ at: 1020, partitionSet: 's-3', from: 'west' }),
      change({ at: 1030, what: 'elected', to: 'west' }),
    ]);
    expect(timeline.groups.map(({ what, cause, region }) => `${what} ${cause} ${region}`)).toEqual([
      'elected silence west',
      'raised silence west',
      'raised forced east',
      'raised silence east',
    ]);
  });

  test('forgets the oldest when there are very many', () => {
    const timeline = new Timeline();
    for (let round = 0; round < 40; round += 1)
      timeline.add(many(1000, (index) => round * 100_000 + (index % 500)));
    const kept = timeline.groups.reduce((sum, { changes }) => sum + changes.length, 0);
    expect(kept).toBeLessThanOrEqual(30_000);
    expect(timeline.groups[0]!.fromMs).toBe(3_900_000);
    timeline.add(many(1000, (index) => 39 * 100_000 + (index % 500)));
    expect(timeline.groups.reduce((sum, { changes }) => sum + changes.length, 0)).toBe(kept);
  });
});

test.each([
  ['raised', 'silence', 'east', 'east is no longer the write region', 'its lease expired without a renewal'],
  ['raised', 'unable', null, 'The election restarted', 'it cannot commit writes and asked to be replaced'],
  [
    'elected',
    'silence',
    'west',
    'west was elected write region',
    'because the write region stopped responding',
  ],
  ['began', 'priority', 'east', 'Planned move to east started', 'it is preferred and healthy again'],
  ['switched', 'operator', 'east', 'Writes moved to east without loss', 'an operator requested it'],
  ['gave up', 'target gone', 'east', 'Planned move to east abandoned', 'target gone'],
])('%s for %s in words', (what, cause, region, head, why) => {
  expect(headline({ what, region })).toBe(head);
  expect(reason({ what, cause })).toBe(why);
});
