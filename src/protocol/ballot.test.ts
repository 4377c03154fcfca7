import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Ballot,
  BALLOT_ZERO,
  compareBallots,
  formatBallot,
  isBallot,
  isZeroBallot,
  MAX_COUNTER,
  MAX_INCARNATION,
  sameBallot,
} from './ballot.ts';

const SEED = { seed: 20240611, numRuns: 500 };

const ballots = fc.record({
  counter: fc.integer({ min: 1, max: 4 }),
  proposer: fc.constantFrom('a', 'b', 'ab'),
  incarnation: fc.integer({ min: 1, max: 3 }),
});

describe('the order of ballots', () => {
  test('is total: antisymmetric, transitive, and equal only for the same ballot', () => {
    fc.assert(
      fc.property(ballots, ballots, ballots, (a, b, c) => {
        expect(compareBallots(a, b)).toBe(compareBallots(b, a) === 0 ? 0 : -compareBallots(b, a));
        expect(compareBallots(a, b) === 0).toBe(sameBallot(a, b));
        if (compareBallots(a, b) <= 0 && compareBallots(b, c) <= 0) {
          expect(compareBallots(a, c)).toBeLessThanOrEqual(0);
        }
      }),
      SEED,
    );
  });

  test('goes by counter, then proposer, then incarnation', () => {
    const sorted: Ballot[] = [
      { counter: 1, proposer: 'z', incarnation: 9 },
      { counter: 2, proposer: 'a', incarnation: 1 },
      { counter: 2, proposer: 'a', incarnation: 2 },
      { counter: 2, proposer: 'b', incarnation: 1 },
      { counter: 10, proposer: 'a', incarnation: 1 },
    ];
    expect(sorted.toReversed().sort(compareBallots)).toEqual(sorted);
  });

  test('puts the zero ballot below every ballot that a proposer can make', () => {
    fc.assert(
      fc.property(ballots, (ballot) => {
        expect(compareBallots(BALLOT_ZERO, ballot)).toBeLessThan(0);
        expect(isZeroBallot(ballot)).toBe(false);
      }),
      SEED,
    );
    expect(isZeroBallot(BALLOT_ZERO)).toBe(true);
  });
});

describe('two lives of one proposer', () => {
  test('never share a ballot, whatever their counters', () => {
    const first = { counter: 7, proposer: 'west', incarnation: 1 };
    const second = { counter: 7, proposer: 'west', incarnation: 2 };
    expect(sameBallot(first, second)).toBe(false);
    expect(compareBallots(first, second)).not.toBe(0);
  });
});

describe('isBallot', () => {
  const good = { counter: 1, proposer: 'p', incarnation: 1 };

  test('takes what proposers make, and the zero ballot', () => {
    for (const ballot of [
      good,
      BALLOT_ZERO,
      { ...good, counter: MAX_COUNTER, incarnation: MAX_INCARNATION },
    ]) {
      expect(isBallot(ballot)).toBe(true);
    }
  });

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 7],
    ['a counter that is no integer', { ...good, counter: 1.5 }],
    ['a negative counter', { ...good, counter: -1 }],
    ['a counter beyond counting', { ...good, counter: MAX_COUNTER + 1 }],
    ['a counter in a string', { ...good, counter: '1' }],
    ['no proposer', { counter: 1, incarnation: 1 }],
    ['a proposer of 65 characters', { ...good, proposer: 'p'.repeat(65) }],
    ['an incarnation beyond 48 bits', { ...good, incarnation: MAX_INCARNATION + 1 }],
    ['NaN', { ...good, incarnation: Number.NaN }],
  ])('refuses %s', (_, value) => {
    expect(isBallot(value)).toBe(false);
  });
});

test('a ballot is printed for people', () => {
  expect(formatBallot({ counter: 7, proposer: 'west', incarnation: 36 })).toBe('7@west/10');
  expect(formatBallot(BALLOT_ZERO)).toBe('0');
});
