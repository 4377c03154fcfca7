/** A writer that restarts knows only its disk, and a disk may come back older than it was. It welcomes nobody before it has recovered. */
import { beforeEach, describe, expect, test } from 'vitest';
import { outcome, PartitionScene, shown } from '../../../../test/engine/partition-scene.ts';
import { RECOVERY_PATIENCE_MS } from './recovery.ts';

let scene: PartitionScene;

function putAll(region: string, ...ids: string[]): void {
  for (const id of ids) {
    const write = scene.put(region, id, id);
    scene.settle();
    expect(outcome(write)).toMatch(/20[01]/);
  }
}

/** Restarts as the writer, on the disk that it had before. */
function comeBack(region: string, leaseSet = scene.regions, gcn = 1): void {
  scene.start(region);
  scene.lead(region, gcn, { leaseSet });
}

function events(region: string): readonly string[] {
  return scene.copy(region).events.map(({ event }) => event);
}

beforeEach(() => {
  scene = new PartitionScene();
  scene.reign('a', 1);
  putAll('a', 'x');
});

describe('a writer whose disk came back older', () => {
  beforeEach(() => {
    const image = scene.image('a');
    putAll('a', 'y', 'z');
    scene.rollBack('a', image);
  });

  test('takes over what the others have before it welcomes anybody', () => {
    comeBack('a');
    scene.settle();
    putAll('a', 'w');
    for (const region of scene.regions) {
      expect(scene.log(region)).toEqual(['1.1/1', '1.1/2', '1.1/3', '1.2/4']);
      expect(events(region)).not.toContain('undone');
    }
    expect(scene.documents('a')).toEqual({ x: 'x', y: 'y', z: 'z', w: 'w' });
    expect(scene.copy('a').events).toContainEqual({ event: 'recovered', count: 2 });
  });

  test('counts nothing that it took over before that is on its own disk', () => {
    scene.start('a');
    scene.lead('a', 1, { leaseSet: scene.regions });
    for (const region of ['b', 'c']) {
      scene.deliver('survey', region);
      scene.deliver('standing', 'a');
    }
    scene.deliver('fetch');
    scene.copy('a').holdDisk();
    scene.deliver('fetched');
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
    expect(scene.machine('a').status()).toMatchObject({ recovering: true, progress: { lsn: 1 } });
    scene.copy('a').releaseDisk();
    scene.settle();
    const status = scene.machine('a').status();
    expect(status).toMatchObject({ progress: { lsn: 3 } });
    expect(status.recovering).toBeUndefined();
  });

  test('knows again what was committed', () => {
    comeBack('a');
    scene.settle();
    const read = scene.read('a', 'z');
    scene.settle();
    expect(shown(read)).toBe('z');
  });

  test('needs one answer of the lease set, and waits for the others only so long', () => {
    scene.cut('a', 'b');
    comeBack('a');
    scene.settle();
    expect(scene.machine('a').reign).toBeUndefined();
    scene.pass(RECOVERY_PATIENCE_MS);
    expect(scene.machine('a').reign).toBeDefined();
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
  });

  test('goes on with nobody’s answer only when it is told that there is nobody else', () => {
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    comeBack('a');
    scene.pass(60_000);
    expect(scene.machine('a').reign).toBeUndefined();
    expect(scene.machine('a').status()).toMatchObject({ recovering: true, quiesced: false });
    expect(events('a')).toEqual([]);
    scene.lead('a', 1, { leaseSet: ['a'] });
    expect(scene.machine('a').reign).toBeDefined();
    expect(scene.machine('a').status().recovering).toBeUndefined();
    expect(scene.copy('a').events).toEqual([{ event: 'unconfirmed', asked: ['b', 'c'] }]);
  });

  test('asks again whoever could not be reached', () => {
    scene.cut('a', 'b');
    scene.cut('a', 'c');
    comeBack('a');
    scene.pass(3000);
    scene.mend('a', 'c');
    scene.pass(1000);
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
    expect(scene.machine('a').reign).toBeDefined();
  });

  test('asks again what got lost, and takes nothing twice', () => {
    comeBack('a');
    scene.turn();
    scene.drop();
    scene.pass(250);
    scene.drop();
    scene.pass(5000);
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
  });

  test('takes the rest from another when the one that has more goes away', () => {
    comeBack('a');
    for (const region of ['b', 'c']) {
      scene.deliver('survey', region);
      scene.deliver('standing', 'a');
    }
    const { to } = scene.take(({ message }) => message.type === 'fetch');
    scene.cut('a', to);
    scene.pass(2000);
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
    expect(scene.machine('a').reign).toBeDefined();
  });

  test('lets writes wait meanwhile', () => {
    scene.start('a');
    scene.lead('a', 1, { leaseSet: scene.regions });
    const write = scene.put('a', 'w', 1);
    expect(outcome(write)).toBe('waits');
    scene.settle();
    expect(outcome(write)).toBe('201');
    expect(scene.log('c').at(-1)).toBe('1.2/4');
  });

  test('does not believe a region outside the lease set that it has everything', () => {
    scene.cut('a', 'b');
    scene.start('a');
    scene.lead('a', 1, { leaseSet: ['a', 'b'] });
    scene.pass(10_000);
    expect(scene.machine('a').reign).toBeUndefined();
    scene.mend('a', 'b');
    scene.settle();
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
  });

  test('and counts nothing in the place of what it undoes before that is on its own disk', () => {
    comeBack('a');
    scene.settle();
    for (const region of ['b', 'c']) scene.cut('a', region);
    scene.put('a', 'false', 'progress');
    scene.turn();
    scene.crash('a');
    for (const region of ['b', 'c']) scene.mend('a', region);
    scene.reign('b', 2, ['b', 'c']);
    putAll('b', 'v', 'w');
    scene.start('a');
    scene.lead('a', 3, { leaseSet: scene.regions });
    for (const region of ['b', 'c']) {
      scene.fence(region, 3);
      scene.deliver('survey', region);
      scene.deliver('standing', 'a');
    }
    scene.copy('a').holdDisk();
    scene.deliver('fetch');
    scene.deliver('fetched');
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3', '2.1/4', '2.1/5']);
    expect(scene.machine('a').status()).toMatchObject({ recovering: true, progress: { lsn: 3 } });
  });

  test('that is elected in the next GCN recovers as well', () => {
    scene.start('a');
    scene.fence('a', 2);
    scene.lead('a', 2, { leaseSet: ['a', 'c'], commitSet: ['a', 'c'] });
    for (const region of ['b', 'c']) scene.follow(region, 2, 'a');
    scene.settle();
    putAll('a', 'w');
    expect(scene.log('c')).toEqual(['1.1/1', '1.1/2', '1.1/3', '2.2/4']);
  });

  test('that follows another writer has what that one has, and needs no recovery later', () => {
    scene.start('a');
    expect(scene.machine('a').status().recovering).toBe(true);
    for (const region of ['a', 'c']) scene.follow(region, 2, 'b');
    scene.lead('b', 2);
    scene.settle();
    expect(scene.machine('a').status().recovering).toBeUndefined();
    scene.lead('a', 3, { commitSet: ['a'] });
    expect(scene.machine('a').reign).toBeDefined();
  });

  test('and whose log cannot be continued is built anew', () => {
    putAllDirect('b', 'c');
    comeBack('a');
    scene.settle();
    expect(scene.machine('a').reign).toBeUndefined();
    expect(scene.machine('a').status().build).toBe('Building');
    expect(scene.copy('a').changes).toContain('at once');
  });

  test('and which cannot undo its damaged end lists what it can read of that once, when it is built anew', () => {
    scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1);
    putAll('a', 'x');
    for (const other of ['b', 'c']) scene.cut('a', other);
    putAll('a', 'y', 'z');
    scene.copy('a').damage(3);
    scene.reign('b', 2, ['b', 'c']);
    putAll('b', 'w');
    scene.restart('a');
    for (const other of ['b', 'c']) scene.mend('a', other);
    scene.reign('a', 3);
    expect(scene.machine('a').status().build).toBe('Building');
    expect(events('a')).toEqual([]);
    scene.reign('b', 4);
    expect(scene.log('a')).toEqual(scene.log('b'));
    expect([...scene.store('a').undone()].map(({ entry }) => entry.lsn)).toEqual([2]);
    expect(scene.copy('a').events).toEqual([
      { event: 'undone', count: 2, after: 1, committed: true },
      { event: 'unlisted', count: 1 },
    ]);
  });

  /** Their logs begin behind the end of the writer's. */
  function putAllDirect(...regions: string[]): void {
    for (const region of regions) scene.store(region).trim(3);
    for (const region of regions) scene.store(region).sync(() => {});
    scene.turn();
  }
});

describe('a writer that restarts', () => {
  test('goes on when its own log is the longest', () => {
    scene.restart('a');
    scene.lead('a', 1);
    scene.settle();
    putAll('a', 'y');
    expect(scene.log('b')).toEqual(['1.1/1', '1.2/2']);
    expect(events('a')).toEqual([]);
  });

  test.each([0, 1])(
    'welcomes nobody while it is being built, and says so: after %i processes',
    (incarnation) => {
      scene.rollBack('a');
      scene.store('a').note({ incarnation, building: true });
      scene.start('a');
      const asked = scene.lead('a', 1);
      // Before the readers could tell it what it lacks.
      expect(scene.machine('a').reign).toBeUndefined();
      scene.pass(5000);
      expect(asked.answer).toBe('done');
      expect(scene.machine('a').reign).toBeUndefined();
      expect(scene.log('b')).toEqual(['1.1/1']);
      expect(scene.log('c')).toEqual(['1.1/1']);
      expect(scene.machine('a').status()).toMatchObject({ build: 'Building' });
      expect(outcome(scene.put('a', 'y', 1))).toBe('NOT_WRITER');
    },
  );

  test('finds that the others have lost their data, and has the only copy', () => {
    for (const region of ['b', 'c']) {
      scene.rollBack(region);
      scene.store(region).note({ incarnation: 1, building: true });
      scene.start(region);
      scene.follow(region, 1, 'a');
    }
    scene.restart('a');
    scene.lead('a', 1);
    scene.settle();
    putAll('a', 'y');
    for (const region of scene.regions) expect(scene.documents(region)).toEqual({ x: 'x', y: 'y' });
  });

  test('waits for all where commits wait for nobody, until it is told that there is nobody else', () => {
    scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1);
    putAll('a', 'x');
    const image = scene.image('a');
    putAll('a', 'y');
    scene.rollBack('a', image);
    for (const other of ['b', 'c']) scene.cut('a', other);
    comeBack('a');
    scene.pass(60_000);
    expect(scene.machine('a').reign).toBeUndefined();
    // Its links come back late, one after the other.
    scene.mend('a', 'b');
    scene.pass(60_000);
    expect(scene.machine('a').reign).toBeUndefined();
    scene.lead('a', 1, { leaseSet: ['a'] });
    scene.settle();
    expect(scene.machine('a').reign).toBeDefined();
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2']);
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2']);
  });

  test('says that nobody could tell it what is committed, if those who answer have lost their data', () => {
    for (const region of ['b', 'c']) {
      scene.rollBack(region);
      scene.store(region).note({ incarnation: 1, building: true });
      scene.start(region);
    }
    comeBack('a');
    for (const region of ['b', 'c']) scene.fence(region, 1);
    scene.pass(1000);
    expect(scene.machine('a').reign).toBeDefined();
    expect(scene.copy('a').events).toEqual([{ event: 'unconfirmed', asked: ['b', 'c'] }]);
  });

  test('is alone: nobody is asked', () => {
    scene = new PartitionScene({ regions: ['a'] });
    scene.reign('a', 1);
    putAll('a', 'x');
    scene.restart('a');
    scene.lead('a', 1);
    putAll('a', 'y');
    expect(scene.log('a')).toEqual(['1.1/1', '1.2/2']);
    expect(events('a')).toEqual([]);
  });
});

describe('at Strong what is known to be committed', () => {
  /** The writer goes on without what it lost, as a writer that does not recover would. */
  function forget(): void {
    const image = scene.image('a');
    putAll('a', 'y');
    scene.rollBack('a', image);
    scene.start('a');
    scene.lead('a', 1, { leaseSet: ['a'], commitSet: scene.regions });
    scene.settle();
  }

  test('is not thrown away: that writer is refused, and reported', () => {
    forget();
    scene.pass(10_000);
    for (const region of ['b', 'c']) {
      expect(scene.log(region)).toEqual(['1.1/1', '1.1/2']);
      expect(events(region)).toEqual(['refused']);
      expect(scene.machine(region).following!.isRefusing).toBe(true);
    }
  });

  test('tells the writer, which gives up so that another one is elected', () => {
    forget();
    expect(events('a')).toContain('short');
    expect(scene.machine('a').reign).toBeUndefined();
    expect(scene.machine('a').status()).toMatchObject({ canCommit: false, recovering: true });
    scene.reign('b', 2);
    putAll('b', 'z');
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '2.1/3']);
    expect(scene.machine('a').status()).toMatchObject({ canCommit: true });
    expect(scene.machine('c').following!.isRefusing).toBe(false);
  });

  test('is not given up for a region that commits do not wait for', () => {
    const image = scene.image('a');
    putAll('a', 'y');
    scene.rollBack('a', image);
    scene.start('a');
    scene.lead('a', 1, { leaseSet: ['a'], commitSet: ['a'] });
    scene.settle();
    expect(events('a')).toContain('short');
    putAll('a', 'z');
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2']);
  });

  test('is undone when its loss was accepted, and what came later is not', () => {
    const [image, before] = [scene.image('c'), scene.store('a').tail.lsn];
    putAll('a', 'y');
    scene.rollBack('c', image);
    scene.start('c');
    scene.lead('c', 2, { leaseSet: ['c'], commitSet: ['c'] });
    for (const region of ['a', 'b']) scene.follow(region, 2, 'c', { sureFrom: 2 });
    scene.settle();
    expect(scene.log('a')).toEqual(scene.log('c'));
    expect(scene.copy('a').events).toContainEqual({
      event: 'undone',
      count: 1,
      after: before,
      committed: true,
    });
    scene.lead('c', 2);
    putAll('c', 'z');
    scene.rollBack('c', image);
    scene.start('c');
    scene.lead('c', 3, { leaseSet: ['c'] });
    scene.follow('a', 3, 'c', { sureFrom: 2 });
    scene.settle();
    expect(scene.log('a').at(-1)).toBe('2.2/2');
    expect(events('a')).toContain('refused');
  });
});
