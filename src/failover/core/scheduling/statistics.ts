/**
 * How long successful phase-2 rounds take (paper 6.2.3): an exponential moving average, and a standard deviation by
 * Welford's algorithm. Both are kept in the proposed value itself, so that all proposers of a register see the same
 * figures. Plain data: it is stored as JSON.
 */
export interface PhaseStatistics {
  readonly count: number;
  readonly average: number;
  /** Welford's running mean and sum of squared differences from it. */
  readonly mean: number;
  readonly squares: number;
}

export const NO_STATISTICS: PhaseStatistics = Object.freeze({ count: 0, average: 0, mean: 0, squares: 0 });

/** The share of a new observation in the moving average. */
const WEIGHT = 0.2;
/** Welford's sums are halved when they speak of this many: the network of last year is not the network of today. */
const REMEMBERED = 1000;

export function observe(statistics: PhaseStatistics, durationMs: number): PhaseStatistics {
  const { count, average, mean, squares } = statistics.count < REMEMBERED ? statistics : halved(statistics);
  const difference = durationMs - mean;
  const nextMean = mean + difference / (count + 1);
  return {
    count: count + 1,
    average: count === 0 ? durationMs : average + WEIGHT * (durationMs - average),
    mean: nextMean,
    squares: squares + difference * (durationMs - nextMean),
  };
}

export function deviationOf({ count, squares }: PhaseStatistics): number {
  return count < 2 ? 0 : Math.sqrt(squares / (count - 1));
}

/** The paper's unit of waiting: the moving average plus the standard deviation. */
export function typicalLongest(statistics: PhaseStatistics): number {
  return statistics.average + deviationOf(statistics);
}

function halved(statistics: PhaseStatistics): PhaseStatistics {
  return { ...statistics, count: statistics.count / 2, squares: statistics.squares / 2 };
}
