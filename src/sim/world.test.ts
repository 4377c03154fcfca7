import { describe, expect, test } from 'vitest';
import { Random } from './core/index.ts';
import type { SimProcess } from './process.ts';
import { World } from './world.ts';

interface Pair {
  readonly world: World;
  readonly asker: SimProcess;
  readonly server: SimProcess;
}

function pair(seed = 1): Pair {
  const world = new World(seed);
  world.link = () => [10];
  const [asker, server] = ['asker', 'server'].map((name) => world.addProcess({ name, main: () => {} }));
  asker!.start();
  server!.start();
  return { world, asker: asker!, server: server! };
}

function sleep(process: SimProcess, ms: number): Promise<void> {
  return new Promise((resolve) => {
    process.after(ms, resolve);
  });
}

/** Asks and notes what comes of it, and when. */
function ask(
  { world, asker, server }: Pair,
  heard: string[],
  work: () => Promise<string>,
  timeoutMs = 100,
): void {
  world.call(asker, server, timeoutMs, work).then(
    (result) => heard.push(`${result} at ${world.now}`),
    (error: Error) => heard.push(`${error.message} at ${world.now}`),
  );
}

describe('a call', () => {
  test('takes the way there, the work, and the way back', async () => {
    const scene = pair();
    const heard: string[] = [];
    ask(scene, heard, async () => {
      await sleep(scene.server, 5);
      return 'done';
    });
    await scene.world.run(1000);
    expect(heard).toEqual(['done at 25']);
  });

  test('brings back what the other end throws', async () => {
    const scene = pair();
    const heard: string[] = [];
    ask(scene, heard, () => Promise.reject(new Error('no')));
    await scene.world.run(1000);
    expect(heard).toEqual(['no at 20']);
  });

  test.each([
    ['question', 0, 0],
    ['answer', 1, 1],
  ])('whose %s is lost ends after the asker’s patience', async (_, lostFrom, carriedOut) => {
    const scene = pair();
    const heard: string[] = [];
    let times = 0;
    scene.world.link = (from) => (from === lostFrom ? [] : [10]);
    ask(scene, heard, async () => {
      times += 1;
      return 'done';
    });
    await scene.world.run(1000);
    expect(heard).toEqual(['server did not answer at 100']);
    expect(times).toBe(carriedOut);
  });

  test('that arrives twice is carried out twice and answered once', async () => {
    const scene = pair();
    const heard: string[] = [];
    let times = 0;
    scene.world.link = () => [10, 30];
    ask(scene, heard, async () => `${(times += 1)}`);
    await scene.world.run(1000);
    expect([heard, times]).toEqual([['1 at 20'], 2]);
  });

  test('to a process that dies over it is never answered', async () => {
    const scene = pair();
    const heard: string[] = [];
    ask(scene, heard, async () => {
      await sleep(scene.server, 20);
      return 'done';
    });
    scene.world.at(15, -1, () => scene.server.crash());
    scene.world.at(16, -1, () => scene.server.start());
    await scene.world.run(1000);
    expect(heard).toEqual(['server did not answer at 100']);
  });

  test.each([5, 15])('is not answered to a later life of the asker, which began at %i', async (crashAt) => {
    const scene = pair();
    const heard: string[] = [];
    ask(scene, heard, async () => 'done');
    scene.world.at(crashAt, -1, () => scene.asker.crash());
    scene.world.at(crashAt + 1, -1, () => scene.asker.start());
    await scene.world.run(1000);
    expect(heard).toEqual([]);
  });

  test('reaches a process that stands still when it goes on', async () => {
    const scene = pair();
    const heard: string[] = [];
    scene.world.at(5, -1, () => scene.server.pause());
    scene.world.at(50, -1, () => scene.server.resume());
    ask(scene, heard, async () => 'done');
    await scene.world.run(1000);
    expect(heard).toEqual(['done at 60']);
  });
});

describe('a world', () => {
  /** Processes that call each other at random over a network of random times. */
  async function play(seed: number): Promise<World> {
    const world = new World(seed);
    const random = world.randomFor('network');
    world.link = () => (random.uniform() < 0.2 ? [] : [random.between(1, 20)]);
    const chatter = async (process: SimProcess): Promise<void> => {
      for (let turn = 0; turn < 20; turn += 1) {
        await sleep(process, process.random() * 10);
        const to = world.processes[process.randomInteger(3)]!;
        const answer = await world.call(process, to, 30, async () => turn).catch(() => -1);
        world.note(`heard ${answer}`, process.index);
      }
    };
    for (let at = 0; at < 3; at += 1) {
      world.addProcess({ name: `p${at}`, main: (process) => void chatter(process) });
    }
    for (const process of world.processes) process.start();
    world.at(60, -1, () => world.processes[0]!.crash());
    world.at(90, -1, () => world.processes[0]!.start());
    await world.run(10_000);
    return world;
  }

  test('is the same for the same seed and another for another', async () => {
    const [first, second, other] = [await play(7), await play(7), await play(8)];
    expect(first.events).toBeGreaterThan(200);
    expect([second.trace.digest(), second.events, second.now]).toEqual([
      first.trace.digest(),
      first.events,
      first.now,
    ]);
    expect(other.trace.digest()).not.toBe(first.trace.digest());
  });

  test('gives each part chance of its own', () => {
    const draws = (world: World): number => {
      const [first, second] = [world.randomFor('a'), world.randomFor('b')];
      first.next();
      return second.next();
    };
    const untouched = (world: World): number => {
      world.randomFor('a');
      return world.randomFor('b').next();
    };
    expect(draws(new World(3))).toBe(untouched(new World(3)));
    expect(untouched(new World(3))).toBe(new Random(3, 2).next());
  });

  test('stops at its time, and when it is told', async () => {
    const world = new World(1);
    const seen: number[] = [];
    for (const ms of [10, 20, 30, 40]) world.at(ms, -1, () => seen.push(ms));
    await world.run(25);
    expect(seen).toEqual([10, 20]);
    await world.run(100, () => seen.length === 3);
    expect(seen).toEqual([10, 20, 30]);
  });

  test('fails with what an event throws', async () => {
    const world = new World(1);
    world.at(10, -1, () => {
      throw new Error('broken');
    });
    await expect(world.run(100)).rejects.toThrow('broken');
  });
});
