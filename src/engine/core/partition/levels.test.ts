/** A level that changes while the partition is in use: what commits wait for, what is promised, what a grant is good for. */
import { describe, expect, test } from 'vitest';
import { outcome, PartitionScene, shown } from '../../../../test/engine/partition-scene.ts';

describe('while the level changes', () => {
  test('a grant is good for what the writer keeps, whatever the reader was told to promise', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 100_000;
    scene.put('a', 'x', 1);
    scene.settle();
    scene.machine('a').consistency = {
      level: 'BoundedStaleness',
      staleness: { writes: 100, seconds: 100 },
    };
    scene.settle();
    const strong = scene.read('b', 'x');
    scene.pass(500);
    expect([shown(strong), shown(scene.read('b', 'x', 'BoundedStaleness'))]).toEqual(['waits', 1]);
    scene.machine('a').consistency = { level: 'Strong' };
    scene.pass(500);
    expect(shown(strong)).toBe(1);
  });

  test('a writer that keeps no strong level grants nothing', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 100_000;
    scene.machine('a').consistency = { level: 'Session' };
    const read = scene.read('b', 'x');
    scene.pass(500);
    expect(shown(read)).toBe('waits');
  });

  test('on the way to Strong bounded reads still have their bound', () => {
    const staleness = { writes: 3, seconds: 5 };
    const scene = new PartitionScene({ consistency: { level: 'BoundedStaleness', staleness } });
    scene.reign('a', 1);
    scene.copy('a').grantMs = 100_000;
    scene.machine('a').consistency = { level: 'Strong', staleness };
    scene.put('a', 'x', 0);
    scene.settle();
    scene.read('b', 'x', 'BoundedStaleness');
    scene.pass(500);
    scene.cut('a', 'b');
    for (let count = 1; count < 10; count += 1) scene.put('a', 'x', count);
    scene.settle();
    expect(scene.store('a').tail.lsn).toBe(staleness.writes);
    scene.pass(3000);
    expect(shown(scene.read('b', 'x', 'BoundedStaleness'))).toBe(0);
    scene.pass(2100);
    expect(shown(scene.read('b', 'x', 'BoundedStaleness'))).toBe('waits');
  });
});

describe('a stronger level that is on its way', () => {
  const ROLE = { role: 'writer', epoch: 1, accepts: true, commitSet: ['a', 'b', 'c'] } as const;
  const [SESSION, STRONG] = [{ level: 'Session' }, { level: 'Strong' }] as const;

  test('is kept by commits from then on, and promised to nobody before it is in force', () => {
    const scene = new PartitionScene({ consistency: SESSION });
    scene.assume('a', { ...ROLE, serves: SESSION, keeps: SESSION });
    for (const region of ['b', 'c']) scene.follow(region, 1, 'a');
    scene.settle();
    scene.copy('a').grantMs = 100_000;
    scene.cut('a', 'c');
    const before = scene.put('a', 'x', 1);
    scene.settle();
    scene.assume('a', { ...ROLE, serves: SESSION, keeps: STRONG });
    const write = scene.put('a', 'x', 2);
    scene.settle();
    expect([outcome(before), outcome(write)]).toEqual(['201', 'waits']);
    scene.mend('a', 'c');
    scene.settle();
    expect(outcome(write)).toBe('200');
    expect(shown(scene.read('a', 'x'))).toBe('LEVEL_TOO_STRONG');
    scene.assume('a', { ...ROLE, serves: STRONG, keeps: STRONG });
    scene.assume('b', { role: 'reader', epoch: 1, writer: 'a', serves: STRONG });
    scene.settle();
    const read = scene.read('b', 'x');
    scene.pass(200);
    expect([shown(scene.read('a', 'x')), shown(read)]).toEqual([2, 2]);
  });
});
