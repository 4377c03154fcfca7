import { describe, expect, test } from 'vitest';
import { EMPTY_RECORD, encodeIdentity, encodeRecord } from '../../caspaxos/index.ts';
import { Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { World } from '../world.ts';
import { type Defect, StoreServer } from './store-server.ts';

interface Scene {
  readonly world: World;
  readonly server: StoreServer;
  readonly process: SimProcess;
  readonly durable: string[];
  readonly syncs: number[];
}

const SYNC_MS = 10;

function scene(defect?: Defect): Scene {
  const world = new World(1);
  const durable: string[] = [];
  const syncs: number[] = [];
  const server = new StoreServer({
    url: 'sim:one',
    concurrency: 1,
    syncMs: () => {
      syncs.push(world.now);
      return SYNC_MS;
    },
    now: () => world.now,
    onDurable: (key, text) => durable.push(`${key}=${text}`),
    defect,
  });
  const process = world.addProcess({ name: 'one', main: (own) => server.start(own) });
  process.start();
  return { world, server, process, durable, syncs };
}

function crash({ process, server }: Scene): void {
  process.crash();
  server.crash(new Random(1));
  process.start();
}

/** The work's result, with the moment at which it came. */
async function timed<R>(world: World, work: Promise<R>): Promise<{ result: R; at: number }> {
  let done: { result: R; at: number } | undefined;
  void work.then((result) => {
    done = { result, at: world.now };
    return result;
  });
  await world.run(world.now + 1000, () => done !== undefined);
  if (done === undefined) throw new Error('no answer');
  return done;
}

const create = (key: string, text: string) => ({ key, text, expected: undefined });

describe('a simulated store', () => {
  test('writes on the condition that the version is the one that was read', async () => {
    const { world, server } = scene();
    const { result: created } = await timed(world, server.write([create('a', 'one')]));
    expect(created).toMatchObject([{ result: 'written' }]);
    const { result: again } = await timed(world, server.write([create('a', 'two')]));
    expect(again).toEqual([{ result: 'conflict' }]);
    const { result: read } = await timed(world, server.read(['a', 'b']));
    expect(read).toMatchObject([{ text: 'one' }, undefined]);
    const replaced = await timed(
      world,
      server.write([{ key: 'a', text: 'two', expected: read[0]!.version }]),
    );
    expect(replaced.result).toMatchObject([{ result: 'written' }]);
    expect((await timed(world, server.list('', 10))).result).toEqual(['a']);
  });

  test('answers a write when its sync has ended, and who came meanwhile together after the next', async () => {
    const { world, server, syncs, durable } = scene();
    const first = timed(world, server.write([create('a', '1')]));
    const answers: number[] = [];
    world.at(4, -1, () => {
      for (const key of ['b', 'c']) void server.write([create(key, '2')]).then(() => answers.push(world.now));
    });
    expect((await first).at).toBe(SYNC_MS);
    expect(durable).toEqual(['a=1']);
    await world.run(100);
    expect(answers).toEqual([2 * SYNC_MS, 2 * SYNC_MS]);
    expect(syncs).toEqual([0, SYNC_MS]);
  });

  test('answers a read of what is not yet synced no sooner', async () => {
    const { world, server } = scene();
    void server.write([create('a', '1')]);
    expect((await timed(world, server.read(['a']))).at).toBeGreaterThanOrEqual(SYNC_MS);
    const before = world.now;
    expect((await timed(world, server.read(['a']))).at).toBe(before);
  });

  test('keeps over a crash what it answered, and counts on', async () => {
    const store = scene();
    const { world, server } = store;
    await timed(world, server.write([create('a', '1')]));
    const answered = server.sequence;
    void server.write([create('b', '2')]);
    crash(store);
    expect((await timed(world, server.read(['a', 'b']))).result).toMatchObject([{ text: '1' }, undefined]);
    expect(server.sequence).toBe(answered);
  });

  test('never gives a version twice, not even after a crash that took one back', async () => {
    const store = scene();
    const versions = new Set<unknown>();
    for (let life = 0; life < 20; life += 1) {
      void store.server.write([create('a', 'lost')]);
      const { result } = await timed(store.world, store.server.write([create(`key ${life}`, 'kept')]));
      versions.add(result[0]!.result === 'written' ? result[0]!.version : undefined);
      crash(store);
    }
    expect(versions.size).toBe(20);
  });

  test('can lose its disk, get an old one back, and find a document unreadable', async () => {
    const { world, server } = scene();
    await timed(world, server.write([create('a', 'text')]));
    const copy = server.copy();
    server.replaceDisk();
    expect((await timed(world, server.list('', 10))).result).toEqual([]);
    server.replaceDisk(copy);
    expect(server.garble(new Random(1))).toBe('a');
    const { result } = await timed(world, server.read(['a']));
    expect(result[0]!.text).not.toBe('text');
  });
});

describe('a simulated store that has forgotten', () => {
  const identity = (retired?: object): string =>
    encodeIdentity({ id: 'id', createdAt: '', ...(retired && { retired: retired as never }) });

  test('tells another line when it was promoted, and is useless from then on, unless it is empty', async () => {
    const { world, server } = scene();
    await timed(world, server.write([create('identity', identity())]));
    const { line } = server;
    expect(server.uselessSince).toBe(Infinity);
    server.promote(server.copy());
    expect(server.line).not.toBe(line);
    expect(server.uselessSince).toBe(world.now);
    server.promote();
    expect(server.uselessSince).toBe(Infinity);
    expect(scene('tells no line').server.line).toBeUndefined();
  });

  test('without a word is useless from when somebody has retired it', async () => {
    for (const defect of [undefined, 'drops retirements'] as const) {
      const { world, server } = scene(defect);
      await timed(world, server.write([create('identity', identity())]));
      const copy = server.copy();
      await timed(world, server.write([create('register/k', encodeRecord(EMPTY_RECORD))]));
      server.replaceDisk(copy);
      expect(server.oldCopy).toBeUndefined();
      const ballot = { counter: 1, proposer: 'p', incarnation: 1 };
      const record = encodeRecord({ ...EMPTY_RECORD, promised: ballot });
      await timed(world, server.write([create('register/k', record)]));
      server.restore(copy);
      expect(server.uselessSince).toBe(Infinity);
      const [before] = (await timed(world, server.read(['identity']))).result;
      const text = identity({ code: 'ACCEPTOR_BEHIND', why: 'It forgot.', at: '' });
      const { result, at } = await timed(
        world,
        server.write([{ key: 'identity', text, expected: before!.version }]),
      );
      expect(result).toMatchObject([{ result: 'written' }]);
      expect(server.uselessSince).toBe(at);
      const [after] = (await timed(world, server.read(['identity']))).result;
      expect(after!.text === text).toBe(defect === undefined);
    }
  });
});

test.each<{ defect: Defect | undefined; written: number; read: number }>([
  { defect: undefined, written: SYNC_MS, read: SYNC_MS },
  { defect: 'answers before sync', written: 0, read: SYNC_MS },
  { defect: 'reads before sync', written: SYNC_MS, read: 0 },
])(
  'with the defect "$defect" a write is answered after $written ms and a read after $read ms',
  async (expected) => {
    const { world, server } = scene(expected.defect);
    const answers: Record<string, number> = {};
    void server.write([create('a', '1')]).then(() => (answers['written'] = world.now));
    void server.read(['a']).then(() => (answers['read'] = world.now));
    await world.run(100);
    expect({ defect: expected.defect, ...answers }).toEqual(expected);
  },
);
