import { expect, test } from 'vitest';
import { latencyModel } from './latency.ts';
import { cutting, duplicating, type Link, losing, plainLink, straggling } from './links.ts';
import { Random } from './random.ts';

const straight: Link = () => [10];
const share = (link: Link): number =>
  Array.from({ length: 2000 }, () => link(0, 1).length).reduce((sum, copies) => sum + copies, 0) / 2000;

test('a plain link takes its model’s time, and none to oneself', () => {
  const link = plainLink(latencyModel('fixed:7')!, 3, new Random(1));
  expect(link(0, 2)).toEqual([7]);
  expect(link(1, 1)).toEqual([0]);
});

test('a losing link loses its share', () => {
  expect(share(losing(straight, { share: 0.3, random: new Random(1) }))).toBeCloseTo(0.7, 1);
});

test('a duplicating link sends its share twice, each copy on its own time', () => {
  const random = new Random(1);
  const link: Link = () => [random.uniform()];
  expect(share(duplicating(link, { share: 0.3, random }))).toBeCloseTo(1.3, 1);
  const [first, second] = duplicating(link, { share: 1, random })(0, 1);
  expect(first).not.toBe(second);
});

test('a straggler comes late, so that others overtake it', () => {
  const link = straggling(straight, { share: 0.5, extraMs: 100, random: new Random(1) });
  const times = Array.from({ length: 200 }, () => link(0, 1)[0]!);
  expect(Math.min(...times)).toBe(10);
  expect(Math.max(...times)).toBeGreaterThan(90);
  expect(Math.max(...times)).toBeLessThan(110);
});

test('a cut works in the direction that it is asked for', () => {
  const link = cutting(straight, (from, to) => from === 0 && to === 1);
  expect(link(0, 1)).toEqual([]);
  expect(link(1, 0)).toEqual([10]);
});

test('faults compose, keep to where they are told, and report what they meet', () => {
  const met: string[] = [];
  const fault = { share: 1, random: new Random(1), when: (from: number) => from === 0 };
  const doubled = duplicating(straight, { ...fault, onMeet: (from, to) => met.push(`${from}>${to}`) });
  const link = losing(doubled, { ...fault, when: (_, to) => to === 2 });
  expect([link(0, 1), link(1, 0), link(0, 2)]).toEqual([[10, 10], [10], []]);
  expect(met).toEqual(['0>1']);
});
