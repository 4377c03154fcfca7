import { describe, expect, test } from 'vitest';
import type { SimProcess } from './process.ts';
import { World } from './world.ts';

function processOf(world: World, main: (process: SimProcess) => void = () => {}, drift = 0): SimProcess {
  const process = world.addProcess({
    name: `p${world.processes.length}`,
    clock: { offsetMs: 0, drift },
    main,
  });
  process.start();
  return process;
}

describe('a simulated process', () => {
  test('waits on its own clock', async () => {
    const world = new World(1);
    const rang: number[] = [];
    const fast = processOf(world, () => {}, 0.1);
    fast.after(110, () => rang.push(world.now));
    await world.run(1000);
    expect(rang[0]).toBeCloseTo(100);
    expect(fast.now()).toBeCloseTo(1.1 * world.now);
  });

  test('loses its timers and what was to run soon with its life, and begins again', async () => {
    const world = new World(1);
    const heard: string[] = [];
    let lives = 0;
    const process = processOf(world, (own) => {
      lives += 1;
      const life = lives;
      own.after(10, () => heard.push(`timer of life ${life}`));
    });
    world.at(5, -1, () => {
      process.soon(() => heard.push('soon'));
      process.crash();
    });
    world.at(7, -1, () => process.start());
    await world.run(100);
    expect(heard).toEqual(['timer of life 2']);
  });

  test('under a pause keeps what comes and does it late, in order', async () => {
    const world = new World(1);
    const heard: string[] = [];
    const process = processOf(world);
    for (const ms of [10, 20, 60]) process.after(ms, () => heard.push(`${ms} at ${world.now}`));
    world.at(5, -1, () => process.pause());
    world.at(50, -1, () => process.resume());
    await world.run(100);
    expect(heard).toEqual(['10 at 50', '20 at 50', '60 at 60']);
  });

  test('on a machine that was suspended has a monotonic clock that stood still, and tells the time that has passed', async () => {
    const world = new World(1);
    const process = processOf(world);
    const asleep: number[] = [];
    world.at(5, -1, () => process.suspend());
    world.at(2000, -1, () => asleep.push(process.monotonic()));
    world.at(5005, -1, () => process.resume());
    world.at(5006, -1, () => asleep.push(process.monotonic(), process.now()));
    await world.run(6000);
    expect(asleep[0]).toBe(5);
    expect(asleep[1]).toBe(6);
    expect(asleep[2]).toBeCloseTo(5006, 6);
  });

  test('that crashes under a pause forgets what was kept for it', async () => {
    const world = new World(1);
    const heard: string[] = [];
    const process = processOf(world);
    process.after(10, () => heard.push('old life'));
    world.at(5, -1, () => process.pause());
    world.at(20, -1, () => process.crash());
    world.at(30, -1, () => process.start());
    await world.run(100);
    expect(heard).toEqual([]);
    expect(process.isPaused).toBe(false);
  });

  test('does not run a timer that was cancelled, not even while it stood still', async () => {
    const world = new World(1);
    const heard: string[] = [];
    const process = processOf(world);
    const timer = process.after(10, () => heard.push('rang'));
    world.at(5, -1, () => process.pause());
    world.at(15, -1, () => process.cancel(timer));
    world.at(20, -1, () => process.resume());
    await world.run(100);
    expect(heard).toEqual([]);
  });

  test('draws ids that differ from everybody’s, and integers in their bounds', () => {
    const world = new World(1);
    const ids = [processOf(world), processOf(world)].flatMap((process) => [
      process.randomId(),
      process.randomId(),
    ]);
    expect(new Set(ids).size).toBe(4);
    const process = world.processes[0]!;
    const drawn = Array.from({ length: 200 }, () => process.randomInteger(2 ** 48));
    expect(drawn.every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 48)).toBe(true);
    expect(Math.max(...drawn)).toBeGreaterThan(2 ** 46);
  });
});
