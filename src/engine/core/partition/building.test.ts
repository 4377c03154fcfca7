/** A copy that is built anew: what only it has is listed before it is given up. */
import { describe, expect, test } from 'vitest';
import { nameOf, PartitionScene } from '../../../../test/engine/partition-scene.ts';

let scene: PartitionScene;

function putAll(region: string, ...ids: string[]): void {
  for (const id of ids) scene.put(region, id, `${region} ${id}`);
  scene.settle();
}

function isolate(region: string): void {
  for (const other of scene.regions) if (other !== region) scene.cut(region, other);
}

function join(region: string): void {
  for (const other of scene.regions) if (other !== region) scene.mend(region, other);
  scene.settle();
}

function undoneAt(region: string): readonly string[] {
  return [...scene.store(region).undone()].map(({ entry }) => nameOf(entry));
}

describe('a copy that is built anew', () => {
  /** `a` has acknowledged y and z, which nobody else has, and its disk is not the one that reported last. The commit of z was not on it yet. */
  function outlive(image = () => scene.image('a')): void {
    scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1);
    putAll('a', 'x');
    isolate('a');
    putAll('a', 'y');
    putAll('a', 'z');
    const old = image();
    scene.rollBack('a', old);
    scene.store('a').note({ building: true });
    scene.start('a');
    scene.reign('b', 2, ['b', 'c']);
    putAll('b', 'w');
    scene.follow('a', 2, 'b');
  }

  test('lists what only it has before it gives that up', () => {
    outlive();
    join('a');
    expect(scene.log('a')).toEqual(scene.log('b'));
    expect(scene.machine('a').isReadable).toBe(true);
    expect(undoneAt('a')).toEqual(['1.1/2', '1.1/3']);
    expect([...scene.store('a').undone()].map(({ committed }) => committed)).toEqual([true, undefined]);
    expect(scene.copy('a').events).toEqual([{ event: 'undone', count: 2, after: 1, committed: true }]);
  });

  test('says how much of that it could not read', () => {
    outlive();
    scene.copy('a').damage(2);
    join('a');
    expect(scene.log('a')).toEqual(scene.log('b'));
    expect(undoneAt('a')).toEqual(['1.1/3']);
    expect(scene.copy('a').events).toContainEqual({ event: 'unlisted', count: 1 });
  });

  test('lists nothing that history has', () => {
    outlive(() => {
      join('a');
      return scene.image('a');
    });
    join('a');
    expect(scene.log('a')).toEqual(scene.log('b'));
    expect(undoneAt('a')).toEqual([]);
    expect(scene.copy('a').events).toEqual([]);
  });

  test('lists what it has of a half-built copy, whose writer is gone', () => {
    const forwarder = { windowBytes: 1, messageBytes: 1, resendMs: 1000 };
    scene = new PartitionScene({ consistency: { level: 'Session' }, forwarder });
    scene.reign('a', 1);
    putAll('a', 'x', 'y');
    isolate('b');
    putAll('a', 'y', 'u');
    isolate('c');
    putAll('a', 'v', 'w');
    scene.store('a').trim(4);
    scene.mend('a', 'b');
    while (scene.store('b').tail.lsn !== 5) {
      scene.give(scene.wire.shift()!);
      scene.turn();
    }
    scene.crash('a');
    expect(scene.store('b').notes.building).toBe(true);
    scene.reign('c', 2, ['c']);
    scene.mend('b', 'c');
    scene.settle();
    expect(scene.log('b')).toEqual(scene.log('c'));
    expect(undoneAt('b')).toEqual(['1.1/5']);
  });
});
