/** The change feed: every change once, in order, and never one that could be undone. */
import { describe, expect, test } from 'vitest';
import { create, nameOf, PartitionScene } from '../../../../test/engine/partition-scene.ts';
import { epochOf } from '../model.ts';
import type { FeedAnswer } from './feed.ts';

function names(answer: FeedAnswer): unknown {
  return answer.outcome === 'done' ? answer.entries.map(nameOf) : answer.code;
}

/** Reads page by page until nothing more comes. */
function readAll(scene: PartitionScene, region: string, maxBytes: number, after = { epoch: 0, lsn: 0 }) {
  const read: string[] = [];
  let position = after;
  for (let pages = 0; pages < 1000; pages += 1) {
    const answer = scene.feed(region, position, maxBytes);
    if (answer.outcome !== 'done') return { read, position, code: answer.code };
    if (answer.entries.length === 0) break;
    read.push(...answer.entries.map(nameOf));
    position = answer.position;
  }
  return { read, position };
}

test('shows every entry once and in order, in pages of any size, in every region', () => {
  const scene = new PartitionScene();
  scene.reign('a', 1);
  for (let count = 0; count < 10; count += 1) scene.put('a', `id${count % 3}`, count);
  scene.settle();
  const all = Array.from({ length: 10 }, (_, index) => `1.1/${index + 1}`);
  for (const region of scene.regions) {
    for (const maxBytes of [1, 400, 1_000_000]) expect(readAll(scene, region, maxBytes).read).toEqual(all);
  }
});

test('shows only what every region of the commit set has on disk, at any level', () => {
  const scene = new PartitionScene({ consistency: { level: 'Session' } });
  scene.reign('a', 1, ['a', 'b']);
  scene.put('a', 'x', 1);
  scene.settle();
  scene.cut('a', 'b');
  scene.put('a', 'x', 2);
  scene.settle();
  expect(scene.store('a').notes.gclsn).toBe(2);
  expect(names(scene.feed('a'))).toEqual(['1.1/1']);
  expect(names(scene.feed('a', { epoch: epochOf(1, 1), lsn: 1 }))).toEqual([]);
  scene.mend('a', 'b');
  scene.settle();
  for (const region of scene.regions) expect(names(scene.feed(region))).toEqual(['1.1/1', '1.1/2']);
});

test('is quiet where nobody says what is safe', () => {
  const scene = new PartitionScene();
  scene.reign('a', 1);
  scene.put('a', 'x', 1);
  scene.settle();
  scene.fence('b', 2);
  expect(names(scene.feed('b'))).toEqual([]);
});

test('goes on in another region after a failover, without a gap and without a repetition', () => {
  const scene = new PartitionScene();
  scene.reign('a', 1);
  for (const id of ['x', 'y']) scene.put('a', id, 1);
  scene.settle();
  const { position } = readAll(scene, 'a', 1);
  scene.put('a', 'z', 1);
  scene.settle();
  scene.crash('a');
  scene.reign('c', 2, ['b', 'c']);
  scene.put('c', 'w', 1);
  scene.settle();
  for (const region of ['b', 'c'])
    expect(readAll(scene, region, 1, position).read).toEqual(['1.1/3', '2.1/4']);
});

describe('a reader whose place was undone', () => {
  function undone(): PartitionScene {
    const scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1, ['a']);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    scene.put('a', 'x', 2);
    scene.put('a', 'x', 3);
    scene.settle();
    scene.reign('b', 2, ['b', 'c']);
    return scene;
  }

  test('is told so by the writer, and by a reader that has got as far', () => {
    const scene = undone();
    const after = { epoch: epochOf(1, 1), lsn: 3 };
    expect(names(scene.feed('a', after))).toEqual([]);
    expect(names(scene.feed('b', after))).toBe('FEED_UNDONE');
    expect(names(scene.feed('c', after))).toBe('NOT_READY');
    scene.put('b', 'y', 1);
    scene.put('b', 'y', 2);
    scene.settle();
    expect(names(scene.feed('c', after))).toBe('FEED_UNDONE');
    expect(names(scene.feed('b', { epoch: epochOf(1, 1), lsn: 1 }))).toEqual(['2.1/2', '2.1/3']);
  });

  test('is not told so by a copy that may be on the wrong branch itself', () => {
    const scene = undone();
    scene.put('b', 'y', 1);
    scene.settle();
    scene.fence('a', 2);
    expect(names(scene.feed('a', { epoch: epochOf(2, 1), lsn: 2 }))).toBe('NOT_READY');
  });
});

describe('of a log that was trimmed', () => {
  function trimmed(): PartitionScene {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.write('a', [create('x', 1), create('y', 1)]);
    scene.remove('a', 'x');
    scene.put('a', 'z', 1);
    scene.put('a', 'z', 2);
    scene.put('a', 'w', 1);
    scene.put('a', 'w', 2);
    scene.settle();
    scene.store('a').trim(4);
    return scene;
  }

  test('a place that is gone is said to be', () => {
    const scene = trimmed();
    expect(names(scene.feed('a', { epoch: epochOf(1, 1), lsn: 3 }))).toBe('FEED_TRIMMED');
    expect(names(scene.feed('a', { epoch: epochOf(1, 1), lsn: 4 }))).toEqual(['1.1/5', '1.1/6']);
    expect(names(scene.feed('b', { epoch: epochOf(1, 1), lsn: 3 }))).toEqual(['1.1/4', '1.1/5', '1.1/6']);
  });

  test.each([1, 1_000_000])(
    'from the beginning: what is left, and then every change, %d bytes a page',
    (maxBytes) => {
      const scene = trimmed();
      expect(readAll(scene, 'a', maxBytes)).toMatchObject({ read: ['1.1/1', '1.1/4', '1.1/5', '1.1/6'] });
    },
  );

  test('from the beginning: no document whose deletion is gone', () => {
    const answer = trimmed().feed('a');
    const first = answer.outcome === 'done' ? answer.entries[0]!.changes.map(({ id }) => id) : [];
    expect(first).toEqual(['y']);
  });

  test('in the middle of what was trimmed, when more is trimmed: the reader is told to begin anew', () => {
    const scene = trimmed();
    const answer = scene.feed('a', { epoch: 0, lsn: 0 }, 1);
    scene.store('a').trim(5);
    expect(answer.outcome === 'done' && names(scene.feed('a', answer.position))).toBe('FEED_TRIMMED');
  });
});

test('a damaged entry is not skipped', () => {
  const scene = new PartitionScene();
  scene.reign('a', 1);
  for (const id of ['x', 'y', 'z']) scene.put('a', id, 1);
  scene.settle();
  scene.copy('b').damage(2);
  expect(names(scene.feed('b'))).toBe('DAMAGED');
  scene.settle();
  expect(names(scene.feed('b'))).toEqual(['1.1/1', '1.1/2', '1.1/3']);
});
