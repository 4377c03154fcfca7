import { expect, test } from 'vitest';
import { cutting, latencyModel, losing, plainLink, Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { World } from '../world.ts';
import { Connections } from './connections.ts';

interface Two {
  readonly world: World;
  readonly a: SimProcess;
  readonly b: SimProcess;
  readonly connections: Connections<number>;
  /** What happened at either side, in order. */
  readonly seen: string[];
}

function two(mode: 'streams' | 'messages'): Two {
  const world = new World(1);
  world.link = plainLink(latencyModel('lognormal:8,0.6')!, 2, world.randomFor('network'));
  const seen: string[] = [];
  const connections = new Connections<number>(
    world,
    { mode, idleMs: 1500, random: world.randomFor('connections') },
    {
      onMessage: (at, _, message) => seen.push(`${at.name} got ${message}`),
      onReady: (at) => seen.push(`${at.name} ready`),
      onLost: (at) => seen.push(`${at.name} lost`),
    },
  );
  const main = (process: SimProcess): void => {
    connections.start(process, world.processes);
    const pulse = (): void => {
      for (const other of world.processes) if (other !== process) connections.send(process, other, 0);
      process.after(200, pulse);
    };
    pulse();
  };
  const [a, b] = ['a', 'b'].map((name) => world.addProcess({ name, main }));
  a!.start();
  b!.start();
  return { world, a: a!, b: b!, connections, seen };
}

function numbersAtB(seen: readonly string[]): readonly number[] {
  return seen.flatMap((what) => (/^b got [1-9]/.test(what) ? [Number(what.slice(6))] : []));
}

test('a stream keeps the order and loses nothing, though the network does', async () => {
  const { world, a, b, connections, seen } = two('streams');
  await world.run(1000);
  world.link = losing(world.link, { share: 0.2, random: new Random(3) });
  for (let number = 1; number <= 50; number += 1)
    world.at(1000 + number * 10, a.index, () => connections.send(a, b, number));
  await world.run(6000);
  expect(numbersAtB(seen)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
});

test('messages are lost, and overtake each other', async () => {
  const { world, a, b, connections, seen } = two('messages');
  await world.run(1000);
  world.link = losing(world.link, { share: 0.2, random: new Random(3) });
  for (let number = 1; number <= 50; number += 1)
    world.at(1000 + number, a.index, () => connections.send(a, b, number));
  await world.run(1800);
  const got = numbersAtB(seen);
  expect(got.length).toBeLessThan(50);
  expect(got).not.toEqual([...got].sort((x, y) => x - y));
});

test('a cut ends a link on both sides, and it comes back after', async () => {
  const { world, seen } = two('streams');
  await world.run(1000);
  const plain = world.link;
  world.link = cutting(plain, () => true);
  await world.run(4000);
  expect(seen.filter((what) => !what.includes('got')).sort()).toEqual([
    'a lost',
    'a ready',
    'b lost',
    'b ready',
  ]);
  world.link = plain;
  await world.run(6000);
  expect(seen.filter((what) => what.endsWith('ready'))).toHaveLength(4);
});

test('a crash ends a link for the other side, and what was sent into it is gone', async () => {
  const { world, a, b, connections, seen } = two('streams');
  await world.run(1000);
  connections.send(a, b, 7);
  b.crash();
  await world.run(1010);
  b.start();
  await world.run(4000);
  expect(numbersAtB(seen)).toEqual([]);
  expect(seen).toContain('a lost');
  expect(connections.canSend(a, b)).toBe(true);
});

test('a link takes only so much at a time, and says when it takes more again', async () => {
  const { world, a, b, connections, seen } = two('streams');
  await world.run(1000);
  const plain = world.link;
  world.link = cutting(plain, () => true);
  let sent = 0;
  while (connections.canSend(a, b)) connections.send(a, b, (sent += 1));
  expect(sent).toBeGreaterThan(10);
  const before = seen.length;
  world.link = plain;
  await world.run(1500);
  expect(seen.slice(before)).toContain('a ready');
  expect(numbersAtB(seen)).toHaveLength(sent);
  expect(connections.canSend(a, b)).toBe(true);
});
