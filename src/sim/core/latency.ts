/**
 * How long a message takes from one place to another. Drawn in two steps, because that is how networks are: every pair of
 * places has its own typical time, fixed for a run, and every message its own deviation from it.
 *
 *   fixed:MS               always the same
 *   uniform:LOW-HIGH       a typical time for each pair, no deviation
 *   lognormal:MEDIAN,SIGMA a shortest time for each pair around the median, and a heavy tail for each message
 *   azure                  proposers and acceptors in regions drawn at random, with the published times between them
 *
 * Times are one-way, in milliseconds.
 */
import { AZURE_REGIONS, azureOneWayMs, P95_OVER_MEDIAN, SPREAD } from './azure.ts';
import type { Random } from './random.ts';

export interface LatencyModel {
  /** All that is drawn and how, in words, with every parameter. */
  readonly description: string;
  /** The typical times of a run: that of proposer p and acceptor a stands at p x acceptors + a. */
  pairs(proposers: number, acceptors: number, random: Random): Float64Array;
  /** The time of one message, given its pair's. */
  message(typicalMs: number, random: Random): number;
}

/** How much pairs differ from each other in the lognormal model. */
const PAIR_SIGMA = 0.8;

/** Undefined when there is no such model. */
export function latencyModel(name: string): LatencyModel | undefined {
  if (name === 'azure') return azureLatency();
  const fixed = /^fixed:(\d+(?:\.\d+)?)$/.exec(name);
  if (fixed !== null) return fixedLatency(Number(fixed[1]));
  const uniform = /^uniform:(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(name);
  if (uniform !== null && Number(uniform[1]) <= Number(uniform[2])) {
    return uniformLatency(Number(uniform[1]), Number(uniform[2]));
  }
  const lognormal = /^lognormal:(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/.exec(name);
  if (lognormal !== null) return lognormalLatency(Number(lognormal[1]), Number(lognormal[2]));
  return undefined;
}

export const LATENCY_FORMS = ['fixed:MS', 'uniform:LOW-HIGH', 'lognormal:MEDIAN,SIGMA', 'azure'] as const;

function fixedLatency(ms: number): LatencyModel {
  const description = `every message takes ${ms} ms`;
  return { description, pairs: independently(() => ms), message: (typicalMs) => typicalMs };
}

function uniformLatency(low: number, high: number): LatencyModel {
  return {
    description: `each pair's time uniform in ${low} .. ${high} ms, the same for all its messages`,
    pairs: independently((random) => random.between(low, high)),
    message: (typicalMs) => typicalMs,
  };
}

function lognormalLatency(median: number, sigma: number): LatencyModel {
  return {
    description:
      `each pair's shortest time log-normal, median ${median} ms, sigma ${PAIR_SIGMA}; ` +
      `each message takes that times exp(${sigma} x |standard normal|)`,
    pairs: independently((random) => median * Math.exp(PAIR_SIGMA * random.normal())),
    message: (typicalMs, random) => typicalMs * Math.exp(sigma * Math.abs(random.normal())),
  };
}

/** Acceptors in different regions as long as there are any, as one would place them; proposers likewise. */
function azureLatency(): LatencyModel {
  return {
    description:
      `proposers and acceptors in regions drawn from the ${AZURE_REGIONS.length} of the published matrix of P95 round trips; ` +
      `one way takes P95 / ${P95_OVER_MEDIAN.toFixed(3)} / 2 times exp(${SPREAD} x standard normal)`,
    pairs(proposers, acceptors, random) {
      const from = drawRegions(proposers, random);
      const to = drawRegions(acceptors, random);
      return Float64Array.from({ length: proposers * acceptors }, (_, at) =>
        azureOneWayMs(from[Math.floor(at / acceptors)]!, to[at % acceptors]!),
      );
    },
    message: (typicalMs, random) => typicalMs * Math.exp(SPREAD * random.normal()),
  };
}

function drawRegions(count: number, random: Random): number[] {
  let left: number[] = [];
  return Array.from({ length: count }, () => {
    if (left.length === 0) left = AZURE_REGIONS.map((_, index) => index);
    return left.splice(random.integer(left.length), 1)[0]!;
  });
}

function independently(draw: (random: Random) => number): LatencyModel['pairs'] {
  return (proposers, acceptors, random) =>
    Float64Array.from({ length: proposers * acceptors }, () => draw(random));
}
