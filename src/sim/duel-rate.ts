/**
 * A failure rate and how sure one can be of it. Updates are not independent draws: a proposer that is once out often stays
 * out, so failures come in clusters, and an interval that takes them for independent would be far too narrow. Hours are
 * independent. So the number of due updates is divided by how much more the hours differ than they would by chance (the
 * design effect), and Wilson's interval, which also holds near zero, is taken with that number.
 */
import type { DuelCounts } from './duel-counts.ts';

export interface FailureRate {
  /** 0 .. 1, all three. */
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/** 95 %. */
const Z = 1.96;

export function failureRate(counts: DuelCounts): FailureRate {
  const rate = counts.failures / counts.due;
  const n = counts.due / designEffect(counts);
  const centre = (rate + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((rate * (1 - rate)) / n + Z ** 2 / (4 * n * n));
  return { rate, low: Math.max(0, centre - half), high: Math.min(1, centre + half) };
}

/** At least 1: how many updates of these hours tell as much as one independent update. */
export function designEffect({ hours, due, failures, squaredFailures }: DuelCounts): number {
  const rate = failures / due;
  const byChance = (due / hours) * rate * (1 - rate);
  if (hours < 2 || byChance <= 0) return 1;
  const mean = failures / hours;
  const variance = ((squaredFailures / hours - mean * mean) * hours) / (hours - 1);
  return Math.max(1, variance / byChance);
}

/** The value that a share of the values (0 .. 1) does not exceed; undefined where there are none. */
export function percentileOf(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}
