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

  test('is repaired by that reader, before it gives up what it has for a copy of everything', () => {
    const scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
    for (const id of ['x', 'y', 'z']) scene.put('a', id, id);
    scene.settle();
    scene.crash('b');
    scene.lead('a', 1, { commitSet: ['a'] });
    for (const id of ['u', 'v', 'w']) scene.put('a', id, id);
    scene.settle();
    scene.store('a').trim(5);
    scene.copy('a').damage(2);
    scene.read('a', 'y', 'Eventual');
    scene.start('b');
    // As in a node whose link is ready before its copies are.
    scene.drop();
    scene.follow('b', 1, 'a');
    scene.pass(5000);
    expect(scene.machine('b').isReadable).toBe(true);
    for (const region of ['a', 'b']) expect(shown(scene.read(region, 'y', 'Eventual'))).toBe('y');
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

describe('damage that the others have trimmed', () => {
  /** Versions of x, a batch of y and z, and a new y; `a` and `c` have trimmed all but the end. */
  function trimmed(): PartitionScene {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    for (const value of [1, 2]) scene.put('a', 'x', value);
    for (const id of ['y', 'y', 'x', 'z']) scene.put('a', id, `${id} anew`);
    scene.settle();
    for (const region of ['a', 'c']) scene.store(region).trim(5);
    return scene;
  }

  const fed = (scene: PartitionScene): string => {
    const answer = scene.feed('b');
    return answer.outcome === 'done' ? 'done' : answer.code;
  };

  test('is settled: the log begins behind it, and nothing that is needed is missing', () => {
    const scene = trimmed();
    scene.copy('b').damage(2);
    expect(fed(scene)).toBe('DAMAGED');
    scene.pass(2000);
    scene.machine('b').damage.settle();
    expect(scene.store('b').base).toBe(3);
    expect(fed(scene)).toBe('done');
    expect(scene.copy('b').events.map(({ event }) => event)).toEqual(['damaged', 'repaired']);
    expect(shown(scene.read('b', 'x', 'Eventual'))).toBe('x anew');
  });

  test('is not taken from them as if it were all of the entry', () => {
    const scene = trimmed();
    scene.copy('b').damage(3);
    scene.feed('b');
    scene.settle();
    expect(() => scene.store('b').entry(3)).toThrow(DamagedEntry);
    scene.machine('b').damage.settle();
    expect(scene.store('b').base).toBe(1);
  });

  test('is not settled before what they trimmed is known here to be committed', () => {
    const scene = trimmed();
    scene.copy('b').damage(2);
    scene.store('b').note({ gclsn: 4 });
    scene.feed('b');
    scene.machine('b').onMessage('c', {
      type: 'repair',
      entry: { epoch: scene.store('b').tail.epoch, lsn: 2, at: 0, statuses: [], changes: [] },
      upTo: { epoch: scene.store('b').tail.epoch, lsn: 5 },
    });
    scene.pass(2000, { delivering: false });
    scene.machine('b').damage.settle();
    expect(() => scene.store('b').entry(2)).toThrow(DamagedEntry);
    expect(scene.store('b').base).toBe(1);
  });

  test('keeps a reader that has to copy everything waiting no longer than that', () => {
    const scene = trimmed();
    scene.copy('b').damage(2);
    scene.reign('b', 2);
    scene.settle();
    scene.crash('c');
    scene.copy('c').disk.replaceDisk();
    scene.start('c');
    scene.store('b').trim(4);
    scene.follow('c', 2, 'b');
    scene.pass(3000);
    expect(scene.machine('c').isReadable).toBe(false);
    scene.machine('b').damage.settle();
    scene.pass(3000);
    expect(scene.machine('c').isReadable).toBe(true);
    expect(shown(scene.read('c', 'x', 'Eventual'))).toBe('x anew');
  });

  test('is noticed by trimming, though nobody reads it', () => {
    const scene = trimmed();
    scene.copy('b').damage(2);
    scene.store('b').trim(5);
    scene.machine('b').damage.settle();
    scene.pass(2000);
    scene.machine('b').damage.settle();
    expect(scene.store('b').unreadable).toBeUndefined();
  });
});

describe('a question', () => {
  test('is asked again until it is answered, less and less often', () => {
    const scene = threeEntries();
    scene.copy('b').damage(2);
    scene.read('b', 'y', 'Eventual');
    let asked = 0;
    for (let seconds = 0; seconds < 60; seconds += 1) {
      scene.pass(1000, { delivering: false });
      asked += scene.drop(({ message }) => message.type === 'damaged') / 2;
    }
    expect(asked).toBeGreaterThan(4);
    expect(asked).toBeLessThan(10);
    scene.pass(40_000);
    expect(shown(scene.read('b', 'y', 'Eventual'))).toBe('y');
    scene.pass(60_000, { delivering: false });
    expect(scene.sent('damaged')).toEqual([]);
  });

  test('is not asked with every read', () => {
    const scene = threeEntries();
    scene.copy('b').damage(2);
    for (let times = 0; times < 100; times += 1) scene.read('b', 'y', 'Eventual');
    expect(scene.sent('damaged')).toHaveLength(2);
    expect(scene.copy('b').events).toEqual([{ event: 'damaged', lsn: 2 }]);
  });
});

test('damage in what is to be undone makes a full copy, and what can be read is listed', () => {
  const scene = threeEntries();
  scene.cut('a', 'b');
  scene.cut('a', 'c');
  for (const id of ['u', 'v', 'w']) scene.put('a', id, 'false');
  scene.settle();
  scene.copy('a').damage(5);
  scene.reign('b', 2, ['b', 'c']);
  scene.follow('a', 2, 'b');
  scene.mend('a', 'b');
  scene.settle();
  expect(scene.log('a')).toEqual(scene.log('b'));
  expect(scene.machine('a').isReadable).toBe(true);
  expect([...scene.store('a').undone()].map(({ entry }) => entry.lsn)).toEqual([4, 6]);
  expect(scene.copy('a').events).toContainEqual({ event: 'unlisted', count: 1 });
});
