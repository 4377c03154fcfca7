/** What clients are told of their writes. */
import { describe, expect, test } from 'vitest';
import { create, keyOf, outcome, PartitionScene, shown } from '../../../../test/engine/partition-scene.ts';

describe('a write is refused', () => {
  test('where nobody writes', () => {
    const scene = new PartitionScene();
    expect(outcome(scene.put('a', 'x', 1))).toBe('NOT_WRITER');
    scene.reign('a', 1);
    expect(outcome(scene.put('b', 'x', 1))).toBe('NOT_WRITER');
    scene.fence('a', 2);
    expect(outcome(scene.put('a', 'x', 1))).toBe('NOT_WRITER');
  });

  test('when the lease is over', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').mayWrite = false;
    expect(outcome(scene.put('a', 'x', 1))).toBe('NOT_WRITER');
    expect(scene.store('a').tail.lsn).toBe(0);
  });

  test('when the copy is gone', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.assume('a', { role: 'gone' });
    expect(outcome(scene.put('a', 'x', 1))).toBe('NOT_WRITER');
    expect(shown(scene.read('a', 'x', 'Eventual'))).toBe('NOT_READY');
    expect(scene.machine('a').status().canCommit).toBe(false);
  });

  test('when too many wait', () => {
    const scene = new PartitionScene({ maxWaiting: 2 });
    scene.reign('a', 1);
    scene.cut('a', 'b');
    const writes = [1, 2, 3].map((value) => scene.put('a', `${value}`, value));
    scene.settle();
    expect(writes.map(outcome)).toEqual(['waits', 'waits', 'TOO_MANY_REQUESTS']);
    scene.mend('a', 'b');
    scene.settle();
    expect(writes.slice(0, 2).map(outcome)).toEqual(['201', '201']);
    const later = scene.put('a', 'x', 1);
    scene.settle();
    expect(outcome(later)).toBe('201');
  });

  test('reads that wait are counted too', () => {
    const scene = new PartitionScene({ maxWaiting: 2 });
    scene.reign('a', 1);
    const reads = [1, 2, 3].map(() => scene.read('b', 'x'));
    const scan = scene.scan('b', 'Strong');
    expect(reads.map(shown)).toEqual(['waits', 'waits', 'TOO_MANY_REQUESTS']);
    expect(scan.answer).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    // Its client should go elsewhere, not come back.
    expect(outcome(scene.put('b', 'x', 1))).toBe('NOT_WRITER');
  });

  test('while the disk takes nothing; what is under way is answered when it does again', () => {
    const scene = new PartitionScene({ regions: ['a'] });
    scene.reign('a', 1);
    scene.copy('a').disk.fail(new Error('full'));
    const first = scene.put('a', 'x', 1, { ms: 60_000 });
    scene.settle();
    expect(outcome(first)).toBe('waits');
    expect(scene.machine('a').status().canCommit).toBe(false);
    expect(scene.copy('a').changes).toContain('at once');
    expect(scene.copy('a').events).toMatchObject([{ event: 'disk', error: { message: 'full' } }]);
    expect(outcome(scene.put('a', 'y', 1))).toBe('DISK_FULL');
    scene.copy('a').disk.fail(undefined);
    scene.pass(5000);
    expect(scene.machine('a').status().canCommit).toBe(true);
    expect(outcome(first)).toBe('201');
    const later = scene.put('a', 'y', 1);
    scene.settle();
    expect(outcome(later)).toBe('201');
    expect(scene.copy('a').events.at(-1)).toEqual({ event: 'disk', error: undefined });
  });

  test('a reader whose disk takes nothing acknowledges nothing, and goes on by itself', () => {
    const scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
    scene.copy('b').disk.fail(new Error('full'));
    const write = scene.put('a', 'x', 1, { ms: 60_000 });
    scene.pass(3000);
    expect(outcome(write)).toBe('waits');
    scene.copy('b').disk.fail(undefined);
    scene.pass(5000);
    expect(outcome(write)).toBe('201');
  });

  test('a reader whose disk takes nothing when it undoes asks again by itself', () => {
    const scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
    scene.cut('a', 'b');
    scene.copy('b').disk.fail(new Error('full'));
    scene.mend('a', 'b');
    scene.pass(3000);
    scene.copy('b').disk.fail(undefined);
    const write = scene.put('a', 'x', 1, { ms: 60_000 });
    scene.pass(5000);
    expect(outcome(write)).toBe('201');
  });
});

describe('when the reign ends', () => {
  test('who writes again at once, from within the answer, is refused', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const answers: string[] = [];
    const write = (then: () => void) =>
      scene
        .copy('a')
        .requests.write({ partitionKey: ['k'], operations: [create('x', 1)] }, Infinity, (answer) => {
          answers.push(answer.outcome);
          then();
        });
    write(() => write(() => {}));
    scene.settle();
    scene.fence('a', 2);
    expect(answers).toEqual(['unknown', 'refused']);
    expect(scene.store('a').tail.lsn).toBe(1);
  });
});

describe('an entry', () => {
  test('has the epoch of its writer, and times that do not go back', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.host.wallOffset -= 60_000;
    scene.put('a', 'x', 2);
    scene.settle();
    const [first, second] = scene.store('b').entriesAfter(0, Infinity);
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2']);
    expect(second!.at).toBe(first!.at);
  });

  test('has no time before that of the log it goes on from, also after a failover', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.host.wallOffset -= 60_000;
    scene.reign('b', 2);
    scene.put('b', 'x', 2);
    scene.settle();
    const [first, second] = scene.store('b').entriesAfter(0, Infinity);
    expect(second!.at).toBeGreaterThanOrEqual(first!.at);
  });

  test('names the version before it', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.put('a', 'y', 1);
    scene.remove('a', 'x');
    scene.put('a', 'x', 2);
    scene.settle();
    const previous = [1, 3, 4].map((lsn) => scene.store('b').version(keyOf('x'), lsn)!.previous);
    expect(previous).toEqual([0, 1, 3]);
  });
});

describe('a write that is sent again', () => {
  test('under its name gets the first answer and is carried out once', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    const first = scene.write('a', [create('x', 1)], { operation: 'op-1' });
    scene.settle();
    const again = scene.write('a', [create('x', 1)], { operation: 'op-1' });
    scene.settle();
    expect([outcome(first), outcome(again)]).toEqual(['201', '201']);
    expect(again.answer).toMatchObject({ position: { lsn: 1 } });
    expect(scene.store('a').tail.lsn).toBe(1);
  });

  test('while the first is under way waits with it', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const writes = [1, 2].map(() => scene.write('a', [create('x', 1)], { operation: 'op-1' }));
    scene.settle();
    expect(writes.map(outcome)).toEqual(['waits', 'waits']);
    scene.mend('a', 'c');
    scene.settle();
    expect(writes.map(outcome)).toEqual(['201', '201']);
    expect(scene.store('a').tail.lsn).toBe(1);
  });

  test('to another region after a failover gets the first answer if that region has the entry', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const first = scene.write('a', [create('x', 1)], { operation: 'op-1' });
    scene.settle();
    scene.crash('a');
    scene.reign('b', 2, ['b', 'c']);
    const again = scene.write('b', [create('x', 1)], { operation: 'op-1' });
    scene.settle();
    expect(outcome(first)).toBe('waits');
    expect(outcome(again)).toBe('201');
    expect(scene.log('c')).toEqual(['1.1/1']);
  });

  test('to another region after a failover is carried out if the entry is lost', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    scene.write('a', [create('x', 1)], { operation: 'op-1' });
    scene.settle();
    scene.reign('b', 2, ['b', 'c']);
    const again = scene.write('b', [create('x', 1)], { operation: 'op-1' });
    scene.settle();
    expect(outcome(again)).toBe('201');
    scene.follow('a', 2, 'b');
    scene.mend('a', 'b');
    scene.settle();
    expect(scene.log('a')).toEqual(['2.1/1']);
    expect(scene.store('a').operation('op-1')).toMatchObject({ lsn: 1, epoch: scene.store('b').tail.epoch });
  });

  test('is not known by a name that was undone', () => {
    const scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1);
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    scene.write('a', [create('x', 1)], { operation: 'op-1' });
    scene.settle();
    scene.reign('b', 2, ['b']);
    scene.follow('a', 2, 'b');
    scene.mend('a', 'b');
    scene.settle();
    expect(scene.store('a').operation('op-1')).toBeUndefined();
  });
});

describe('a refusal', () => {
  test('is told when what it rests on is committed', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const write = scene.write('a', [create('x', 1)]);
    const refusal = scene.write('a', [create('x', 2)]);
    scene.settle();
    expect([outcome(write), outcome(refusal)]).toEqual(['waits', 'waits']);
    scene.mend('a', 'c');
    scene.settle();
    expect([outcome(write), outcome(refusal)]).toEqual(['201', '409']);
    expect(refusal.answer).toMatchObject({ position: { lsn: 1 } });
  });

  test('that rests on an uncommitted deletion waits for it', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'c');
    scene.remove('a', 'x');
    const refusal = scene.remove('a', 'x');
    scene.settle();
    expect(outcome(refusal)).toBe('waits');
    scene.mend('a', 'c');
    scene.settle();
    expect(outcome(refusal)).toBe('404');
  });

  test('that rests on nothing new is told at once', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'c');
    scene.put('a', 'y', 1);
    expect(outcome(scene.write('a', [create('x', 2)]))).toBe('409');
  });

  test('is unknown when the reign ends first', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    scene.write('a', [create('x', 1)]);
    const refusal = scene.write('a', [create('x', 2)]);
    scene.settle();
    scene.fence('a', 2);
    expect(outcome(refusal)).toBe('unknown');
  });

  test('of a new writer waits until what it rests on is committed again', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    scene.cut('b', 'c');
    scene.put('a', 'x', 1);
    scene.settle();
    scene.crash('a');
    scene.reign('b', 2, ['b', 'c']);
    const refusal = scene.write('b', [create('x', 2)]);
    scene.settle();
    expect(outcome(refusal)).toBe('waits');
    scene.mend('b', 'c');
    scene.settle();
    expect(outcome(refusal)).toBe('409');
  });
});

describe('time to live', () => {
  test('a document that has lived long enough is deleted by an entry of its own', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'short', 1, { ttl: 10 });
    scene.put('a', 'long', 1, { ttl: 100 });
    scene.put('a', 'ever', 1);
    scene.settle();
    scene.pass(9999);
    expect(scene.copy('a').requests.expire(100)).toBe(0);
    scene.pass(1);
    expect(scene.copy('a').requests.expire(100)).toBe(1);
    scene.settle();
    expect(Object.keys(scene.documents('b')).sort()).toEqual(['ever', 'long']);
    expect(scene.store('b').entry(4)).toMatchObject({
      changes: [{ id: 'short', previous: 1 }],
      statuses: [],
    });
    expect(scene.store('b').entry(4)!.changes[0]).not.toHaveProperty('body');
    expect(scene.copy('a').requests.expire(100)).toBe(0);
  });

  test('no more than asked for at once', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    for (const id of ['x', 'y', 'z']) scene.put('a', id, 1, { ttl: 1 });
    scene.pass(2000);
    expect([1, 2, 3].map(() => scene.copy('a').requests.expire(2))).toEqual([2, 1, 0]);
  });

  test.each([
    ['a reader', (scene: PartitionScene) => scene.follow('a', 2, 'b')],
    ['a writer without a lease', (scene: PartitionScene) => (scene.copy('a').mayWrite = false)],
    ['a writer that quiesces', (scene: PartitionScene) => scene.lead('a', 1, { accepts: false })],
  ])('%s deletes nothing', (_, change) => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1, { ttl: 1 });
    scene.pass(2000);
    change(scene);
    expect(scene.copy('a').requests.expire(2)).toBe(0);
    expect(scene.store('a').tail.lsn).toBe(1);
  });

  test('a document that has lived long enough cannot be met by a write any more', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1, { ttl: 1 });
    scene.pass(2000);
    const created = scene.write('a', [create('x', 2)]);
    scene.settle();
    expect(outcome(created)).toBe('201');
  });

  test('is held back like any other write', () => {
    const scene = new PartitionScene({
      regions: ['a', 'b'],
      consistency: { level: 'BoundedStaleness', staleness: { writes: 1, seconds: 100 } },
    });
    scene.reign('a', 1);
    scene.cut('a', 'b');
    scene.put('a', 'x', 1, { ttl: 1 });
    scene.pass(2000);
    expect(scene.copy('a').requests.expire(2)).toBe(0);
    scene.mend('a', 'b');
    scene.settle();
    expect(scene.copy('a').requests.expire(2)).toBe(1);
  });

  test('a damaged entry is asked for and stops nothing', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1, { ttl: 1 });
    scene.pass(2000);
    scene.copy('a').damage(1);
    expect(scene.copy('a').requests.expire(2)).toBe(0);
    scene.settle();
    expect(scene.copy('a').requests.expire(2)).toBe(1);
  });
});
