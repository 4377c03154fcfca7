/** A region that has to copy everything gives up what it has only when the writer could read all that it is going to send. */
import { beforeEach, describe, expect, test } from 'vitest';
import { PartitionScene, shown } from '../../../../test/engine/partition-scene.ts';

let scene: PartitionScene;

/** Two regions; b went away with x, y, z, and a has trimmed its log beyond that. */
function away(puts: readonly (readonly [string, unknown])[]): void {
  scene = new PartitionScene({ regions: ['a', 'b'] });
  scene.reign('a', 1);
  for (const id of ['x', 'y', 'z']) scene.put('a', id, id);
  scene.settle();
  scene.crash('b');
  scene.lead('a', 1, { commitSet: ['a'] });
  for (const [id, value] of puts) scene.put('a', id, value);
  scene.settle();
  scene.store('a').trim(5);
}

function comeBack(): void {
  scene.start('b');
  scene.drop();
  scene.follow('b', 1, 'a');
}

function valuesOf(id: string): readonly unknown[] {
  return ['a', 'b'].map((region) => shown(scene.read(region, id, 'Eventual')));
}

beforeEach(() =>
  away([
    ['u', 'u'],
    ['v', 'v'],
    ['w', 'w'],
  ]),
);

describe('damage in the writer that nobody has met', () => {
  beforeEach(() => scene.copy('a').damage(2));

  test('is repaired by the region that is about to copy everything', () => {
    comeBack();
    scene.pass(5000);
    expect(scene.copy('a').events).toContainEqual({ event: 'repaired', lsn: 2 });
    expect(scene.log('b')).toEqual(scene.log('a'));
    expect(valuesOf('y')).toEqual(['y', 'y']);
  });

  test('is repaired by it although the first answers are lost', () => {
    comeBack();
    for (let count = 0; count < 5; count += 1) {
      scene.pass(500, { delivering: false });
      scene.drop(({ message }) => message.type === 'repair');
      while (scene.wire.length > 0) {
        scene.give(scene.wire.shift()!);
        scene.turn();
        scene.drop(({ message }) => message.type === 'repair');
      }
    }
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
    scene.pass(60_000);
    expect(valuesOf('y')).toEqual(['y', 'y']);
  });

  test('is repaired by a disk that came back older, which has to be built anew', () => {
    scene.store('b').note({ incarnation: 1, building: true });
    comeBack();
    scene.pass(5000);
    expect(scene.machine('b').isReadable).toBe(true);
    expect(valuesOf('y')).toEqual(['y', 'y']);
  });

  test('is repaired by a log that has to be made anew because its end is damaged', () => {
    scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
    for (const id of ['x', 'y']) scene.put('a', id, id);
    scene.settle();
    scene.cut('a', 'b');
    scene.lead('a', 1, { commitSet: ['a'] });
    scene.put('a', 'z', 'false');
    scene.settle();
    scene.reign('b', 2, ['b']);
    scene.put('b', 'w', 'w');
    scene.settle();
    scene.copy('b').damage(2);
    scene.copy('a').damage(3);
    scene.follow('a', 2, 'b', { sureFrom: 2 });
    scene.mend('a', 'b');
    scene.pass(5000);
    expect(scene.log('a')).toEqual(scene.log('b'));
    expect(valuesOf('y')).toEqual(['y', 'y']);
  });
});

test('what nobody else has leaves the region with what it had', () => {
  scene.copy('a').damage(6);
  comeBack();
  scene.pass(120_000);
  expect(scene.log('b')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
  expect(scene.documents('b')).toEqual({ x: 'x', y: 'y', z: 'z' });
  expect(scene.copy('a').events).toEqual([{ event: 'damaged', lsn: 6 }]);
});

test('damage that is met after the log was read through counts', () => {
  comeBack();
  scene.pass(10_000);
  scene.crash('b');
  scene.lead('a', 1, { commitSet: ['a'] });
  scene.put('a', 'u', 'again');
  scene.settle();
  scene.store('a').trim(6);
  scene.copy('a').damage(2);
  expect(shown(scene.read('a', 'y', 'Eventual'))).toBe('DAMAGED');
  scene.store('b').note({ building: true });
  comeBack();
  while (scene.sent('welcome').length === 0) {
    scene.give(scene.wire.shift()!);
    scene.turn();
  }
  expect(scene.sent('welcome')[0]).toMatchObject({ whole: false });
});

test('a large log is read in steps, and once for all who ask', () => {
  away(Array.from({ length: 8 }, (_, at) => [`large-${at}`, 'x'.repeat(200_000)]));
  comeBack();
  scene.settle();
  expect(scene.machine('b').isReadable).toBe(true);
  expect(scene.log('b')).toHaveLength(3);
  scene.pass(100);
  expect(scene.log('b')).toEqual(scene.log('a'));
  scene.restart('b');
  scene.store('b').note({ building: true });
  scene.follow('b', 1, 'a');
  scene.settle();
  expect(scene.log('b')).toEqual(scene.log('a'));
});

test('an older writer, which does not look, is believed', () => {
  comeBack();
  scene.turn();
  scene.deliver('follow', 'a');
  const { message } = scene.take((each) => each.message.type === 'welcome');
  const { whole: _, ...older } = message as Extract<typeof message, { type: 'welcome' }>;
  scene.machine('b').onMessage('a', older);
  expect(scene.store('b').notes.building).toBe(true);
  scene.pass(5000);
  expect(scene.log('b')).toEqual(scene.log('a'));
});
