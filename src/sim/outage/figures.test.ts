import { expect, test } from 'vitest';
import { Durations } from './durations.ts';
import { durationFigure, figureSix } from './figures.ts';

test('Figure 6 has an area for each region, a shade for each outage, and bends only where something changes', () => {
  const serving = Array.from({ length: 60 }, (_, at) => (at >= 20 && at < 40 ? [0, 10] : [10, 0]));
  const svg = figureSix({
    regionNames: ['East Asia', 'Southeast Asia'],
    serving,
    bucketMs: 10_000,
    partitionSets: 10,
    outages: [{ fromMs: 200_000, untilMs: 400_000 }],
  });
  expect(svg.match(/<polygon/g)).toHaveLength(2);
  expect(svg.match(/<title>outage/g)).toHaveLength(1);
  expect(svg).toContain('<title>Southeast Asia</title>');
  const [points] = svg.match(/(?<=<polygon points=")[^"]*/) ?? [''];
  expect(points.split(' ').length).toBeLessThan(12);
  expect(svg.endsWith('</svg>\n')).toBe(true);
});

test('a histogram has a bar for every five seconds up to the longest, and says its percentiles', () => {
  const durations = new Durations();
  for (const seconds of [1, 2, 3, 12, 13, 31]) durations.record(seconds * 1000);
  const svg = durationFigure('Time to restore availability', durations);
  expect(svg).toContain('<title>Time to restore availability</title>');
  expect(svg).toContain('<title>0 to 5 s: 3</title>');
  expect(svg).toContain('<title>10 to 15 s: 2</title>');
  expect(svg).toContain('<title>30 to 35 s: 1</title>');
  expect(svg).toContain('half within 3.1 s, 99 % within 31.0 s, all within 31.0 s');
});

test('a histogram of nothing says so', () => {
  const svg = durationFigure('Time to fail back', new Durations());
  expect(svg).toContain('nothing to show');
  expect(svg).not.toContain('NaN');
});
