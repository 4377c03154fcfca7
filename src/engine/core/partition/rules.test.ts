/** Rules of safety that mutants found no other test for. */
import { describe, expect, test } from 'vitest';
import { PartitionScene, shown } from '../../../../test/engine/partition-scene.ts';
import { trimTo } from './trim.ts';

describe('rule 7: a copy that is fenced without a higher GCN', () => {
  function granted(): PartitionScene {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 100_000;
    scene.read('b', 'x');
    scene.pass(100);
    expect(scene.read('b', 'x').answer).toMatchObject({ outcome: 'done' });
    return scene;
  }

  test('loses its grant', () => {
    const scene = granted();
    scene.fence('b', 1);
    expect(shown(scene.read('b', 'x'))).toBe('NOT_READY');
  });

  test('takes no writes any more', () => {
    const scene = granted();
    scene.fence('a', 1);
    expect(scene.put('a', 'x', 1).answer).toMatchObject({ outcome: 'refused', code: 'NOT_WRITER' });
  });
});

test('what a failover could undo is not trimmed, whatever the limit: the list of undone writes would lack it', () => {
  const scene = new PartitionScene({ consistency: { level: 'Session' } });
  scene.reign('a', 1);
  for (let value = 1; value <= 3; value += 1) scene.put('a', 'x', value);
  scene.settle();
  scene.cut('a', 'b');
  scene.cut('a', 'c');
  for (let value = 4; value <= 9; value += 1) scene.put('a', 'x', value);
  scene.settle();
  expect(scene.store('a').notes.gclsn).toBe(9);
  expect(trimTo(scene.machine('a'), { keepMs: 0, keepBytes: 0, hardBytes: 0 })).toBe(3);
});
