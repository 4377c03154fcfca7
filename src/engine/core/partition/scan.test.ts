/** Scans show one moment: what was committed at it, whatever the log has besides. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Asked,
  create,
  keyOf,
  PartitionScene,
  upsert,
  valueOf,
} from '../../../../test/engine/partition-scene.ts';
import type { ScanAnswer } from './answers.ts';

function seen({ answer }: Asked<ScanAnswer>): unknown {
  if (answer === undefined) return 'waits';
  if (answer.outcome === 'refused') return answer.code;
  return answer.versions.map((version) => `${version.id}=${String(valueOf(version))}`).join(' ');
}

/** a writes, b follows and is waited for, so cutting b leaves a with entries that are not committed. */
function twoRegions(): PartitionScene {
  const scene = new PartitionScene({ regions: ['a', 'b'] });
  scene.reign('a', 1);
  return scene;
}

test('documents come in order, up to the limit, behind the one that came last', () => {
  const scene = twoRegions();
  for (const id of ['c', 'a', 'd', 'b']) scene.put('a', id, 1);
  scene.settle();
  expect(seen(scene.scan('a'))).toBe('a=1 b=1 c=1 d=1');
  expect(seen(scene.scan('b', 'Eventual', { limit: 2 }))).toBe('a=1 b=1');
  expect(seen(scene.scan('b', 'Eventual', { limit: 2, after: keyOf('b') }))).toBe('c=1 d=1');
  expect(seen(scene.scan('b', 'Eventual', { from: 'G' }))).toBe('');
});

test('what is not committed is not shown', () => {
  const scene = twoRegions();
  for (const id of ['a', 'b', 'c']) scene.put('a', id, 1);
  scene.settle();
  scene.cut('a', 'b');
  scene.put('a', 'aa', 2);
  scene.remove('a', 'b');
  scene.put('a', 'c', 2);
  scene.put('a', 'c', 3);
  scene.settle();
  expect(seen(scene.scan('a'))).toBe('a=1 b=1 c=1');
  expect(seen(scene.scan('a', 'Eventual', { limit: 2 }))).toBe('a=1 b=1');
  expect(seen(scene.scan('a', 'Eventual', { limit: 1, after: keyOf('a') }))).toBe('b=1');
});

describe('at Strong', () => {
  test('everything that came before the scan has to be committed', () => {
    const scene = twoRegions();
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'b');
    scene.put('a', 'y', 1);
    const scan = scene.scan('a', 'Strong');
    expect(seen(scan)).toBe('waits');
    scene.mend('a', 'b');
    scene.settle();
    expect(seen(scan)).toBe('x=1 y=1');
  });

  test('but not what comes after it', () => {
    const scene = twoRegions();
    scene.put('a', 'x', 1);
    scene.turn();
    const scan = scene.scan('a', 'Strong');
    for (let count = 0; count < 20 && scan.answer === undefined; count += 1) {
      scene.put('a', `new${count}`, 1);
      scene.give(scene.wire.shift()!);
      scene.turn();
    }
    expect(scan.answer).toMatchObject({ outcome: 'done' });
  });

  test('a reader counts from when it has its grant: what others acknowledged before the scan is in it', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1, ['a', 'b']);
    scene.cut('a', 'c');
    scene.put('a', 'x', 1);
    scene.settle();
    expect(scene.store('a').notes.gclsn).toBe(1);
    const scan = scene.scan('c', 'Strong', {}, 60_000);
    scene.mend('a', 'c');
    scene.lead('a', 1);
    scene.copy('a').grantMs = 100_000;
    // c gets everything but the news of what is committed.
    for (let count = 0; count < 100; count += 1) {
      scene.pass(20, { delivering: false });
      for (const each of scene.wire.splice(0)) {
        const { message } = each;
        const isEntries = message.type === 'entries' && each.to === 'c';
        if (isEntries)
          scene.give({ ...each, message: { ...message, marks: { gclsn: 0, safe: 0, everywhere: 0 } } });
        else scene.give(each);
      }
    }
    expect(scene.store('c').tail.lsn).toBe(1);
    expect(scene.machine('c').following!.mayRead('Strong', scene.host.now())).toBe(true);
    expect(seen(scan)).toBe('waits');
    scene.put('a', 'y', 1);
    scene.pass(2000);
    expect(seen(scan)).toMatch(/^x=1/);
  });

  test('a fenced copy refuses, a reader without a grant waits until its deadline', () => {
    const scene = twoRegions();
    const scan = scene.scan('b', 'Strong', {}, 300);
    scene.pass(500);
    expect(seen(scan)).toBe('NOT_READY');
    scene.fence('b', 2);
    expect(seen(scene.scan('b', 'Strong'))).toBe('NOT_READY');
    expect(seen(scene.scan('b', 'Eventual'))).toBe('');
  });
});

test('a damaged document is an answer too', () => {
  const scene = twoRegions();
  scene.put('a', 'x', 1);
  scene.settle();
  scene.copy('a').damage(1);
  expect(seen(scene.scan('a'))).toBe('DAMAGED');
  scene.settle();
  expect(seen(scene.scan('a'))).toBe('x=1');
});

/** Writes, some of them batches; `undefined` deletes. */
const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const write = fc.uniqueArray(fc.record({ id, value: fc.option(fc.nat({ max: 99 }), { nil: undefined }) }), {
  minLength: 1,
  maxLength: 3,
  selector: (one) => one.id,
});

test('equals a model that keeps a copy of everything at the GCLSN', () => {
  let cut = 0;
  fc.assert(
    fc.property(
      fc.array(write, { maxLength: 8 }),
      fc.array(write, { maxLength: 8 }),
      fc.record({
        limit: fc.integer({ min: 1, max: 6 }),
        after: fc.option(id, { nil: undefined }),
        trim: fc.boolean(),
      }),
      (committed, waiting, { limit, after, trim }) => {
        const scene = twoRegions();
        const model = new Map<string, number>();
        const all = new Set<string>();
        const play = (writes: typeof committed, isCommitted: boolean): void => {
          for (const changes of writes) {
            const possible = changes.filter((one) => one.value !== undefined || all.has(one.id));
            scene.write(
              'a',
              possible.map(({ id: name, value }) =>
                value === undefined ? { op: 'delete', id: name } : upsert(name, value),
              ),
            );
            for (const { id: name, value } of possible) {
              if (value === undefined) all.delete(name);
              else all.add(name);
              if (!isCommitted) continue;
              if (value === undefined) model.delete(name);
              else model.set(name, value);
            }
          }
          scene.settle();
        };
        play(committed, true);
        const { lsn } = scene.store('a').tail;
        if (trim && lsn > 1) scene.store('a').trim(lsn - 1);
        scene.cut('a', 'b');
        play(waiting, false);
        const expected = [...model]
          .filter(([name]) => after === undefined || name > after)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, value]) => `${name}=${value}`);
        if (expected.length > limit) cut += 1;
        const options = { limit, ...(after !== undefined && { after: keyOf(after) }) };
        for (const region of ['a', 'b'])
          expect(seen(scene.scan(region, 'Eventual', options))).toBe(expected.slice(0, limit).join(' '));
      },
    ),
    { seed: 11, numRuns: 300 },
  );
  expect(cut).toBeGreaterThan(10);
});

test('creates and refusals leave no trace', () => {
  const scene = twoRegions();
  scene.write('a', [create('x', 1)]);
  scene.write('a', [create('x', 2)]);
  scene.settle();
  expect(seen(scene.scan('b'))).toBe('x=1');
});
