/** Histogram and cumulative share of durations, in seconds: for what the page sees, and for what a file holds. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import uPlot from 'uplot';
import { bars, barWidth, moments, percentile, shareDone } from '../state/statistics.ts';
import { axis, bottomAxis, Chart, type ChartData } from './chart.tsx';
import { colours } from './colours.ts';
import { count } from './format.ts';

interface Durations {
  /** Both sorted. */
  readonly recovery: ArrayLike<number>;
  readonly detection: ArrayLike<number>;
}

const HEIGHT = 280;

function largest({ recovery, detection }: Durations): number {
  return Math.max(recovery[recovery.length - 1] ?? 0, detection[detection.length - 1] ?? 0, 0.1);
}

export function DurationBars(durations: Durations): JSX.Element {
  const { recovery, detection } = durations;
  const data = useMemo((): ChartData => {
    const max = largest(durations);
    const width = barWidth(max);
    const back = bars(recovery, width, max).counts;
    const noticed = bars(detection, width, max).counts;
    const middle = back.map((_, at) => (at + 0.5) * width);
    // What is outlined must not be a line at the bottom.
    return [middle, [...back], noticed.map((value) => (value === 0 ? null : value))];
  }, [recovery, detection]);
  return (
    <Chart
      kind="bars"
      options={barOptions}
      data={data}
      height={HEIGHT}
      label={`Histogram of ${count(recovery.length)} recovery times; median ${percentile(recovery, 0.5).toFixed(1)} s.`}
    />
  );
}

function barOptions(): Omit<uPlot.Options, 'width' | 'height'> {
  const { accent, second } = colours();
  const paths = uPlot.paths.bars!({ size: [0.86, 80], radius: 0.15 });
  const thin = uPlot.paths.bars!({ size: [0.5, 44], radius: 0.15 });
  return {
    padding: [10, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: {
        time: false,
        range: (chart) => [0, (chart.data[0].at(-1) ?? 0.5) + (chart.data[0][0] ?? 0.5) || 1],
      },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.08)] },
    },
    axes: [
      bottomAxis('seconds'),
      { ...axis('partition-sets', (value) => (Number.isInteger(value) ? count(value) : '')), size: 56 },
    ],
    series: [
      {},
      { label: 'writes resumed', fill: accent, stroke: accent, width: 0, paths, points: { show: false } },
      { label: 'detected', stroke: second, width: 2, paths: thin, points: { show: false } },
    ],
  };
}

export function DoneChart(durations: Durations): JSX.Element {
  const { recovery, detection } = durations;
  const data = useMemo((): ChartData => {
    const at = moments(largest(durations));
    return [at, shareDone(recovery, at), shareDone(detection, at)];
  }, [recovery, detection]);
  return (
    <Chart
      kind="done"
      options={doneOptions}
      data={data}
      height={HEIGHT}
      label={`Cumulative share of recoveries; 99 % within ${percentile(recovery, 0.99).toFixed(1)} s.`}
    />
  );
}

export function doneOptions(): Omit<uPlot.Options, 'width' | 'height'> {
  const { accent, second } = colours();
  const paths = uPlot.paths.stepped!({ align: 1 });
  return {
    padding: [10, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: [0, 1.02] } },
    axes: [
      bottomAxis('seconds'),
      { ...axis(undefined, (value) => `${Math.round(value * 100)} %`), size: 54 },
    ],
    series: [
      {},
      { label: 'writes resumed', stroke: accent, width: 2.5, paths, points: { show: false } },
      { label: 'detected', stroke: second, width: 2, dash: [6, 4], paths, points: { show: false } },
    ],
  };
}
