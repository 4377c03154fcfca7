import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { namedPolicy, POLICY_NAMES, statisticsFor, withStatistics, without } from './policy.ts';
import { deviationOf, NO_STATISTICS, observe, type PhaseStatistics, typicalLongest } from './statistics.ts';

function observed(values: readonly number[]): PhaseStatistics {
  return values.reduce(observe, NO_STATISTICS);
}

describe('statistics of phase 2', () => {
  test('agree with the textbook', () => {
    const lists = fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 2, maxLength: 500 });
    fc.assert(
      fc.property(lists, (values) => {
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
        const { mean: found, ...rest } = observed(values);
        expect(found).toBeCloseTo(mean, 5);
        expect(deviationOf({ mean: found, ...rest })).toBeCloseTo(
          Math.sqrt(squares / (values.length - 1)),
          5,
        );
      }),
      { seed: 3, numRuns: 200 },
    );
  });

  test('follow a network that has changed, after thousands of rounds too', () => {
    const before = Array.from({ length: 5000 }, () => 10);
    const after = Array.from({ length: 60 }, () => 300);
    expect(observed([...before, ...after]).average).toBeCloseTo(300, 0);
    expect(observed(Array.from({ length: 5000 }, () => 10)).count).toBeLessThanOrEqual(1000);
  });
});

describe('the policies of the paper', () => {
  const statistics = observed([100, 100, 100, 100]);

  test('initial backs off on its static base, whatever is observed', () => {
    const policy = namedPolicy('initial', 50);
    expect(policy.nakDelayMs(1, statistics, 0.5)).toBe(25);
    expect(policy.nakDelayMs(3, statistics, 0.5)).toBe(100);
  });

  test('adaptive backs off by average plus deviation: formula 3', () => {
    const policy = namedPolicy('adaptive', 50);
    expect(typicalLongest(statistics)).toBe(100);
    expect(policy.nakDelayMs(1, statistics, 0.5)).toBe(50);
    expect(policy.nakDelayMs(4, statistics, 0.5)).toBe(400);
    expect(policy.nakDelayMs(1, NO_STATISTICS, 0.5)).toBe(25);
  });

  test('time-division multiplexing counts from the start of the attempt that succeeded: formula 5', () => {
    for (const name of ['adaptive', 'baton'] as const) {
      expect(namedPolicy(name).nextStartMs(30_000, 400, 0.9)).toBe(29_600);
      expect(namedPolicy(name).nextStartMs(30_000, 40_000, 0.9)).toBe(0);
    }
  });

  test('initial jitters around the interval', () => {
    const policy = namedPolicy('initial');
    expect(policy.nextStartMs(30_000, 400, 0)).toBe(27_000);
    expect(policy.nextStartMs(30_000, 400, 1)).toBe(33_000);
  });

  test('baton keeps statistics of each proposer, adaptive one for all', () => {
    const own = withStatistics(namedPolicy('baton'), {}, 'a', statistics);
    expect(statisticsFor(namedPolicy('baton'), own, 'a')).toBe(statistics);
    expect(statisticsFor(namedPolicy('baton'), own, 'b')).toBe(NO_STATISTICS);
    const shared = withStatistics(namedPolicy('adaptive'), {}, 'a', statistics);
    expect(statisticsFor(namedPolicy('adaptive'), shared, 'b')).toBe(statistics);
  });

  test('an element taken out is that of initial', () => {
    expect(without('baton', 'ballots')).toMatchObject({
      name: 'baton without ballots',
      ballots: 'sequential',
      giveUp: 'quorum impossible',
    });
    expect(without('baton', 'giveUp')).toMatchObject({ ballots: 'hybrid', giveUp: 'first refusal' });
    expect(POLICY_NAMES).toEqual(['initial', 'adaptive', 'baton']);
  });
});
