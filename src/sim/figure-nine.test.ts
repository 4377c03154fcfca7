import { expect, test } from 'vitest';
import { figureNine, terminalBars } from './figure-nine.ts';

const POINTS = [
  { policy: 'initial', proposers: 3, failureRate: 0.001 },
  { policy: 'initial', proposers: 9, failureRate: 0.0333 },
  { policy: 'baton', proposers: 3, failureRate: 0 },
  { policy: 'baton', proposers: 9, failureRate: 0 },
];

test('the picture has a line for each policy, a dot for each point, and higher is worse', () => {
  const svg = figureNine(POINTS);
  expect(svg.match(/<polyline/g)).toHaveLength(2);
  expect(svg.match(/<circle/g)).toHaveLength(4);
  expect(svg).toContain('initial, 9 proposers: 3.33 %');
  const heights = [...svg.matchAll(/cy="(?<y>\d+)"/g)].map((match) => Number(match.groups!['y']));
  expect(heights[1]).toBeLessThan(heights[0]!);
  expect(heights[2]).toBe(heights[3]);
  expect(heights[2]).toBeGreaterThan(heights[0]!);
});

test('the bars say it to a terminal', () => {
  const lines = terminalBars(POINTS).split('\n');
  const lengths = lines.map((line) => line.split('█').length - 1);
  expect(lengths[1]).toBeGreaterThan(lengths[0]!);
  expect(lengths.slice(2)).toEqual([0, 0]);
  expect(lines[1]).toMatch(/^ {3}9 initial +█+ 3\.33 %$/);
});

test('labels do not cover each other where lines end at the same height', () => {
  const flat = ['initial', 'adaptive', 'baton'].map((policy) => ({ policy, proposers: 9, failureRate: 0 }));
  const labels = [...figureNine(flat).matchAll(/y="(?<y>-?\d+)" text-anchor="start"/g)];
  const heights = labels.map((match) => Number(match.groups!['y']));
  expect(heights).toHaveLength(3);
  expect(heights[0]! - heights[1]!).toBeGreaterThanOrEqual(15);
  expect(heights[1]! - heights[2]!).toBeGreaterThanOrEqual(15);
});
