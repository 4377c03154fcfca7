/** How far a log may be trimmed. */
import { beforeEach, describe, expect, test } from 'vitest';
import { PartitionScene } from '../../../../test/engine/partition-scene.ts';
import { type TrimPolicy, trimTo } from './trim.ts';

const KEEP_ALL: TrimPolicy = { keepMs: Infinity, keepBytes: Infinity, hardBytes: Infinity };

let scene: PartitionScene;

/** Ten entries of the same size, a second apart. */
beforeEach(() => {
  scene = new PartitionScene();
  scene.reign('a', 1);
  for (let count = 0; count < 10; count += 1) {
    scene.put('a', 'x', count);
    scene.pass(1000);
  }
});

const to = (policy: Partial<TrimPolicy>, region = 'a') =>
  trimTo(scene.machine(region), { ...KEEP_ALL, ...policy });
const bytes = (entries: number) => (scene.store('a').logBytes / 10) * entries;

describe('what nobody needs', () => {
  test('goes by age', () => {
    expect(to({ keepMs: 20_000 })).toBe(0);
    expect(to({ keepMs: 6500 })).toBe(4);
    expect(to({ keepMs: 6000 })).toBe(4);
    expect(to({ keepMs: 5999 })).toBe(5);
  });

  test('goes by size before its time', () => {
    expect(to({ keepBytes: bytes(4) })).toBe(6);
    expect(to({ keepBytes: bytes(10) })).toBe(0);
    expect(to({ keepBytes: bytes(4), keepMs: 3500 })).toBe(7);
  });

  test('goes at readers too', () => {
    expect(to({ keepBytes: bytes(4) }, 'b')).toBe(6);
  });

  test('goes on from where the last trim ended', () => {
    scene.store('a').trim(3);
    expect(to({ keepMs: 20_000 })).toBe(0);
    expect(to({ keepMs: 8500 })).toBe(0);
    expect(to({ keepMs: 5500 })).toBe(5);
    expect(to({ keepBytes: bytes(4) * (10 / 7) })).toBe(6);
  });
});

describe('what stays', () => {
  test('the last entry', () => {
    expect(to({ keepMs: 0 })).toBe(9);
    expect(to({ hardBytes: 0 })).toBe(9);
    scene.store('a').trim(9);
    expect(to({ keepMs: 0 })).toBe(0);
  });

  test('what a region lacks, in the commit set or not', () => {
    scene.cut('a', 'c');
    scene.lead('a', 1, { commitSet: ['a', 'b'] });
    for (let value = 11; value <= 13; value += 1) scene.put('a', 'x', value);
    scene.pass(60_000);
    expect(scene.store('a').notes.gclsn).toBe(13);
    expect(to({ keepMs: 0 })).toBe(10);
    expect(to({ keepMs: 0 }, 'b')).toBe(10);
    scene.mend('a', 'c');
    scene.settle();
    expect(to({ keepMs: 0 })).toBe(12);
    expect(to({ keepMs: 0 }, 'b')).toBe(12);
  });

  test('unless the log is beyond the hard limit', () => {
    scene.cut('a', 'c');
    scene.lead('a', 1, { commitSet: ['a', 'b'] });
    for (let value = 11; value <= 15; value += 1) scene.put('a', 'x', value);
    scene.settle();
    expect(to({ keepMs: 0 })).toBe(10);
    expect(to({ keepMs: 0, hardBytes: scene.store('a').logBytes / 5 })).toBe(12);
  });

  test('what is not committed, whatever the limit', () => {
    scene.cut('a', 'c');
    for (let count = 0; count < 5; count += 1) scene.put('a', 'x', count);
    scene.settle();
    expect(scene.store('a').tail.lsn).toBe(15);
    expect(to({ keepMs: 0, hardBytes: 0 })).toBe(10);
  });

  test('everything in an empty log, in a copy under way, and where nobody says what others have', () => {
    const empty = new PartitionScene();
    empty.reign('a', 1);
    expect(trimTo(empty.machine('a'), { keepMs: 0, keepBytes: 0, hardBytes: 0 })).toBe(0);
    scene.fence('b', 2);
    expect(to({ keepMs: 0 }, 'b')).toBe(0);
    scene.store('c').note({ building: true });
    expect(to({ keepMs: 0, hardBytes: 0 }, 'c')).toBe(0);
  });

  test('everything while an entry that has to be looked at is damaged', () => {
    for (let lsn = 1; lsn <= 10; lsn += 1) scene.copy('a').damage(lsn);
    expect(to({ keepMs: 6500 })).toBe(0);
    expect(scene.copy('a').events.at(-1)).toMatchObject({ event: 'damaged' });
    scene.settle();
    expect(to({ keepMs: 6500 })).toBeGreaterThanOrEqual(0);
  });
});
