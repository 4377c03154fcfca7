/** Damaged entries: they are not served, and any region that has them repairs them. */
import { describe, expect, test } from 'vitest';
import { keyOf, outcome, PartitionScene, shown, valueOf } from '../../../../test/engine/partition-scene.ts';
import { DamagedEntry } from '../store.ts';

function threeEntries(): PartitionScene {
  const scene = new PartitionScene();
  scene.reign('a', 1);
  for (const id of ['x', 'y', 'z']) scene.put('a', id, id);
  scene.settle();
  return scene;
}

describe('a read that meets damage', () => {
  test('says so, and the next one after the repair shows the document', () => {
    const scene = threeEntries();
    scene.copy('b').damage(2);
    expect(shown(scene.read('b', 'x', 'Eventual'))).toBe('x');
    expect(shown(scene.read('b', 'y', 'Eventual'))).toBe('DAMAGED');
    expect(scene.sent('damaged')).toHaveLength(2);
    scene.settle();
    expect(shown(scene.read('b', 'y', 'Eventual'))).toBe('y');
    expect(scene.copy('b').events).toEqual([
      { event: 'damaged', lsn: 2 },
      { event: 'repaired', lsn: 2 },
    ]);
  });

  test('at the writer is repaired by a reader; a write to the document waits for that', () => {
    const scene = threeEntries();
    scene.copy('a').damage(2);
    expect(outcome(scene.put('a', 'y', 'new'))).toBe('DAMAGED');
    scene.settle();
    const write = scene.put('a', 'y', 'new');
    scene.settle();
    expect(outcome(write)).toBe('200');
  });

  test('is not helped by who has it damaged too, nor by who has another entry there', () => {
    const scene = threeEntries();
    for (const region of ['a', 'b']) scene.copy(region).damage(2);
    scene.cut('b', 'c');
    scene.read('b', 'y', 'Eventual');
    scene.settle();
    expect(shown(scene.read('b', 'y', 'Eventual'))).toBe('DAMAGED');
    scene.machine('b').onMessage('c', {
      type: 'repair',
      entry: { ...scene.store('c').entry(2)!, epoch: 1 },
    });
    expect(() => scene.store('b').entry(2)).toThrow(DamagedEntry);
  });

  test('asks again when a region is there again', () => {
    const scene = threeEntries();
    scene.cut('b', 'a');
    scene.cut('b', 'c');
    scene.copy('b').damage(2);
    scene.read('b', 'y', 'Eventual');
    scene.settle();
    expect(shown(scene.read('b', 'y', 'Eventual'))).toBe('DAMAGED');
    scene.mend('b', 'c');
    scene.settle();
    expect(shown(scene.read('b', 'y', 'Eventual'))).toBe('y');
  });
});

test('a question for an entry of another epoch is not answered', () => {
  const scene = threeEntries();
  const { epoch } = scene.store('c').entry(2)!;
  scene.machine('c').onMessage('b', { type: 'damaged', epoch: epoch + 1, lsn: 2 });
  scene.machine('c').onMessage('b', { type: 'damaged', epoch, lsn: 9 });
  expect(scene.sent('repair')).toEqual([]);
  scene.machine('c').onMessage('b', { type: 'damaged', epoch, lsn: 2 });
  expect(scene.sent('repair')).toHaveLength(1);
});

describe('a repair', () => {
  test('that nobody asked for is not taken', () => {
    const scene = threeEntries();
    const entry = { ...scene.store('a').entry(2)!, changes: [] };
    scene.machine('b').onMessage('a', { type: 'repair', entry });
    expect(valueOf(scene.store('b').version(keyOf('y'), 2))).toBe('y');
  });

  test('that comes twice is taken once', () => {
    const scene = threeEntries();
    scene.copy('b').damage(2);
    scene.read('b', 'y', 'Eventual');
    scene.settle();
    expect(scene.copy('b').events.filter(({ event }) => event === 'repaired')).toHaveLength(1);
  });

  test('that comes when the entry was trimmed brings it not back', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    for (const value of [1, 2, 3]) scene.put('a', 'x', value);
    scene.settle();
    scene.copy('b').damage(1);
    scene.feed('b');
    scene.deliver('damaged', 'a');
    scene.store('b').trim(2);
    scene.settle();
    expect(scene.log('b')).toEqual(['1.1/2', '1.1/3']);
  });

  test('that comes when the entry was undone is not put behind the log', () => {
    const scene = threeEntries();
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    scene.put('a', 'w', 'false');
    scene.settle();
    const entry = scene.store('a').entry(4)!;
    scene.copy('a').damage(4);
    scene.read('a', 'w', 'Eventual');
    scene.reign('b', 2, ['b', 'c']);
    scene.follow('a', 2, 'b');
    scene.mend('a', 'b');
    scene.settle();
    scene.machine('a').onMessage('c', { type: 'repair', entry });
    expect(scene.log('a')).toEqual(scene.log('b'));
    expect(scene.store('a').entry(4)).toBeUndefined();
  });
});

describe('damage in what a reader is to be sent', () => {
  test('is repaired by another region, and then sent', () => {
    const scene = threeEntries();
    scene.cut('a', 'b');
    scene.lead('a', 1, { commitSet: ['a', 'c'] });
    scene.put('a', 'w', 1);
    scene.settle();
    scene.copy('a').damage(4);
    scene.mend('a', 'b');
    scene.pass(5000);
    expect(scene.log('b')).toEqual(scene.log('a'));
  });

  test('keeps no other reader waiting', () => {
    const scene = threeEntries();
    scene.cut('a', 'b');
    scene.put('a', 'w', 1);
    scene.settle();
    scene.copy('a').damage(4);
    scene.copy('c').damage(4);
    scene.cut('a', 'c');
    scene.mend('a', 'b');
    scene.settle();
    scene.mend('a', 'c');
    scene.settle();
    scene.put('a', 'v', 1);
    scene.pass(3000);
    expect(scene.store('c').tail.lsn).toBe(5);
  });
});

test('damage in what is to be undone makes a full copy', () => {
  const scene = threeEntries();
  scene.cut('a', 'b');
  scene.cut('a', 'c');
  scene.put('a', 'w', 'false');
  scene.settle();
  scene.copy('a').damage(4);
  scene.reign('b', 2, ['b', 'c']);
  scene.follow('a', 2, 'b');
  scene.mend('a', 'b');
  scene.settle();
  expect(scene.log('a')).toEqual(scene.log('b'));
  expect(scene.machine('a').isReadable).toBe(true);
});
