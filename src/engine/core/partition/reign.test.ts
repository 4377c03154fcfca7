/** When a write is committed, who is held back, and what a new writer may show. */
import { describe, expect, test } from 'vitest';
import { outcome, PartitionScene, shown } from '../../../../test/engine/partition-scene.ts';

const gclsn = (scene: PartitionScene, region = 'a') => scene.store(region).notes.gclsn;

describe('at Strong', () => {
  test('a write is committed when every region of the commit set has it on disk', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    for (const region of scene.regions) scene.copy(region).holdDisk();
    const write = scene.put('a', 'x', 1);
    scene.settle();
    for (const region of ['b', 'a']) {
      scene.copy(region).releaseDisk();
      scene.settle();
      expect(outcome(write)).toBe('waits');
      expect(gclsn(scene)).toBe(0);
    }
    scene.copy('c').releaseDisk();
    scene.settle();
    expect(outcome(write)).toBe('201');
    expect(gclsn(scene)).toBe(1);
  });

  test('also its own disk is waited for', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').holdDisk();
    const write = scene.put('a', 'x', 1);
    scene.settle();
    expect(scene.store('b').tail.lsn).toBe(1);
    expect(outcome(write)).toBe('waits');
    scene.copy('a').releaseDisk();
    expect(outcome(write)).toBe('201');
  });

  test('who is not in the commit set is not waited for', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1, ['a', 'b']);
    scene.cut('a', 'c');
    const write = scene.put('a', 'x', 1);
    scene.settle();
    expect(outcome(write)).toBe('201');
  });

  test('a region that comes into the commit set is waited for from then on (rule 14)', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1, ['a', 'b']);
    scene.copy('c').holdDisk();
    scene.put('a', 'x', 1);
    scene.settle();
    expect(gclsn(scene)).toBe(1);
    scene.lead('a', 1);
    const write = scene.put('a', 'y', 1);
    scene.settle();
    expect(outcome(write)).toBe('waits');
    expect(gclsn(scene)).toBe(1);
    scene.copy('c').releaseDisk();
    scene.settle();
    expect(outcome(write)).toBe('201');
  });

  test('what waits for a region that leaves the commit set is committed at once (rule 17)', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const write = scene.put('a', 'x', 1);
    scene.settle();
    expect(outcome(write)).toBe('waits');
    scene.lead('a', 1, { commitSet: ['a', 'b'] });
    expect(outcome(write)).toBe('201');
  });

  test('the same role again begins nothing anew', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    const { reign } = scene.machine('a');
    scene.lead('a', 1, { accepts: false });
    expect(scene.machine('a').reign).toBe(reign);
  });

  test('a level that becomes Strong shows nothing before the commit set has it all', () => {
    const scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1, ['a', 'b']);
    scene.cut('a', 'b');
    scene.put('a', 'x', 1);
    scene.settle();
    scene.machine('a').consistency = { level: 'Strong' };
    const read = scene.read('a', 'x');
    expect(shown(read)).toBe('waits');
    scene.mend('a', 'b');
    scene.settle();
    expect(shown(read)).toBe(1);
  });
});

describe.each(['BoundedStaleness', 'Session', 'ConsistentPrefix', 'Eventual'] as const)('at %s', (level) => {
  test('a write is committed when the writer has it on disk', () => {
    const scene = new PartitionScene({ consistency: { level, staleness: { writes: 10, seconds: 10 } } });
    scene.reign('a', 1);
    scene.cut('a', 'b');
    scene.copy('a').holdDisk();
    const write = scene.put('a', 'x', 1);
    scene.settle();
    expect(outcome(write)).toBe('waits');
    scene.copy('a').releaseDisk();
    expect(outcome(write)).toBe('201');
    expect(scene.machine('a').marks).toEqual({ gclsn: 1, safe: 0, everywhere: 0 });
  });
});

describe('a new writer', () => {
  /** Entry 2 is on the disks of a and b and was never committed; b leads GCN 2. */
  function takenOver(): PartitionScene {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'c');
    scene.cut('b', 'c');
    scene.put('a', 'x', 2);
    scene.settle();
    scene.crash('a');
    scene.reign('b', 2, ['b', 'c']);
    return scene;
  }

  test('shows nothing strongly before its log is committed again (rule 6)', () => {
    const scene = takenOver();
    const [x, other, scan] = [scene.read('b', 'x'), scene.read('b', 'other'), scene.scan('b', 'Strong')];
    scene.settle();
    expect([shown(x), shown(other), scan.answer]).toEqual(['waits', 'waits', undefined]);
    expect(shown(scene.read('b', 'x', 'Eventual'))).toBe(1);
    scene.mend('b', 'c');
    scene.settle();
    expect([shown(x), shown(other)]).toEqual([2, undefined]);
    expect(scan.answer).toMatchObject({ outcome: 'done', position: { lsn: 2 } });
  });

  test('grants nothing before that (rule 6)', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('b', 'a');
    scene.reign('b', 2);
    scene.copy('b').grantMs = 1000;
    const read = scene.read('c', 'x');
    scene.pass(1000);
    expect(shown(read)).toBe('waits');
    scene.lead('b', 2, { commitSet: ['b', 'c'] });
    scene.pass(200);
    expect(shown(read)).toBe(1);
  });

  test('takes writes meanwhile, and answers them when all before them is committed', () => {
    const scene = takenOver();
    const write = scene.put('b', 'y', 1);
    scene.settle();
    expect(outcome(write)).toBe('waits');
    scene.mend('b', 'c');
    scene.settle();
    expect(outcome(write)).toBe('201');
    expect(scene.log('c')).toEqual(['1.1/1', '1.1/2', '2.1/3']);
  });

  test('does not take for durable what it has undone and not yet on disk', () => {
    const scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1, ['a']);
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    for (let count = 0; count < 5; count += 1) scene.put('a', 'x', count);
    scene.settle();
    scene.reign('b', 2, ['b']);
    scene.follow('a', 2, 'b');
    scene.turn();
    scene.copy('a').holdDisk();
    scene.mend('a', 'b');
    scene.settle();
    expect(scene.store('a').tail.lsn).toBe(0);
    scene.lead('a', 3, { commitSet: ['a'] });
    const write = scene.put('a', 'y', 1);
    scene.settle();
    expect(outcome(write)).toBe('waits');
    expect(gclsn(scene)).toBe(0);
    expect(scene.machine('a').status().progress.lsn).toBe(0);
    scene.copy('a').releaseDisk();
    scene.settle();
    expect(outcome(write)).toBe('201');
  });
});

describe('a write that waits', () => {
  test('when the reign ends has no known outcome', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const write = scene.put('a', 'x', 1);
    scene.settle();
    scene.fence('a', 2);
    expect(outcome(write)).toBe('unknown');
  });

  test('when the role becomes that of a reader has no known outcome either', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const write = scene.put('a', 'x', 1);
    scene.follow('a', 1, 'b');
    expect(outcome(write)).toBe('unknown');
  });

  test('is unknown at its deadline and may be committed later', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const write = scene.put('a', 'x', 1, { ms: 300 });
    scene.pass(299);
    expect(outcome(write)).toBe('waits');
    scene.pass(101);
    expect(outcome(write)).toBe('unknown');
    scene.mend('a', 'c');
    scene.settle();
    expect(gclsn(scene)).toBe(1);
  });

  test('behind one whose time is over is still answered', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    const short = scene.put('a', 'x', 1, { ms: 100 });
    const long = scene.put('a', 'y', 1, { ms: 10_000 });
    scene.pass(1000);
    expect([outcome(short), outcome(long)]).toEqual(['unknown', 'waits']);
    scene.mend('a', 'c');
    scene.settle();
    expect(outcome(long)).toBe('201');
  });
});

describe('bounded staleness', () => {
  function bounded(writes: number, seconds: number): PartitionScene {
    const scene = new PartitionScene({
      regions: ['a', 'b'],
      consistency: { level: 'BoundedStaleness', staleness: { writes, seconds } },
    });
    scene.reign('a', 1);
    return scene;
  }

  test('holds the writer back when a region is K writes behind, until it is not', () => {
    const scene = bounded(3, 1000);
    scene.cut('a', 'b');
    const writes = [1, 2, 3, 4, 5].map((value) => scene.put('a', 'x', value, { ms: 60_000 }));
    scene.settle();
    expect(writes.map(outcome)).toEqual(['201', '200', '200', 'waits', 'waits']);
    expect(scene.store('a').tail.lsn).toBe(3);
    scene.mend('a', 'b');
    scene.settle();
    expect(writes.map(outcome)).toEqual(['201', '200', '200', '200', '200']);
  });

  test('counts what the region knows to be committed, not what it has', () => {
    const scene = bounded(1, 1000);
    scene.put('a', 'x', 1);
    scene.turn();
    scene.deliver('entries', 'b');
    scene.deliver('ack', 'a');
    expect(scene.machine('a').reign!.forwarder.durableAt('b')).toBe(1);
    const held = scene.put('a', 'x', 2);
    expect(outcome(held)).toBe('waits');
    scene.settle();
    expect(outcome(held)).toBe('200');
  });

  test('holds the writer back when a region is T seconds behind', () => {
    const scene = bounded(1000, 5);
    scene.cut('a', 'b');
    expect(outcome(scene.put('a', 'x', 1))).toBe('waits');
    scene.pass(4900);
    const early = scene.put('a', 'x', 2);
    scene.settle();
    expect(outcome(early)).toBe('200');
    scene.pass(150);
    const late = scene.put('a', 'x', 3, { ms: 60_000 });
    scene.settle();
    expect(outcome(late)).toBe('waits');
    scene.mend('a', 'b');
    scene.settle();
    expect(outcome(late)).toBe('200');
  });

  test('a quiet writer is not held back by its age', () => {
    const scene = bounded(1000, 5);
    scene.put('a', 'x', 1);
    scene.pass(60_000);
    const write = scene.put('a', 'x', 2);
    scene.settle();
    expect(outcome(write)).toBe('200');
  });

  test('who is held back until the deadline was certainly not carried out', () => {
    const scene = bounded(1, 1000);
    scene.cut('a', 'b');
    scene.put('a', 'x', 1);
    const write = scene.put('a', 'x', 2, { ms: 200 });
    scene.pass(400);
    expect(outcome(write)).toBe('TOO_MANY_REQUESTS');
    expect(scene.store('a').tail.lsn).toBe(1);
  });

  test('a region that leaves the commit set holds nobody back', () => {
    const scene = bounded(1, 1000);
    scene.cut('a', 'b');
    scene.put('a', 'x', 1);
    const write = scene.put('a', 'x', 2);
    scene.settle();
    expect(outcome(write)).toBe('waits');
    scene.lead('a', 1, { commitSet: ['a'] });
    scene.settle();
    expect(outcome(write)).toBe('200');
  });

  test('a lost acknowledgement of news does not hold the writer back for ever', () => {
    const scene = bounded(1, 1000);
    scene.put('a', 'x', 1);
    scene.turn();
    scene.deliver('entries', 'b');
    scene.deliver('ack', 'a');
    scene.deliver('entries', 'b');
    expect(scene.drop(({ message }) => message.type === 'ack')).toBe(1);
    const write = scene.put('a', 'x', 2, { ms: 60_000 });
    scene.pass(10_000);
    expect(outcome(write)).toBe('200');
  });

  test('a reader is never older than T: grants are shortened', () => {
    const scene = bounded(1000, 5);
    scene.copy('a').grantMs = 60_000;
    scene.put('a', 'x', 1);
    scene.settle();
    expect(shown(scene.read('b', 'x', 'BoundedStaleness'))).toBe('waits');
    scene.pass(200);
    expect(shown(scene.read('b', 'x', 'BoundedStaleness'))).toBe(1);
    // The next write is on b's disk, but b does not hear that it is committed.
    scene.pass(3000);
    scene.put('a', 'x', 2);
    const writtenAt = scene.host.now();
    scene.turn();
    scene.deliver('entries', 'b');
    scene.deliver('ack', 'a');
    scene.drop(({ message }) => message.type === 'entries');
    let lastStale = 0;
    for (let count = 0; count < 90; count += 1) {
      scene.pass(100, { delivering: false });
      for (const ask of scene.wire.filter(
        ({ message }) => message.type === 'ask' || message.type === 'grant',
      ))
        scene.give(ask);
      for (const grant of scene.wire.filter(({ message }) => message.type === 'grant')) scene.give(grant);
      scene.drop();
      const read = scene.read('b', 'x', 'BoundedStaleness', { ms: 1 });
      if (shown(read) === 1) lastStale = scene.host.now();
    }
    expect(lastStale).toBeGreaterThan(writtenAt + 2000);
    expect(lastStale - writtenAt).toBeLessThanOrEqual(5000);
  });

  test('what was taken over is not taken for new: no grant before the reader knows it to be committed', () => {
    const scene = new PartitionScene({
      consistency: { level: 'BoundedStaleness', staleness: { writes: 100, seconds: 5 } },
    });
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.turn();
    for (const region of ['b', 'c']) scene.deliver('entries', region);
    scene.drop();
    scene.crash('a');
    scene.pass(60_000);
    expect(gclsn(scene, 'c')).toBe(0);
    scene.copy('b').grantMs = 60_000;
    scene.lead('b', 2, { commitSet: ['b', 'c'] });
    scene.follow('c', 2, 'b');
    for (let count = 0; count < 40; count += 1) {
      scene.pass(100, { delivering: false });
      const read = scene.read('c', 'x', 'BoundedStaleness', { ms: 1 });
      expect(shown(read)).toBe('waits');
      scene.drop(({ message }) => message.type === 'entries');
      while (scene.wire.length > 0) scene.give(scene.wire.shift()!);
      scene.turn();
    }
    scene.pass(10_000);
    scene.read('c', 'x', 'BoundedStaleness');
    scene.pass(300);
    expect(shown(scene.read('c', 'x', 'BoundedStaleness'))).toBe(1);
  });
});

describe('quiescing', () => {
  test('is done when nothing is under way and everything is on disk', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    expect(scene.machine('a').status().quiesced).toBe(false);
    scene.copy('a').holdDisk();
    scene.cut('a', 'c');
    const write = scene.put('a', 'x', 1);
    scene.settle();
    scene.lead('a', 1, { accepts: false });
    expect(outcome(scene.put('a', 'y', 1))).toBe('NOT_WRITER');
    expect(scene.machine('a').status().quiesced).toBe(false);
    scene.mend('a', 'c');
    scene.settle();
    expect(outcome(write)).toBe('waits');
    expect(scene.machine('a').status().quiesced).toBe(false);
    scene.copy('a').changes.length = 0;
    scene.copy('a').releaseDisk();
    scene.settle();
    expect(outcome(write)).toBe('201');
    expect(scene.machine('a').status()).toMatchObject({ quiesced: true, progress: { lsn: 1 } });
    expect(scene.copy('a').changes).toContain('at once');
  });

  test('waits for commits while they wait for another region', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    scene.put('a', 'x', 1);
    scene.settle();
    scene.lead('a', 1, { accepts: false });
    scene.settle();
    expect(scene.machine('a').status().quiesced).toBe(false);
    scene.mend('a', 'c');
    scene.settle();
    expect(scene.machine('a').status().quiesced).toBe(true);
  });

  test('writes that are held back are refused then, and nothing more comes into the log', () => {
    const scene = new PartitionScene({
      regions: ['a', 'b'],
      consistency: { level: 'BoundedStaleness', staleness: { writes: 1, seconds: 100 } },
    });
    scene.reign('a', 1);
    scene.cut('a', 'b');
    scene.put('a', 'x', 1);
    const held = scene.put('a', 'x', 2);
    scene.settle();
    scene.lead('a', 1, { accepts: false });
    expect(outcome(held)).toBe('NOT_WRITER');
    scene.mend('a', 'b');
    scene.settle();
    expect(scene.store('a').tail.lsn).toBe(1);
  });

  test('waits for the disk also when nobody waits for an answer any more', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').holdDisk();
    const write = scene.put('a', 'x', 1, { ms: 100 });
    scene.pass(300);
    expect(outcome(write)).toBe('unknown');
    scene.lead('a', 1, { accepts: false });
    expect(scene.machine('a').status().quiesced).toBe(false);
    scene.copy('a').releaseDisk();
    scene.settle();
    expect(scene.machine('a').status()).toMatchObject({ quiesced: true, progress: { lsn: 1 } });
  });

  test('ends when writes are taken again', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.lead('a', 1, { accepts: false });
    scene.settle();
    expect(scene.machine('a').status().quiesced).toBe(true);
    scene.lead('a', 1);
    expect(scene.machine('a').status().quiesced).toBe(false);
    const write = scene.put('a', 'x', 1);
    scene.settle();
    expect(outcome(write)).toBe('201');
  });
});
