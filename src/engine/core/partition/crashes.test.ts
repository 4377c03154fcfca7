/**
 * A crash keeps a first part of what was written and not synced, cut at any place. Whatever is left must be a state that
 * the copy can go on from: every cut is tried.
 */
import { describe, expect, test } from 'vitest';
import { PartitionScene } from '../../../../test/engine/partition-scene.ts';
import type { ReadLevel } from './answers.ts';
import { epochAt } from './progress-table.ts';

/** Runs the same scene once for each place where the queue of that region can be cut. */
function everyCut(
  region: string,
  play: (scene: PartitionScene) => void,
  check: (scene: PartitionScene) => void,
  level: ReadLevel = 'Strong',
): number {
  let cuts = 0;
  for (let keeps = 0; ; keeps += 1) {
    const scene = new PartitionScene({ consistency: { level } });
    play(scene);
    const { unsynced } = scene.copy(region).disk;
    if (keeps > unsynced) return cuts;
    scene.crash(region, { keeps });
    scene.start(region);
    cuts += 1;
    check(scene);
  }
}

function expectSound(scene: PartitionScene, region: string): void {
  const { notes, tail } = scene.store(region);
  const { committed, isReadable } = scene.machine(region);
  for (const { epoch, lsn } of scene.store(region).entriesAfter(0, Infinity)) {
    expect(epochAt(notes.table, lsn), `the epoch of entry ${lsn}`).toBe(epoch);
  }
  expect(notes.table.every(({ lsn }) => lsn <= tail.lsn) || notes.building).toBe(true);
  if (isReadable) expect(committed.lsn).toBeLessThanOrEqual(tail.lsn);
}

test('of a writer that begins an epoch', () => {
  const cuts = everyCut(
    'a',
    (scene) => {
      scene.reign('a', 1);
      scene.put('a', 'x', 1);
      scene.settle();
      scene.reign('a', 2);
      scene.copy('a').holdDisk();
      scene.put('a', 'y', 1);
      scene.put('a', 'z', 1);
      scene.settle();
    },
    (scene) => {
      expectSound(scene, 'a');
      scene.reign('b', 3);
      scene.put('b', 'w', 1);
      scene.settle();
      expect(scene.log('a')).toEqual(scene.log('b'));
      expect(scene.log('c')).toEqual(scene.log('b'));
    },
  );
  expect(cuts).toBeGreaterThan(3);
});

test('of a reader that takes the first entries of an epoch', () => {
  const cuts = everyCut(
    'b',
    (scene) => {
      scene.reign('a', 1);
      scene.put('a', 'x', 1);
      scene.settle();
      scene.reign('a', 2);
      scene.copy('b').holdDisk();
      scene.put('a', 'y', 1);
      scene.put('a', 'z', 1);
      scene.settle();
    },
    (scene) => {
      expectSound(scene, 'b');
      scene.reign('c', 3);
      scene.put('c', 'w', 1);
      scene.settle();
      expect(scene.log('b')).toEqual(scene.log('c'));
    },
  );
  expect(cuts).toBeGreaterThan(3);
});

describe('of a reader that undoes', () => {
  function play(scene: PartitionScene): void {
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    scene.reign('a', 2, ['a']);
    scene.put('a', 'x', 'false');
    scene.put('a', 'y', 'false');
    scene.settle();
    expect(scene.store('a').notes.gclsn).toBe(3);
    scene.reign('b', 3, ['b', 'c']);
    scene.put('b', 'z', 1);
    scene.settle();
    scene.follow('a', 3, 'b');
    scene.turn();
    scene.copy('a').holdDisk();
    scene.mend('a', 'b');
    scene.mend('a', 'c');
    scene.settle();
  }

  test('its notes and its log agree, and it ends where the others are', () => {
    const check = (scene: PartitionScene): void => {
      expectSound(scene, 'a');
      scene.follow('a', 3, 'b');
      scene.settle();
      expectSound(scene, 'a');
      expect(scene.log('a')).toEqual(scene.log('b'));
      expect([...scene.store('a').undone()].map(({ entry }) => entry.lsn)).toEqual([2, 3]);
    };
    const cuts = everyCut('a', play, check, 'Session');
    expect(cuts).toBeGreaterThan(1);
  });
});

describe('of a reader that begins a full copy', () => {
  function play(scene: PartitionScene): void {
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'b');
    scene.lead('a', 1, { commitSet: ['a', 'c'] });
    for (const id of ['x', 'y', 'x']) scene.put('a', id, 2);
    scene.settle();
    scene.store('a').trim(3);
    scene.store('b').sync(() => {});
    scene.turn();
    scene.copy('b').holdDisk();
    scene.mend('a', 'b');
    scene.settle();
  }

  test('it shows its old state or nothing, and ends where the others are', () => {
    let olds = 0;
    const cuts = everyCut('b', play, (scene) => {
      expectSound(scene, 'b');
      const { answer } = scene.read('b', 'x', 'Eventual');
      if (scene.machine('b').isReadable) {
        expect(answer).toMatchObject({ outcome: 'done', position: { lsn: 1 }, version: { lsn: 1 } });
        olds += 1;
      } else {
        expect(answer).toMatchObject({ code: 'NOT_READY' });
      }
      scene.follow('b', 1, 'a');
      scene.settle();
      expectSound(scene, 'b');
      expect(scene.log('b')).toEqual(scene.log('a'));
      expect(scene.documents('b')).toEqual({ x: 2, y: 2 });
    });
    expect(olds).toBeGreaterThan(0);
    expect(cuts).toBeGreaterThan(olds);
  });
});

test('of a copy whose process wrote nothing: the number of the process goes up all the same', () => {
  const scene = new PartitionScene();
  const before = scene.machine('a').incarnation;
  scene.crash('a');
  scene.start('a');
  expect(scene.machine('a').incarnation).toBe(before + 1);
});
