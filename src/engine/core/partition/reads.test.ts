/** What clients are shown, where, and at which consistency level. */
import { describe, expect, test } from 'vitest';
import { create, PartitionScene, shown } from '../../../../test/engine/partition-scene.ts';
import { epochOf } from '../model.ts';
import type { ReadLevel } from './answers.ts';

const LEVELS: readonly ReadLevel[] = [
  'Strong',
  'BoundedStaleness',
  'Session',
  'ConsistentPrefix',
  'Eventual',
];
const WEAK = LEVELS.slice(2);

/** x=1 is committed everywhere; x=2 is in the logs of a and b and waits for c. */
function oneWaits(): PartitionScene {
  const scene = new PartitionScene();
  scene.reign('a', 1);
  scene.put('a', 'x', 1);
  scene.settle();
  scene.cut('a', 'c');
  scene.put('a', 'x', 2);
  scene.settle();
  return scene;
}

describe('at the writer', () => {
  test.each(LEVELS)('%s shows what is committed', (level) => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    const read = scene.read('a', 'x', level);
    expect(shown(read)).toBe(1);
    expect(read.answer).toMatchObject({ position: { epoch: epochOf(1, 1), lsn: 1 } });
    expect(shown(scene.read('a', 'none', level))).toBe(undefined);
  });

  test('Strong waits while a newer version of the document is under way', () => {
    const scene = oneWaits();
    const [x, other] = [scene.read('a', 'x'), scene.read('a', 'other')];
    expect([shown(x), shown(other)]).toEqual(['waits', undefined]);
    scene.mend('a', 'c');
    scene.settle();
    expect(shown(x)).toBe(2);
  });

  test.each(LEVELS.slice(1))('%s shows the version before', (level) => {
    expect(shown(oneWaits().read('a', 'x', level))).toBe(1);
  });

  test('nothing is shown strongly without a lease', () => {
    const scene = oneWaits();
    const waiting = scene.read('a', 'x');
    scene.copy('a').mayWrite = false;
    expect(LEVELS.map((level) => shown(scene.read('a', 'x', level)))).toEqual([
      'NOT_READY',
      'NOT_READY',
      1,
      1,
      1,
    ]);
    scene.mend('a', 'c');
    scene.settle();
    expect(shown(waiting)).toBe('NOT_READY');
  });

  test('a read that waits too long says why', () => {
    const scene = oneWaits();
    const read = scene.read('a', 'x', 'Strong', { ms: 300 });
    scene.pass(250);
    expect(shown(read)).toBe('waits');
    scene.pass(200);
    expect(shown(read)).toBe('NOT_READY');
  });
});

test('a read that waits ends at its deadline also while the partition is busy', () => {
  const scene = new PartitionScene();
  scene.reign('a', 1);
  const session = { epoch: epochOf(1, 1), lsn: 1000 };
  const read = scene.read('b', 'x', 'Session', { session, ms: 300 });
  for (let count = 0; count < 20; count += 1) {
    scene.put('a', 'x', count);
    scene.pass(50);
  }
  expect(shown(read)).toBe('SESSION_AHEAD');
});

describe('versions that are not committed', () => {
  test('of a new document, of a deletion, of one that was deleted and made again', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    for (const id of ['deleted', 'again', 'twice']) scene.put('a', id, 'old');
    scene.remove('a', 'twice');
    scene.settle();
    scene.cut('a', 'c');
    scene.put('a', 'new', 1);
    scene.remove('a', 'deleted');
    scene.remove('a', 'again');
    scene.put('a', 'again', 'remade');
    scene.put('a', 'twice', 'remade');
    scene.settle();
    const ids = ['new', 'deleted', 'again', 'twice'];
    for (const region of ['a', 'b'])
      expect(ids.map((id) => shown(scene.read(region, id, 'Eventual')))).toEqual([
        undefined,
        'old',
        'old',
        undefined,
      ]);
    const strong = ids.map((id) => scene.read('a', id));
    expect(strong.map(shown)).toEqual(['waits', 'waits', 'waits', 'waits']);
    scene.mend('a', 'c');
    scene.settle();
    expect(strong.map(shown)).toEqual([1, undefined, 'remade', 'remade']);
    expect(ids.map((id) => shown(scene.read('c', id, 'Eventual')))).toEqual([
      1,
      undefined,
      'remade',
      'remade',
    ]);
  });

  test('a document that was made again has a new creation', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.remove('a', 'x');
    scene.put('a', 'x', 2);
    scene.put('a', 'x', 3);
    scene.settle();
    expect(scene.read('b', 'x', 'Eventual').answer).toMatchObject({ version: { lsn: 4, createdLsn: 3 } });
  });

  test('the version before is there also when it lies below the log', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    for (const value of [1, 2, 3]) scene.put('a', 'x', value);
    scene.put('a', 'gone', 1);
    scene.remove('a', 'gone');
    scene.settle();
    scene.store('a').trim(5);
    scene.cut('a', 'c');
    scene.put('a', 'x', 4);
    scene.put('a', 'gone', 2);
    scene.settle();
    expect(['x', 'gone'].map((id) => shown(scene.read('a', id, 'Eventual')))).toEqual([3, undefined]);
  });
});

describe('at a reader', () => {
  test('weak levels show what it knows to be committed', () => {
    const scene = oneWaits();
    expect(WEAK.map((level) => shown(scene.read('b', 'x', level)))).toEqual([1, 1, 1]);
    scene.mend('a', 'c');
    scene.settle();
    expect(WEAK.map((level) => shown(scene.read('b', 'x', level)))).toEqual([2, 2, 2]);
  });

  test('strong levels wait for a grant, which it asks for', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    const reads = [scene.read('b', 'x', 'Strong'), scene.read('b', 'x', 'BoundedStaleness')];
    scene.pass(500);
    expect(reads.map(shown)).toEqual(['waits', 'waits']);
    scene.copy('a').grantMs = 1000;
    scene.pass(200);
    expect(reads.map(shown)).toEqual([1, 1]);
  });

  test('a grant counts from when it was asked for (rule 15)', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 1000;
    const early = scene.read('b', 'x');
    const ask = scene.take(({ message }) => message.type === 'ask');
    scene.host.run(900);
    scene.give(ask);
    scene.deliver('grant', 'b');
    expect(shown(early)).toBe(undefined);
    expect(early.answer).toBeDefined();
    scene.host.run(999);
    expect(scene.read('b', 'x').answer).toMatchObject({ outcome: 'done' });
    scene.host.run(1000);
    expect(scene.read('b', 'x').answer).toBeUndefined();
  });

  test('a reader that is about to stop uses its grant no more, and asks for none (rule 22)', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 1000;
    scene.put('a', 'x', 1);
    const granted = scene.read('b', 'x');
    scene.settle();
    expect(shown(granted)).toBe(1);
    scene.copy('b').isStopping = true;
    expect(shown(scene.read('b', 'x'))).toBe('NOT_READY');
    expect(shown(scene.read('b', 'x', 'Session'))).toBe(1);
    scene.host.run(900);
    expect(shown(scene.read('b', 'x'))).toBe('NOT_READY');
    scene.put('a', 'x', 2);
    scene.settle();
    expect(shown(scene.read('b', 'x', 'Eventual'))).toBe(2);
  });

  test('a grant that comes twice, or for another question, gives nothing', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 1000;
    scene.read('b', 'x');
    scene.deliver('ask', 'a');
    const grant = scene.take(({ message }) => message.type === 'grant');
    scene.give(grant);
    scene.host.run(950);
    scene.read('b', 'x');
    scene.drop();
    scene.give(grant);
    scene.host.run(1001);
    expect(scene.read('b', 'x').answer).toBeUndefined();
  });

  test('a grant that is used is renewed before it ends', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 1000;
    scene.read('b', 'x');
    scene.pass(100);
    for (let count = 0; count < 100; count += 1) {
      scene.pass(100);
      expect(scene.read('b', 'x').answer).toMatchObject({ outcome: 'done' });
    }
  });

  test('a writer without a lease grants nothing', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 1000;
    scene.copy('a').mayWrite = false;
    const read = scene.read('b', 'x');
    scene.pass(500);
    expect(shown(read)).toBe('waits');
  });

  test('Strong with a grant waits while a newer version is known and not committed', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 100_000;
    scene.put('a', 'x', 1);
    scene.read('b', 'x');
    scene.pass(100);
    expect(shown(scene.read('b', 'x'))).toBe(1);
    scene.cut('a', 'c');
    scene.put('a', 'x', 2);
    scene.settle();
    const read = scene.read('b', 'x');
    expect([shown(read), shown(scene.read('b', 'x', 'BoundedStaleness'))]).toEqual(['waits', 1]);
    scene.mend('a', 'c');
    scene.settle();
    expect(shown(read)).toBe(2);
  });

  test('a grant is over when it is fenced, and in the next GCN', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 100_000;
    scene.read('b', 'x');
    scene.pass(100);
    expect(scene.read('b', 'x').answer).toMatchObject({ outcome: 'done' });
    scene.fence('b', 2);
    expect(shown(scene.read('b', 'x'))).toBe('NOT_READY');
    scene.follow('b', 2, 'c');
    expect(shown(scene.read('b', 'x'))).toBe('waits');
  });

  test('a process that stood still has lost its grant, and what it had asked for', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 100_000;
    scene.read('b', 'x');
    scene.pass(100);
    scene.machine('b').suspended();
    scene.copy('a').grantMs = 0;
    expect(shown(scene.read('b', 'x'))).toBe('waits');
    scene.copy('a').grantMs = 100_000;
    scene.pass(100, { delivering: false });
    scene.drop(({ message }) => message.type !== 'ask');
    scene.settle();
    scene.machine('b').suspended();
    const late = scene.read('b', 'x');
    scene.turn();
    expect(shown(late)).toBe('waits');
    scene.pass(300);
    expect(late.answer).toMatchObject({ outcome: 'done' });
  });

  test('an answer to what was asked before standing still counts for nothing', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.copy('a').grantMs = 100_000;
    scene.read('b', 'x');
    scene.deliver('ask', 'a');
    scene.machine('b').suspended();
    scene.deliver('grant', 'b');
    expect(scene.machine('b').following!.mayRead('Strong', scene.host.now())).toBe(false);
  });
});

describe('where it is fenced', () => {
  test('nothing is shown strongly (rule 7); weak levels are', () => {
    const scene = oneWaits();
    scene.fence('b', 2);
    expect(LEVELS.map((level) => shown(scene.read('b', 'x', level)))).toEqual([
      'NOT_READY',
      'NOT_READY',
      1,
      1,
      1,
    ]);
  });

  test('reads that waited strongly are refused', () => {
    const scene = oneWaits();
    const read = scene.read('a', 'x');
    scene.fence('a', 2);
    expect(shown(read)).toBe('NOT_READY');
  });
});

describe('a session', () => {
  test('that is ahead of the copy waits for it', () => {
    const scene = oneWaits();
    const session = { epoch: epochOf(1, 1), lsn: 2 };
    const reads = ['a', 'b', 'c'].map((region) => scene.read(region, 'x', 'Session', { session }));
    expect(reads.map(shown)).toEqual(['waits', 'waits', 'waits']);
    expect(shown(scene.read('c', 'x', 'Eventual', { session }))).toBe(1);
    scene.mend('a', 'c');
    scene.settle();
    expect(reads.map(shown)).toEqual([2, 2, 2]);
  });

  test('that is ahead until the deadline is told so', () => {
    const scene = oneWaits();
    const read = scene.read('c', 'x', 'Session', { session: { epoch: epochOf(1, 1), lsn: 2 }, ms: 200 });
    scene.pass(400);
    expect(shown(read)).toBe('SESSION_AHEAD');
  });

  test('begins anywhere', () => {
    const scene = oneWaits();
    expect(shown(scene.read('c', 'x', 'Session', { session: { epoch: 0, lsn: 0 } }))).toBe(1);
  });

  /** a has acknowledged x=2 and x=3 alone and knows of nothing; b leads GCN 2 without them. */
  function undone(): PartitionScene {
    const scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    scene.put('a', 'x', 2);
    scene.put('a', 'x', 3);
    scene.lead('b', 2);
    scene.follow('c', 2, 'b');
    scene.settle();
    return scene;
  }

  test('whose writes were undone is told so, at the writer and at a reader', () => {
    const scene = undone();
    scene.put('b', 'y', 1);
    scene.settle();
    const session = { epoch: epochOf(1, 1), lsn: 2 };
    for (const region of ['b', 'c'])
      expect(shown(scene.read(region, 'x', 'Session', { session }))).toBe('SESSION_UNDONE');
    expect(shown(scene.read('b', 'x', 'Session', { session: { epoch: epochOf(1, 1), lsn: 1 } }))).toBe(1);
  });

  test('is told so at the writer also when it had got further than the log is', () => {
    const scene = undone();
    const session = { epoch: epochOf(1, 1), lsn: 3 };
    expect(shown(scene.read('b', 'x', 'Session', { session }))).toBe('SESSION_UNDONE');
  });

  test('of a newer epoch waits at a copy that does not know of it', () => {
    const scene = undone();
    scene.put('b', 'y', 1);
    scene.settle();
    const session = { epoch: epochOf(2, 1), lsn: 2 };
    const read = scene.read('a', 'x', 'Session', { session });
    expect(shown(read)).toBe('waits');
    scene.follow('a', 2, 'b');
    scene.mend('a', 'b');
    scene.settle();
    expect(shown(read)).toBe(1);
  });

  test('of a newer epoch is not told at the old writer that it was undone', () => {
    const scene = undone();
    scene.put('b', 'y', 1);
    scene.settle();
    const read = scene.read('a', 'x', 'Session', { session: { epoch: epochOf(2, 1), lsn: 2 }, ms: 100 });
    scene.pass(300);
    expect(shown(read)).toBe('SESSION_AHEAD');
  });

  test('of an old branch is served where that branch still is', () => {
    const scene = undone();
    expect(shown(scene.read('a', 'x', 'Session', { session: { epoch: epochOf(1, 1), lsn: 3 } }))).toBe(3);
  });
});

describe('a batch', () => {
  test('is seen as a whole or not at all', () => {
    const scene = new PartitionScene();
    scene.reign('a', 1);
    scene.cut('a', 'c');
    scene.write('a', [create('x', 1), create('y', 1)]);
    scene.settle();
    expect(['x', 'y'].map((id) => shown(scene.read('b', id, 'Eventual')))).toEqual([undefined, undefined]);
    scene.mend('a', 'c');
    scene.settle();
    expect(['x', 'y'].map((id) => shown(scene.read('b', id, 'Eventual')))).toEqual([1, 1]);
  });
});

test('a request may ask for a weaker level than the account has, not for a stronger one', () => {
  for (const [at, account] of LEVELS.entries()) {
    const staleness = { writes: 100, seconds: 60 };
    const own = new PartitionScene({ regions: ['a'], consistency: { level: account, staleness } });
    own.reign('a', 1);
    own.put('a', 'x', 1);
    own.settle();
    const answers = LEVELS.map((level) => own.read('a', 'x', level).answer);
    for (const answer of answers.slice(0, at)) expect(answer).toMatchObject({ code: 'LEVEL_TOO_STRONG' });
    for (const answer of answers.slice(at)) expect(answer).toMatchObject({ outcome: 'done' });
  }
});
