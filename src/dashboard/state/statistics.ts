/** Durations made into what a chart shows: percentiles, bars, and the share that was done by then. */

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

export function sorted(values: readonly number[]): number[] {
  return Float64Array.from(values).sort() as unknown as number[];
}

/** Of sorted values: the smallest that at least that share of them does not exceed. */
export function percentile(values: ArrayLike<number>, share: number): number {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN;
}

export function percentiles(values: ArrayLike<number>): Percentiles | undefined {
  if (values.length === 0) return undefined;
  const at = (share: number): number => percentile(values, share);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

export interface Bars {
  readonly width: number;
  readonly counts: readonly number[];
}

const WIDTHS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600];

/** The narrowest width, of those that people read easily, with at most so many bars. */
export function barWidth(max: number, most = 30): number {
  return WIDTHS.find((width) => max / width < most) ?? Math.ceil(max / most);
}

export function bars(values: ArrayLike<number>, width: number, max: number): Bars {
  const counts = Array.from({ length: Math.floor(max / width) + 1 }, () => 0);
  for (let i = 0; i < values.length; i += 1) {
    counts[Math.min(counts.length - 1, Math.floor(values[i]! / width))]! += 1;
  }
  return { width, counts };
}

/** Of sorted values: for each moment, the share done by then. */
export function shareDone(values: ArrayLike<number>, at: readonly number[]): number[] {
  let done = 0;
  return at.map((moment) => {
    while (done < values.length && values[done]! <= moment) done += 1;
    return values.length === 0 ? 0 : done / values.length;
  });
}

/** Evenly from 0 to a little beyond the largest. */
export function moments(max: number, steps = 120): number[] {
  const end = max > 0 ? max * 1.03 : 1;
  return Array.from({ length: steps + 1 }, (_, step) => (end * step) / steps);
}
