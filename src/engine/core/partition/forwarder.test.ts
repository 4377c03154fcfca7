/** How the log gets to the readers: windows, what is sent again, how a reader is doing, and a log that is trimmed under it. */
import { describe, expect, test } from 'vitest';
import {
  outcome,
  PartitionScene,
  type PartitionSceneOptions,
  upsert,
} from '../../../../test/engine/partition-scene.ts';
import { sizeOf } from '../model.ts';

const LIMITS = { windowBytes: 1000, messageBytes: 400, resendMs: 1000 };

/** Two regions, a writes; b has not asked for anything yet. */
function sceneWith(writes: number, options: PartitionSceneOptions = {}): PartitionScene {
  const scene = new PartitionScene({ regions: ['a', 'b'], forwarder: LIMITS, ...options });
  scene.lead('a', 1, { commitSet: ['a'] });
  for (let count = 1; count <= writes; count += 1) scene.put('a', `id${count}`, count);
  scene.settle();
  return scene;
}

function bytesOnTheWay(scene: PartitionScene): number {
  return scene
    .sent('entries', 'b')
    .flatMap(({ entries }) => entries)
    .reduce((sum, entry) => sum + sizeOf(entry), 0);
}

describe('the window', () => {
  test('bounds what is not on disk there, to one message more', () => {
    const scene = sceneWith(40);
    const largest = LIMITS.messageBytes;
    scene.follow('b', 1, 'a');
    scene.turn();
    let most = 0;
    for (let count = 0; scene.wire.length > 0 && count < 1000; count += 1) {
      most = Math.max(most, bytesOnTheWay(scene));
      scene.give(scene.wire.shift()!);
      scene.turn();
    }
    expect(scene.log('b')).toHaveLength(40);
    expect(most).toBeGreaterThan(LIMITS.windowBytes - largest);
    expect(most).toBeLessThanOrEqual(LIMITS.windowBytes + largest);
  });

  test('counts what the reader has taken and not yet on disk', () => {
    const scene = sceneWith(40);
    scene.follow('b', 1, 'a');
    scene.settle();
    expect(scene.log('b')).toHaveLength(40);
    scene.copy('b').holdDisk();
    for (let count = 0; count < 40; count += 1) scene.put('a', 'more', count);
    scene.settle();
    const taken = scene.store('b').entriesAfter(40, Infinity);
    const bytes = taken.reduce((sum, entry) => sum + sizeOf(entry), 0);
    expect(taken.length).toBeLessThan(40);
    expect(bytes).toBeLessThanOrEqual(LIMITS.windowBytes + LIMITS.messageBytes);
    scene.copy('b').releaseDisk();
    scene.settle();
    expect(scene.log('b')).toHaveLength(80);
  });

  test('is not used while the link takes no more, and goes on when it does', () => {
    const scene = sceneWith(0);
    scene.follow('b', 1, 'a');
    scene.settle();
    scene.copy('a').full.add('b');
    scene.put('a', 'x', 1);
    scene.settle();
    expect(scene.log('b')).toEqual([]);
    scene.copy('a').full.delete('b');
    scene.machine('a').linkReady('b');
    scene.settle();
    expect(scene.log('b')).toEqual(['1.1/1']);
  });

  test('a gap is closed without sending everything for each message behind it', () => {
    const scene = sceneWith(0, { forwarder: { ...LIMITS, messageBytes: 1, windowBytes: 100_000 } });
    scene.follow('b', 1, 'a');
    scene.settle();
    for (let count = 0; count < 20; count += 1) scene.put('a', `id${count}`, count);
    scene.turn();
    scene.take(({ message }) => message.type === 'entries');
    let sent = 0;
    while (scene.wire.length > 0) {
      sent += scene.wire[0]!.message.type === 'entries' ? 1 : 0;
      scene.give(scene.wire.shift()!);
      scene.turn();
    }
    expect(scene.log('b')).toHaveLength(20);
    expect(sent).toBeLessThan(100);
  });
});

test('a reader that catches up knows no more to be committed than it has', () => {
  const scene = sceneWith(20);
  scene.follow('b', 1, 'a');
  scene.turn();
  const seen = new Set<number>();
  while (scene.wire.length > 0) {
    scene.give(scene.wire.shift()!);
    scene.turn();
    const { notes, tail } = scene.store('b');
    expect(notes.gclsn).toBe(tail.lsn);
    seen.add(tail.lsn);
  }
  expect(seen.size).toBeGreaterThan(3);
});

test('a question that was overtaken does not keep a reader from being served', () => {
  const scene = sceneWith(1);
  scene.follow('b', 1, 'a');
  const old = scene.take(({ message }) => message.type === 'follow');
  scene.pass(1000);
  expect(scene.log('b')).toHaveLength(1);
  // Only the writer takes the link for lost; then the old question comes, and the reader does not know of any of it.
  scene.machine('a').linkLost('b');
  scene.give(old);
  scene.settle();
  scene.put('a', 'y', 2);
  scene.pass(LIMITS.resendMs * 40);
  expect(scene.log('b')).toHaveLength(2);
});

describe('how a reader is doing', () => {
  const standing = (scene: PartitionScene) => scene.machine('a').status().peers['b']!;

  test('one that has everything has acknowledged when its node was last heard', () => {
    const scene = sceneWith(3);
    scene.follow('b', 1, 'a');
    scene.pass(60_000);
    expect(standing(scene)).toEqual({ acknowledgedMsAgo: 0, lsn: 3, behindMs: 0 });
    scene.copy('a').heardMsAgo = 700;
    expect(standing(scene).acknowledgedMsAgo).toBe(700);
  });

  test('one that takes nothing has not acknowledged since it was first sent something, however often it is sent again', () => {
    const scene = sceneWith(3);
    scene.follow('b', 1, 'a');
    scene.settle();
    scene.pass(10_000);
    scene.put('a', 'x', 1);
    for (let count = 0; count < 100; count += 1) {
      scene.pass(100, { delivering: false });
      scene.drop();
    }
    expect(standing(scene).acknowledgedMsAgo).toBe(10_000);
    expect(standing(scene).lsn).toBe(3);
    scene.pass(2000);
    expect(standing(scene)).toEqual({ acknowledgedMsAgo: 0, lsn: 4, behindMs: 0 });
  });

  test('one that is behind says by its pace how long it will take', () => {
    const scene = sceneWith(0);
    scene.follow('b', 1, 'a');
    scene.settle();
    scene.put('a', 'x', 1);
    scene.turn();
    scene.deliver('entries', 'b');
    scene.pass(100, { delivering: false });
    scene.settle();
    scene.copy('b').holdDisk();
    for (let count = 0; count < 10; count += 1) scene.put('a', 'x', count);
    scene.settle();
    expect(standing(scene).behindMs).toBeCloseTo(1000);
  });

  test('one that does not follow has never acknowledged', () => {
    const scene = sceneWith(0);
    expect(standing(scene).acknowledgedMsAgo).toBe(Infinity);
  });

  test('whether a node is there is what counts at a reader', () => {
    const scene = sceneWith(0);
    scene.follow('b', 1, 'a');
    scene.settle();
    scene.copy('b').heardMsAgo = 30;
    expect(scene.machine('b').status().peers['a']).toEqual({
      acknowledgedMsAgo: 30,
      lsn: 0,
      behindMs: Infinity,
    });
  });

  test('the agent is told when a reader has caught up', () => {
    const scene = sceneWith(3);
    scene.follow('b', 1, 'a');
    scene.turn();
    scene.copy('a').changes.length = 0;
    scene.settle();
    expect(scene.copy('a').changes).toContain('soon');
  });
});

describe('a log that is trimmed', () => {
  /** Entries 1 to 6 of documents that are written over and over, trimmed up to 4: entry 2 is all that is left of them. */
  function trimmed(): PartitionScene {
    const scene = new PartitionScene({ regions: ['a', 'b'], forwarder: { ...LIMITS, messageBytes: 1 } });
    scene.lead('a', 1, { commitSet: ['a'] });
    for (const id of ['x', 'kept', 'x', 'x', 'x', 'y']) scene.put('a', id, 1);
    scene.settle();
    scene.store('a').trim(4);
    return scene;
  }

  test('is copied as a whole to a reader whose log ends before it', () => {
    const scene = trimmed();
    expect(scene.log('a')).toEqual(['1.1/2', '1.1/4', '1.1/5', '1.1/6']);
    scene.follow('b', 1, 'a');
    scene.settle();
    expect(scene.log('b')).toEqual(scene.log('a'));
    expect(scene.store('b').base).toBe(5);
    expect(scene.store('b').notes).toMatchObject({
      building: false,
      gclsn: 6,
      table: scene.store('a').notes.table,
    });
    expect(scene.documents('b')).toEqual({ x: 1, kept: 1, y: 1 });
  });

  test('cannot be read there before the copy is complete', () => {
    const scene = trimmed();
    scene.follow('b', 1, 'a');
    scene.turn();
    for (let steps = 0; scene.store('b').tail.lsn < 5 && steps < 100; steps += 1) {
      scene.give(scene.wire.shift()!);
      scene.turn();
    }
    expect(scene.machine('b').isReadable).toBe(false);
    expect(scene.machine('b').status().build).toBe('Building');
    expect(scene.read('b', 'x', 'Eventual').answer).toMatchObject({ code: 'NOT_READY' });
    expect(scene.feed('b')).toMatchObject({ code: 'NOT_READY' });
    scene.settle();
    expect(scene.machine('b').isReadable).toBe(true);
    expect(scene.machine('b').status().build).toBe('Built');
  });

  test('is copied anew when the reader crashes in the middle', () => {
    const scene = trimmed();
    scene.follow('b', 1, 'a');
    scene.turn();
    for (let steps = 0; scene.store('b').tail.lsn < 5 && steps < 100; steps += 1) {
      scene.give(scene.wire.shift()!);
      scene.turn();
    }
    scene.restart('b');
    expect(scene.machine('b').isReadable).toBe(false);
    scene.put('a', 'x', 'newer');
    scene.settle();
    scene.follow('b', 1, 'a');
    scene.settle();
    expect(scene.log('b')).toEqual(scene.log('a'));
    expect(scene.documents('b')).toEqual({ x: 'newer', kept: 1, y: 1 });
  });

  test('costs a reader nothing whose log reaches it', () => {
    const scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
    for (const id of ['x', 'x', 'x']) scene.put('a', id, 1);
    scene.settle();
    scene.cut('a', 'b');
    scene.put('a', 'y', 1);
    scene.settle();
    scene.store('a').trim(3);
    scene.mend('a', 'b');
    scene.settle();
    expect(scene.store('b').base).toBe(1);
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2', '1.1/3', '1.1/4']);
  });

  /** A reader whose link was full, with nothing left of what it lacks: the writer has just said so. */
  function trimmedUnderSession(): PartitionScene {
    const scene = new PartitionScene({ regions: ['a', 'b'], forwarder: LIMITS });
    scene.reign('a', 1);
    scene.copy('a').full.add('b');
    for (const id of ['x', 'x', 'x', 'x']) scene.put('a', id, 1);
    scene.lead('a', 1, { commitSet: ['a'] });
    scene.settle();
    scene.store('a').trim(2);
    scene.copy('a').full.delete('b');
    scene.machine('a').linkReady('b');
    scene.turn();
    return scene;
  }

  test('under a session: the reader is invited and begins anew', () => {
    const scene = trimmedUnderSession();
    expect(scene.sent('invite', 'b')).toHaveLength(1);
    scene.settle();
    expect(scene.log('b')).toEqual(scene.log('a'));
    expect(scene.store('b').base).toBe(3);
  });

  test('under a session, and the invitation is lost: it is repeated, later each time', () => {
    const scene = trimmedUnderSession();
    const lostAfter: number[] = [];
    for (let second = 0; second < 7; second += 1) {
      if (scene.sent('invite', 'b').length > 0) lostAfter.push(second);
      scene.drop(({ message }) => message.type === 'invite');
      scene.pass(1000, { delivering: false });
    }
    expect(lostAfter).toEqual([0, 1, 3]);
    expect(scene.log('b')).toEqual([]);
    scene.settle();
    expect(scene.log('b')).toEqual(scene.log('a'));
    scene.pass(100_000, { delivering: false });
    expect(scene.sent('invite', 'b')).toEqual([]);
  });

  test('between welcome and ready: the reader is invited and begins anew', () => {
    const scene = sceneWith(0);
    for (const id of ['x', 'x', 'x', 'x']) scene.put('a', id, 1);
    scene.settle();
    scene.follow('b', 1, 'a');
    scene.deliver('follow', 'a');
    scene.deliver('welcome', 'b');
    scene.store('a').trim(2);
    scene.settle();
    expect(scene.log('b')).toEqual(scene.log('a'));
    expect(scene.store('b').base).toBe(3);
  });

  test('between two welcomes of the same question: the reader is invited and begins anew', () => {
    const scene = sceneWith(0);
    for (const id of ['x', 'x', 'x', 'x']) scene.put('a', id, 1);
    scene.settle();
    scene.follow('b', 1, 'a');
    const asked = scene.take(({ message }) => message.type === 'follow');
    scene.give(asked);
    scene.deliver('welcome', 'b');
    scene.store('a').trim(2);
    scene.give(asked);
    scene.drop(({ message }) => message.type === 'welcome');
    scene.settle();
    scene.pass(5000);
    expect(scene.log('b')).toEqual(scene.log('a'));
    expect(scene.store('b').base).toBe(3);
  });

  test('in the middle of a full copy: the copy begins anew', () => {
    const scene = trimmed();
    scene.follow('b', 1, 'a');
    scene.deliver('follow', 'a');
    scene.deliver('welcome', 'b');
    scene.store('a').trim(5);
    scene.settle();
    expect(scene.store('b').base).toBe(6);
    expect(scene.log('b')).toEqual(scene.log('a'));
    expect(scene.machine('b').isReadable).toBe(true);
  });

  test('does not bring documents back whose deletion was trimmed', () => {
    const scene = sceneWith(0);
    scene.write('a', [upsert('x', 1), upsert('y', 1)]);
    scene.remove('a', 'x');
    scene.put('a', 'z', 1);
    scene.settle();
    scene.store('a').trim(2);
    expect(Object.keys(scene.documents('a'))).toEqual(['y', 'z']);
    scene.follow('b', 1, 'a');
    scene.settle();
    expect(Object.keys(scene.documents('b'))).toEqual(['y', 'z']);
    expect(scene.read('b', 'x', 'Eventual').answer).toMatchObject({ outcome: 'done', version: undefined });
  });

  test('a copy that is trimmed further keeps what lies beside something that was left out', () => {
    const scene = sceneWith(0);
    scene.put('a', 'x', 1);
    scene.write('a', [{ op: 'delete', id: 'x' }, upsert('y', 1)]);
    scene.put('a', 'x', 2);
    scene.put('a', 'z', 1);
    scene.settle();
    scene.store('a').trim(2);
    scene.follow('b', 1, 'a');
    scene.settle();
    for (const region of ['a', 'b']) {
      scene.store(region).trim(3);
      expect(scene.documents(region)).toEqual({ x: 2, y: 1, z: 1 });
    }
  });

  test('below what has to be undone: everything is copied', () => {
    const scene = new PartitionScene({ regions: ['a', 'b'], consistency: { level: 'Session' } });
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.settle();
    scene.cut('a', 'b');
    for (const id of ['x', 'x', 'y']) scene.put('a', id, 'false');
    scene.settle();
    scene.store('a').trim(3);
    scene.reign('b', 2, ['b']);
    const write = scene.put('b', 'z', 1);
    scene.follow('a', 2, 'b');
    scene.mend('a', 'b');
    scene.settle();
    expect(outcome(write)).toBe('201');
    expect(scene.log('a')).toEqual(scene.log('b'));
    expect(scene.documents('a')).toEqual({ x: 1, z: 1 });
    expect([...scene.store('a').undone()].map(({ entry }) => entry.lsn)).toContain(4);
  });
});

describe('what counts as a reader’s', () => {
  test('is an acknowledgement of the session that it follows in, not of an older one', () => {
    const scene = sceneWith(0);
    scene.follow('b', 1, 'a');
    scene.turn();
    scene.deliver('follow');
    scene.deliver('welcome');
    const ready = scene.take((each) => each.message.type === 'ready');
    scene.give(ready);
    scene.put('a', 'x', 1);
    scene.turn();
    const { session } = ready.message as { session: number };
    const ack = { type: 'ack', gcn: 1, session, durable: 1, received: 1, gclsn: 0, safe: 0 } as const;
    scene.give({ ...ready, message: { ...ack, session: session - 1 } });
    expect(scene.machine('a').status().peers['b']).toMatchObject({ lsn: 0 });
    scene.give({ ...ready, message: ack });
    expect(scene.machine('a').status().peers['b']).toMatchObject({ lsn: 1 });
  });

  test('is an answer to the welcome of this process, not of an earlier one', () => {
    const scene = sceneWith(2);
    scene.follow('b', 1, 'a');
    scene.turn();
    scene.deliver('follow');
    scene.deliver('welcome');
    const { from, to, message } = scene.take((each) => each.message.type === 'ready');
    if (message.type !== 'ready') throw new Error('it is not ready');
    scene.give({ from, to, message: { ...message, epoch: message.epoch - 1, lsn: 2 } });
    scene.turn();
    expect(scene.machine('a').status().peers['b']).toMatchObject({ lsn: 0 });
    expect(scene.sent('invite', 'b')).not.toEqual([]);
    scene.settle();
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2']);
  });
});
