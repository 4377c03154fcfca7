/**
 * How long a message takes from one place to another. Drawn in two steps, because that is how networks are: every pair of
 * places has its own typical time, fixed for a run, and every message its own deviation from it.
 *
 *   fixed:MS               always the same
 *   uniform:LOW-HIGH       a typical time for each pair, no deviation
 *   lognormal:MEDIAN,SIGMA a typical time for each pair around the median, and a heavy tail for each message
 *
 * Times are one-way, in milliseconds.
 */
import type { Random } from './random.ts';

export interface LatencyModel {
  readonly description: string;
  /** The typical time of a pair. */
  pair(random: Random): number;
  /** The time of one message, given its pair's. */
  message(typicalMs: number, random: Random): number;
}

/** How much pairs differ from each other in the lognormal model. */
const PAIR_SIGMA = 0.8;

/** Undefined when there is no such model. */
export function latencyModel(name: string): LatencyModel | undefined {
  const fixed = /^fixed:(\d+(?:\.\d+)?)$/.exec(name);
  if (fixed !== null) return fixedLatency(name, Number(fixed[1]));
  const uniform = /^uniform:(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(name);
  if (uniform !== null) return uniformLatency(name, Number(uniform[1]), Number(uniform[2]));
  const lognormal = /^lognormal:(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/.exec(name);
  if (lognormal !== null) return lognormalLatency(name, Number(lognormal[1]), Number(lognormal[2]));
  return undefined;
}

export const LATENCY_FORMS = ['fixed:MS', 'uniform:LOW-HIGH', 'lognormal:MEDIAN,SIGMA'] as const;

function fixedLatency(description: string, ms: number): LatencyModel {
  return { description, pair: () => ms, message: (typicalMs) => typicalMs };
}

function uniformLatency(description: string, low: number, high: number): LatencyModel {
  return { description, pair: (random) => random.between(low, high), message: (typicalMs) => typicalMs };
}

function lognormalLatency(description: string, median: number, sigma: number): LatencyModel {
  return {
    description,
    pair: (random) => median * Math.exp(PAIR_SIGMA * random.normal()),
    message: (typicalMs, random) => typicalMs * Math.exp(sigma * Math.abs(random.normal())),
  };
}
