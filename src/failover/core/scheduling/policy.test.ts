import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  namedPolicy,
  POLICY_ELEMENTS,
  POLICY_NAMES,
  statisticsFor,
  withStatistics,
  withElement,
  without,
} from './policy.ts';
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

const INTERVAL = 30_000;

describe('the policies of the paper', () => {
  const statistics = observed([100, 100, 100, 100]);

  test('initial backs off on its static base, whatever is observed: formula 1', () => {
    const policy = namedPolicy('initial', 50);
    expect(policy.nakDelayMs(1, statistics, 0.5, INTERVAL)).toBe(25);
    expect(policy.nakDelayMs(3, statistics, 0.5, INTERVAL)).toBe(100);
  });

  test('adaptive backs off by average plus deviation: formula 3', () => {
    const policy = namedPolicy('adaptive', 50);
    expect(typicalLongest(statistics)).toBe(100);
    expect(policy.nakDelayMs(1, statistics, 0.5, INTERVAL)).toBe(50);
    expect(policy.nakDelayMs(4, statistics, 0.5, INTERVAL)).toBe(400);
    expect(policy.nakDelayMs(1, NO_STATISTICS, 0.5, INTERVAL)).toBe(50);
    const uneven = observed([100, 200]);
    // The moving average takes a fifth of what is new; the deviation of 100 and 200 is that of a sample.
    expect(typicalLongest(uneven)).toBeCloseTo(120 + Math.sqrt(5000), 9);
  });

  test.each(['initial', 'adaptive'] as const)(
    '%s doubles without bound, as the formula is written',
    (name) => {
      const policy = namedPolicy(name, 100);
      expect(policy.nakDelayMs(21, statistics, 0.5, INTERVAL)).toBe(50 * 2 ** 20);
      expect(policy.nakDelayMs(5000, statistics, 0.5, INTERVAL)).toBeLessThan(Infinity);
    },
  );

  test('time-division multiplexing counts from the start of the attempt that succeeded: formula 5', () => {
    for (const name of ['adaptive', 'baton'] as const) {
      expect(namedPolicy(name).nextStartMs(INTERVAL, 400, 0.9)).toBe(29_600);
      expect(namedPolicy(name).nextStartMs(INTERVAL, 40_000, 0.9)).toBe(0);
    }
  });

  test('initial jitters around the interval', () => {
    const policy = namedPolicy('initial');
    expect(policy.nextStartMs(INTERVAL, 400, 0)).toBe(27_000);
    expect(policy.nextStartMs(INTERVAL, 400, 1)).toBe(33_000);
  });
});

describe('baton', () => {
  const statistics = observed([100, 100, 100, 100]);

  test('keeps statistics of each proposer, adaptive one for all', () => {
    const own = withStatistics(namedPolicy('baton'), {}, 'a', statistics);
    expect(statisticsFor(namedPolicy('baton'), own, 'a')).toBe(statistics);
    expect(statisticsFor(namedPolicy('baton'), own, 'b')).toBe(NO_STATISTICS);
    const shared = withStatistics(namedPolicy('adaptive'), {}, 'a', statistics);
    expect(statisticsFor(namedPolicy('adaptive'), shared, 'b')).toBe(statistics);
  });

  test('waits as adaptive does at first, and no longer than a tenth of the interval while the lease can be saved', () => {
    const policy = namedPolicy('baton');
    expect(policy.nakDelayMs(3, statistics, 0.5, INTERVAL)).toBe(200);
    expect(policy.nakDelayMs(5, statistics, 1, INTERVAL)).toBe(1600);
    for (const attempt of [6, 7, 8]) expect(policy.nakDelayMs(attempt, statistics, 1, INTERVAL)).toBe(3000);
  });

  test('waits longer once the lease is lost, so that a crowd thins out, and at most an interval', () => {
    const policy = namedPolicy('baton');
    expect(policy.nakDelayMs(9, statistics, 1, INTERVAL)).toBe(6000);
    expect(policy.nakDelayMs(11, statistics, 1, INTERVAL)).toBe(24_000);
    for (const attempt of [12, 5000])
      expect(policy.nakDelayMs(attempt, statistics, 1, INTERVAL)).toBe(INTERVAL);
  });

  test('waits for four rounds of a network in which those are longer', () => {
    const slow = observed([2000, 2000]);
    expect(namedPolicy('baton').nakDelayMs(8, slow, 1, INTERVAL)).toBe(8000);
  });

  test('an element taken out is that of initial, and the others stay', () => {
    const initial = namedPolicy('initial');
    const baton = namedPolicy('baton');
    for (const element of POLICY_ELEMENTS) {
      const policy = without('baton', element);
      expect(policy.name).toBe(`baton without ${element}`);
      for (const other of POLICY_ELEMENTS) {
        expect(policy[other]).toBe(other === element ? initial[other] : baton[other]);
      }
      expect(baton[element]).not.toBe(initial[element]);
    }
    expect(POLICY_NAMES).toEqual(['initial', 'adaptive', 'baton']);
  });

  test('an element put into another policy is that of baton, and the others stay', () => {
    const policy = withElement('adaptive', 'ballots');
    expect(policy).toMatchObject({
      name: 'adaptive with ballots',
      ballots: 'hybrid',
      giveUp: 'first refusal',
    });
    const bounded = withElement('initial', 'backoff', 20);
    expect(bounded.nakDelayMs(8, statistics, 1, INTERVAL)).toBe(2560);
    expect(bounded.nakDelayMs(9, statistics, 1, INTERVAL)).toBe(5120);
  });

  test('an element taken out also changes what is computed', () => {
    expect(without('baton', 'backoff').nakDelayMs(8, statistics, 1, INTERVAL)).toBe(12_800);
    expect(without('baton', 'slots').nextStartMs(INTERVAL, 400, 0)).toBe(27_000);
    expect(without('baton', 'statistics', 50).nakDelayMs(1, statistics, 1, INTERVAL)).toBe(50);
  });
});

test('adaptive is the paper’s: two elements away from initial', () => {
  const [initial, adaptive] = [namedPolicy('initial'), namedPolicy('adaptive')];
  const changed = POLICY_ELEMENTS.filter((element) => initial[element] !== adaptive[element]);
  expect(changed).toEqual(['statistics', 'slots']);
});
