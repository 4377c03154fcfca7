/** A reader and its writer: the handshake, what is undone, what is copied, and what is not listened to. */
import { beforeEach, describe, expect, test } from 'vitest';
import { nameOf, outcome, PartitionScene } from '../../../../test/engine/partition-scene.ts';
import { epochOf } from '../model.ts';

let scene: PartitionScene;

beforeEach(() => {
  scene = new PartitionScene();
});

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

/** Delivers everything and counts the entries that went to that region. */
function entriesSentTo(region: string, run: () => void): number {
  let count = 0;
  run();
  scene.turn();
  while (scene.wire.length > 0) {
    const [first] = scene.wire;
    if (first!.to === region && first!.message.type === 'entries') count += first!.message.entries.length;
    scene.give(scene.wire.shift()!);
    scene.turn();
  }
  return count;
}

function undoneAt(region: string): readonly string[] {
  return [...scene.store(region).undone()].map(
    ({ entry, closed }) => nameOf(entry) + (closed === undefined ? '' : ` ${closed}`),
  );
}

describe('the handshake', () => {
  test('goes invite, follow, welcome, ready, entries, ack', () => {
    const types: string[] = [];
    scene.lead('a', 1);
    scene.follow('b', 1, 'a');
    scene.put('a', 'x', 1);
    scene.turn();
    while (scene.wire.length > 0) {
      const next = scene.wire.shift()!;
      if (next.from === 'b' || next.to === 'b') types.push(next.message.type);
      scene.give(next);
      scene.turn();
    }
    expect(types).toEqual(expect.arrayContaining(['invite', 'follow', 'welcome', 'ready', 'entries', 'ack']));
    expect(types.indexOf('welcome')).toBeLessThan(types.indexOf('ready'));
    expect(scene.log('b')).toEqual(['1.1/1']);
  });

  test('is asked for again, later each time, until it is answered', () => {
    scene.follow('b', 1, 'a');
    const asked: number[] = [];
    while (scene.host.now() < 6000) {
      if (scene.drop(({ message }) => message.type === 'follow') > 0) asked.push(scene.host.now());
      scene.pass(10, { delivering: false });
    }
    expect(asked.map((at, index) => at - (asked[index - 1] ?? 0)).slice(1, 7)).toEqual([
      100, 200, 400, 800, 1600, 2000,
    ]);
    scene.lead('a', 1);
    scene.settle();
    putAll('a', 'x');
    expect(scene.log('b')).toEqual(['1.1/1']);
  });

  test('whose answer comes after the question was asked again waits for the newer answer', () => {
    scene.lead('a', 1);
    scene.follow('b', 1, 'a');
    scene.turn();
    scene.drop(({ message }) => message.type === 'invite');
    const late = scene.take(({ message }) => message.type === 'follow');
    scene.pass(150, { delivering: false });
    scene.give(late);
    scene.deliver('welcome', 'b');
    expect(scene.sent('ready')).toEqual([]);
    scene.settle();
    expect(scene.machine('b').following!.isFollowing).toBe(true);
  });

  test('says ready only when what was undone is on disk', () => {
    scene.reign('a', 1);
    putAll('a', 'x');
    isolate('a');
    putAll('a', 'lost');
    scene.reign('b', 2, ['b', 'c']);
    scene.follow('a', 2, 'b');
    scene.copy('a').holdDisk();
    join('a');
    expect(scene.log('a')).toEqual(['1.1/1']);
    expect(scene.machine('a').following!.isFollowing).toBe(false);
    expect(scene.machine('b').reign!.forwarder.standing('a', 1, 0)).toBeUndefined();
    scene.copy('a').releaseDisk();
    scene.settle();
    expect(scene.machine('a').following!.isFollowing).toBe(true);
  });
});

describe('false progress', () => {
  beforeEach(() => {
    scene.reign('a', 1);
    putAll('a', 'x', 'y');
    isolate('a');
    scene.put('a', 'x', 'false');
    scene.put('a', 'z', 'false');
    scene.settle();
    scene.reign('b', 2, ['b', 'c']);
    putAll('b', 'w');
    scene.follow('a', 2, 'b');
  });

  test('is undone and kept in the list of undone writes', () => {
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3', '1.1/4']);
    join('a');
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '2.1/3']);
    expect(undoneAt('a')).toEqual(['1.1/3', '1.1/4']);
    expect(scene.documents('a')).toEqual({ x: 'a x', y: 'a y', w: 'b w' });
    expect(scene.store('a').notes.table).toEqual([
      { epoch: epochOf(1, 1), lsn: 1 },
      { epoch: epochOf(2, 1), lsn: 3 },
    ]);
    expect(scene.copy('a').events).toContainEqual({ event: 'undone', count: 2, after: 2, committed: false });
  });

  test('costs the delta and no more', () => {
    expect(entriesSentTo('a', () => ['b', 'c'].forEach((other) => scene.mend('a', other)))).toBe(1);
    expect(scene.log('a')).toEqual(scene.log('b'));
  });

  test('is closed in the list when history contains it again (rule 21)', () => {
    for (const region of scene.regions) scene.machine(region).consistency = { level: 'Session' };
    join('a');
    expect(undoneAt('a')).toEqual(['1.1/3', '1.1/4']);
    // The old log is found on a disk that did not take part, and is elected.
    const old = new PartitionScene();
    old.reign('a', 1);
    for (const id of ['x', 'y', 'x', 'z']) old.put('a', id, 1);
    old.settle();
    const entries = old.store('c').entriesAfter(2, Infinity).slice(0, 1);
    const table = scene.store('c').notes.table.slice(0, 1);
    scene.store('c').truncate(2, 0);
    scene.store('c').append(entries);
    scene.store('c').note({ table, gclsn: 2 });
    scene.restart('c');
    scene.lead('c', 3, { leaseSet: ['c'] });
    for (const region of ['a', 'b']) scene.follow(region, 3, 'c');
    scene.settle();
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.1/3']);
    expect(undoneAt('a')).toEqual(['1.1/3 returned', '1.1/4', '2.1/3']);
  });

  test('of an epoch of its own leaves no trace in the progress table', () => {
    scene = new PartitionScene();
    scene.reign('a', 1);
    putAll('a', 'x');
    isolate('a');
    scene.lead('a', 2);
    putAll('a', 'y');
    scene.reign('b', 3, ['b', 'c']);
    putAll('b', 'z');
    join('a');
    expect(scene.log('a')).toEqual(['1.1/1', '3.1/2']);
    expect(scene.store('a').notes.table).toEqual(scene.store('b').notes.table);
  });

  test('that this copy took for committed is said to have been', () => {
    scene = new PartitionScene({ consistency: { level: 'Session' } });
    scene.reign('a', 1);
    isolate('a');
    putAll('a', 'x');
    scene.reign('b', 2);
    scene.follow('a', 2, 'b');
    join('a');
    expect(scene.copy('a').events).toContainEqual({ event: 'undone', count: 1, after: 0, committed: true });
    expect(scene.store('a').notes.gclsn).toBe(0);
  });
});

describe('messages that are lost, doubled or overtaken', () => {
  beforeEach(() => {
    scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
  });

  test('doubled entries are taken once', () => {
    scene.put('a', 'x', 1);
    scene.turn();
    const entries = scene.take(({ message }) => message.type === 'entries');
    scene.give(entries);
    scene.give(entries);
    scene.turn();
    scene.give(entries);
    scene.settle();
    expect(scene.log('b')).toEqual(['1.1/1']);
  });

  test('entries that overtook others are asked for again', () => {
    const first = scene.put('a', 'x', 1);
    scene.turn();
    const late = scene.take(({ message }) => message.type === 'entries');
    scene.put('a', 'y', 1);
    scene.turn();
    scene.deliver('entries', 'b');
    expect(scene.log('b')).toEqual([]);
    expect(scene.sent('ack')).toMatchObject([{ received: 0, gap: true }]);
    scene.settle();
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2']);
    scene.give(late);
    scene.settle();
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2']);
    expect(outcome(first)).toBe('201');
  });

  test('entries that were lost are sent again after a while', () => {
    const write = scene.put('a', 'x', 1);
    scene.turn();
    expect(scene.drop(({ message }) => message.type === 'entries')).toBe(1);
    scene.pass(900);
    expect(outcome(write)).toBe('waits');
    scene.pass(200);
    expect(outcome(write)).toBe('201');
  });

  test('a lost acknowledgement too', () => {
    const write = scene.put('a', 'x', 1);
    scene.turn();
    scene.deliver('entries', 'b');
    expect(scene.drop(({ message }) => message.type === 'ack')).toBe(1);
    scene.pass(1100);
    expect(outcome(write)).toBe('201');
    expect(scene.log('b')).toEqual(['1.1/1']);
  });

  test('a lost ready does not leave the reader behind', () => {
    scene.cut('a', 'b');
    scene.mend('a', 'b');
    for (let asked = 0; scene.sent('ready').length === 0 && asked < 20; asked += 1) {
      scene.give(scene.wire.shift()!);
      scene.turn();
    }
    expect(scene.drop()).toBeGreaterThan(0);
    const write = scene.put('a', 'x', 1, { ms: 60_000 });
    scene.pass(20_000);
    expect(outcome(write)).toBe('201');
  });

  test('lost news of the commit does not leave the reader behind', () => {
    scene.put('a', 'x', 1);
    scene.turn();
    scene.deliver('entries', 'b');
    scene.deliver('ack', 'a');
    expect(scene.sent('entries', 'b')).toMatchObject([{ entries: [], marks: { gclsn: 1 } }]);
    scene.drop();
    scene.pass(20_000);
    expect(scene.store('b').notes.gclsn).toBe(1);
  });

  test('an older question to follow does not end the session of a newer one', () => {
    scene.cut('a', 'b');
    scene.mend('a', 'b');
    scene.turn();
    const older = scene.take(({ message }) => message.type === 'follow');
    scene.settle();
    scene.pass(5000);
    scene.give(older);
    const write = scene.put('a', 'x', 1, { ms: 60_000 });
    scene.pass(20_000);
    expect(outcome(write)).toBe('201');
  });
});

describe('what is not listened to', () => {
  beforeEach(() => {
    scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
  });

  test('entries and acknowledgements of an older session (rule 5)', () => {
    const write = scene.put('a', 'x', 1);
    scene.turn();
    const oldEntries = scene.take(({ message }) => message.type === 'entries');
    scene.give(oldEntries);
    scene.turn();
    const oldAck = scene.take(({ message }) => message.type === 'ack');
    scene.cut('a', 'b');
    scene.mend('a', 'b');
    scene.give(oldAck);
    scene.turn();
    expect(outcome(write)).toBe('waits');
    scene.put('a', 'y', 1);
    scene.turn();
    scene.give({ ...oldEntries, message: { ...oldEntries.message, after: 1, entries: [] } as never });
    expect(scene.sent('ack')).toEqual([]);
    scene.settle();
    expect(outcome(write)).toBe('201');
  });

  test('anything of a lower GCN, which is refused (rule 7)', () => {
    const write = scene.put('a', 'x', 1);
    scene.turn();
    scene.fence('b', 2);
    scene.deliver('entries', 'b');
    expect(scene.log('b')).toEqual([]);
    expect(scene.sent('refuse', 'a')).toMatchObject([{ gcn: 2 }]);
    scene.settle();
    expect(outcome(write)).toBe('waits');
  });

  test('a lower GCN also after a restart, if the fence was on disk', () => {
    expect(scene.fence('b', 2).answer).toBeUndefined();
    scene.turn();
    scene.crash('b');
    scene.start('b');
    expect(scene.follow('b', 1, 'a').answer).toBeInstanceOf(Error);
    expect(scene.machine('b').fence).toBe(2);
  });

  test('a writer that is not the one of this GCN', () => {
    scene = new PartitionScene();
    scene.reign('a', 1);
    scene.put('a', 'x', 1);
    scene.turn();
    const { message } = scene.take(({ message: { type }, to }) => type === 'entries' && to === 'b');
    scene.give({ from: 'c', to: 'b', message });
    expect(scene.log('b')).toEqual([]);
  });

  test('an acknowledgement counts from where the reader said it shares the log (rule 5)', () => {
    scene.cut('a', 'b');
    const write = scene.put('a', 'x', 1);
    scene.reign('a', 2);
    expect(outcome(write)).toBe('unknown');
    expect(scene.machine('a').reign!.forwarder.durableAt('b')).toBe(0);
    scene.mend('a', 'b');
    scene.settle();
    expect(scene.machine('a').reign!.forwarder.durableAt('b')).toBe(1);
  });
});

describe('a writer that restarts in the same GCN', () => {
  beforeEach(() => {
    scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
    putAll('a', 'x');
  });

  test('takes over what was on the disks of its readers only, and writes in a new epoch', () => {
    scene.copy('a').holdDisk();
    const write = scene.put('a', 'y', 1);
    scene.settle();
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2']);
    expect(outcome(write)).toBe('waits');
    scene.crash('a');
    scene.start('a');
    scene.lead('a', 1);
    scene.settle();
    putAll('a', 'z');
    expect(scene.log('a')).toEqual(['1.1/1', '1.1/2', '1.2/3']);
    expect(scene.log('b')).toEqual(['1.1/1', '1.1/2', '1.2/3']);
    expect(undoneAt('b')).toEqual([]);
  });

  test('is sent what its predecessor was told, and does not count it (rule 5)', () => {
    scene.copy('a').holdDisk();
    scene.put('a', 'y', 1);
    scene.turn();
    scene.deliver('entries', 'b');
    const ack = scene.take(({ message }) => message.type === 'ack');
    scene.crash('a');
    scene.start('a');
    scene.lead('a', 1);
    scene.settle();
    scene.copy('b').holdDisk();
    const write = scene.put('a', 'z', 1);
    scene.settle();
    scene.give(ack);
    scene.settle();
    expect(outcome(write)).toBe('waits');
    scene.copy('b').releaseDisk();
    scene.settle();
    expect(outcome(write)).toBe('201');
  });

  test('has sent things that come late: they are not taken any more', () => {
    scene.copy('a').holdDisk();
    scene.put('a', 'y', 1);
    scene.turn();
    const late = scene.take(({ message }) => message.type === 'entries');
    scene.crash('a');
    scene.start('a');
    scene.lead('a', 1);
    scene.settle();
    scene.give(late);
    scene.settle();
    expect(scene.log('b')).toEqual(['1.1/1']);
    putAll('a', 'z');
    expect(scene.log('b')).toEqual(['1.1/1', '1.2/2']);
  });

  test('is followed again also when the reader was undoing at that moment', () => {
    scene.cut('a', 'b');
    scene.mend('a', 'b');
    scene.turn();
    scene.copy('b').holdDisk();
    scene.settle();
    scene.crash('a');
    scene.start('a');
    scene.lead('a', 1);
    scene.settle();
    scene.copy('b').releaseDisk();
    scene.settle();
    const write = scene.put('a', 'y', 1, { ms: 60_000 });
    scene.pass(20_000);
    expect(outcome(write)).toBe('201');
  });

  test('does not count what a reader said to its predecessor', () => {
    scene.copy('a').holdDisk();
    scene.put('a', 'y', 1);
    scene.settle();
    scene.cut('a', 'b');
    scene.mend('a', 'b');
    scene.turn();
    const asked = scene.wire.findLast(({ message }) => message.type === 'follow')!;
    scene.drop();
    scene.give(asked);
    const welcome = scene.take(({ message }) => message.type === 'welcome');
    // Nobody notices that another process answers now; the question is doubled, and the first answer comes late.
    scene.crash('a', { isNoticed: false });
    scene.start('a', { isNoticed: false });
    scene.lead('a', 1);
    scene.deliver('survey', 'b');
    scene.deliver('standing', 'a');
    scene.deliver('fetch', 'b');
    scene.copy('a').holdDisk();
    scene.deliver('fetched', 'a');
    scene.drop();
    scene.give(asked);
    scene.drop(({ message }) => message.type === 'welcome');
    scene.give(welcome);
    scene.settle();
    expect(scene.machine('a').reign!.forwarder.durableAt('b')).toBeLessThanOrEqual(2);
    expect(scene.store('a').notes.gclsn).toBe(1);
    scene.copy('a').releaseDisk();
    const write = scene.put('a', 'z', 1, { ms: 60_000 });
    scene.pass(30_000);
    expect(outcome(write)).toBe('201');
    expect(scene.log('b')).toEqual(scene.log('a'));
  });
});

describe('a link that comes back', () => {
  test('while the reader was undoing is used again', () => {
    scene = new PartitionScene({ regions: ['a', 'b'] });
    scene.reign('a', 1);
    scene.cut('a', 'b');
    scene.mend('a', 'b');
    scene.turn();
    scene.copy('b').holdDisk();
    scene.settle();
    scene.cut('a', 'b');
    scene.mend('a', 'b');
    scene.settle();
    scene.copy('b').releaseDisk();
    const write = scene.put('a', 'x', 1, { ms: 60_000 });
    scene.pass(20_000);
    expect(outcome(write)).toBe('201');
  });

  test('brings what was written meanwhile', () => {
    scene.reign('a', 1);
    scene.cut('a', 'b');
    const write = scene.put('a', 'x', 1);
    scene.settle();
    expect(outcome(write)).toBe('waits');
    scene.mend('a', 'b');
    scene.settle();
    expect(outcome(write)).toBe('201');
  });
});
