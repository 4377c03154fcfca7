/**
 * The paper's Figures 6 to 8 as SVG for a page: which region served writes over time, and histograms of the time to restore
 * availability, to detect the recovery of the preferred region, and to fail back to it.
 */
import type { OutageTimes } from './case.ts';
import type { Durations } from './durations.ts';

const WIDTH = 700;
const HEIGHT = 320;
const LEFT = 64;
const RIGHT = 24;
const TOP = 56;
const BOTTOM = 48;
const BAR_SECONDS = 5;
const COLOURS = ['#1f7a8c', '#e08e0b', '#5b3f8c', '#3a7d44', '#c0392b'];
const INK = '#33404d';
const GRID = '#d8dde2';
const SHADE = '#f1d6d2';
const OUTAGE = '#c0392b';
/** Times a power of ten: what a scale goes up by. */
const STEPS = [1, 2, 5, 10];

export interface ServiceFigure {
  readonly regionNames: readonly string[];
  /** `serving[bucket][region]`: partition-sets that served writes then. */
  readonly serving: readonly (readonly number[])[];
  readonly bucketMs: number;
  readonly partitionSets: number;
  readonly outages: readonly OutageTimes[];
}

/** Figure 6: stacked by region, the preferred one below; outages shaded. */
export function figureSix(figure: ServiceFigure): string {
  const { regionNames, serving, bucketMs, partitionSets, outages } = figure;
  const minutes = (serving.length * bucketMs) / 60_000;
  const x = (ms: number): number => round(LEFT + (ms / 60_000 / minutes) * (WIDTH - LEFT - RIGHT));
  const y = heightFor(partitionSets);
  const shades = outages.map(({ fromMs, untilMs }, at) => {
    const across = `x="${x(fromMs)}" width="${round(x(untilMs) - x(fromMs))}"`;
    return [
      `<rect ${across} y="${TOP}" height="${HEIGHT - TOP - BOTTOM}" fill="${SHADE}"/>`,
      `<rect ${across} y="${HEIGHT - BOTTOM}" height="6" fill="${OUTAGE}"><title>outage ${at + 1}</title></rect>`,
    ].join('\n');
  });
  const areas = regionNames.map((name, region) => {
    const low = serving.map((row) => sum(row.slice(0, region)));
    const high = serving.map((row) => sum(row.slice(0, region + 1)));
    const upper = corners(high).map(([at, value]) => `${x(at * bucketMs)},${y(value)}`);
    const lower = corners(low).map(([at, value]) => `${x(at * bucketMs)},${y(value)}`);
    const points = [...upper, ...lower.toReversed()].join(' ');
    return `<polygon points="${points}" fill="${colourOf(region)}" fill-opacity="0.85"><title>${name}</title></polygon>`;
  });
  const ticks = scale(minutes).map((minute) =>
    text(x(minute * 60_000), HEIGHT - BOTTOM + 20, `${minute}`, 'middle'),
  );
  return svg('Partition-sets that serve writes, by region', [
    ...shades,
    ...grid(partitionSets, y),
    ...areas,
    ...legend(regionNames),
    ...ticks,
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, 'minutes; outages in red', 'middle'),
  ]);
}

/** Figures 7, 8 and the failback: bars of five seconds, with the percentiles beside the title. */
export function durationFigure(title: string, durations: Durations): string {
  const bars = durations.histogram(BAR_SECONDS * 1000);
  const count = Math.max(bars.length, 6);
  const most = Math.max(1, ...bars);
  const step = (WIDTH - LEFT - RIGHT) / count;
  const y = heightFor(most);
  const drawn = bars.map((value, at) => {
    const tip = `${at * BAR_SECONDS} to ${(at + 1) * BAR_SECONDS} s: ${value}`;
    return `<rect x="${round(LEFT + at * step + 1)}" y="${y(value)}" width="${round(step - 2)}" height="${round(y(0) - y(value))}" fill="${COLOURS[0]}"><title>${tip}</title></rect>`;
  });
  const ticks = scale(count * BAR_SECONDS).map((second) =>
    text(round(LEFT + (second / BAR_SECONDS) * step), HEIGHT - BOTTOM + 20, `${second}`, 'middle'),
  );
  const seconds = (share: number): string => (durations.percentile(share) / 1000).toFixed(1);
  const percentiles = `half within ${seconds(0.5)} s, 99 % within ${seconds(0.99)} s, all within ${seconds(1)} s`;
  return svg(title, [
    ...grid(most, y),
    ...drawn,
    ...ticks,
    text(LEFT, 44, durations.count === 0 ? 'nothing to show' : percentiles, 'start'),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, `seconds, in bars of ${BAR_SECONDS}`, 'middle'),
  ]);
}

function svg(title: string, content: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="24" font-size="14" font-weight="bold" fill="${INK}">${title}</text>`,
    ...content,
    '</svg>',
    '',
  ].join('\n');
}

function legend(names: readonly string[]): string[] {
  const step = Math.min(180, (WIDTH - LEFT - RIGHT) / names.length);
  return names.flatMap((name, at) => [
    `<rect x="${round(LEFT + at * step)}" y="35" width="10" height="10" fill="${colourOf(at)}"/>`,
    text(round(LEFT + at * step + 15), 44, name, 'start'),
  ]);
}

function grid(highest: number, y: (value: number) => number): string[] {
  return scale(highest).flatMap((value) => [
    `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}" stroke="${GRID}"/>`,
    text(LEFT - 8, y(value) + 4, value.toLocaleString('en'), 'end'),
  ]);
}

/** Round numbers from 0 to the highest, a handful of them. */
function scale(highest: number): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, highest / 5)));
  const step = STEPS.map((factor) => factor * power).find((size) => highest / size <= 8) ?? highest;
  return Array.from({ length: Math.floor(highest / step) + 1 }, (_, at) => at * step);
}

function heightFor(highest: number): (value: number) => number {
  return (value) => round(HEIGHT - BOTTOM - (value / highest) * (HEIGHT - TOP - BOTTOM));
}

/** Only where the line bends: most of an experiment is flat. */
function corners(values: readonly number[]): readonly (readonly [at: number, value: number])[] {
  return [...values.entries()].filter(
    ([at, value]) => at === 0 || values[at - 1] !== value || values[at + 1] !== value,
  );
}

function colourOf(region: number): string {
  return COLOURS[region % COLOURS.length]!;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${INK}">${content}</text>`;
}
