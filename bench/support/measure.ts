/** Closed-loop load: so many callers, each starting its next operation when the last one ended. */
import { Window } from './window.ts';

export interface Measurement {
  readonly changesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** `operate(caller)` resolves to whether the operation counts: refused ones cost their caller time but are not counted. */
export async function measure(
  callers: number,
  seconds: number,
  operate: (caller: number) => Promise<boolean>,
): Promise<Measurement> {
  const latencies: number[] = [];
  const window = new Window(Math.min(500, seconds * 250), seconds);
  const caller = async (index: number): Promise<void> => {
    for (let before = performance.now(); window.isOpenAt(before);) {
      const counts = await operate(index);
      const now = performance.now();
      if (counts && window.counts(before, now)) latencies.push(now - before);
      // A refused operation is tried again as part of the same one: its caller has been waiting all along.
      if (counts) before = now;
      else if (window.isOverAt(now)) return;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, index) => caller(index)));
  latencies.sort((a, b) => a - b);
  return {
    changesPerSecond: window.rateOf(latencies.length),
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
}

export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/** Of whole milliseconds; between the two in the middle where there are two. */
export function middleOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : Math.round((sorted[middle - 1]! + sorted[middle]!) / 2);
}

function percentile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN;
  return round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!);
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
