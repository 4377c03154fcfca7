import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareBallots, MAX_COUNTER } from '../../protocol/index.ts';
import { BallotSource, BallotSources, hybrid, sequential } from './ballots.ts';
import { isAdmitted, SECOND_BAND } from './bounds.ts';

const identity = { proposer: 'west', incarnation: 77 };

describe('rule 1: a source of ballots', () => {
  test('never repeats one, and stays above all it has seen, whatever the clock does', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ clock: fc.integer({ min: -1_000_000, max: 1_000_000 }) }),
        fc.record({ seen: fc.integer({ min: 1, max: 1_000_000 }) }),
        fc.constant('next' as const),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (list) => {
        let now = 0;
        const source = new BallotSource(
          identity,
          hybrid(() => now),
        );
        let highest = { counter: 0, proposer: '', incarnation: 0 };
        for (const step of list) {
          if (step === 'next') {
            const ballot = source.next();
            expect(compareBallots(ballot, highest)).toBeGreaterThan(0);
            highest = ballot;
          } else if ('clock' in step) {
            now = step.clock;
          } else {
            const other = { counter: step.seen, proposer: 'zulu', incarnation: 1 };
            source.observe(other);
            if (compareBallots(other, highest) > 0) highest = other;
          }
        }
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  test('a ballot that was given out is never changed', () => {
    const source = new BallotSource(identity);
    const first = source.next();
    const copy = { ...first };
    source.observe({ counter: 50, proposer: 'x', incarnation: 1 });
    source.next();
    expect(first).toEqual(copy);
    expect(source.next()).toEqual({ counter: 52, proposer: 'west', incarnation: 77 });
  });

  test('hybrid follows the clock, so a proposer that was idle is not refused for being stale', () => {
    const source = new BallotSource(
      identity,
      hybrid(() => 1_700_000_000_000.5),
    );
    expect(source.next().counter).toBe(1_700_000_000_000);
    expect(source.next().counter).toBe(1_700_000_000_001);
  });

  test('a counter that does not grow stops the proposer', () => {
    expect(() => new BallotSource(identity, () => 0).next()).toThrow('must grow');
  });

  test.each([
    { proposer: '', incarnation: 1 },
    { proposer: 'p'.repeat(65), incarnation: 1 },
    { proposer: 'p', incarnation: 0 },
    { proposer: 'p', incarnation: 1.5 },
  ])('a proposer needs a name and an incarnation: %o', (wrong) => {
    expect(() => new BallotSource(wrong)).toThrow();
  });
});

/** In 2026. */
const NOW = 1_767_225_600_000;
const YEAR_MS = 365.25 * 24 * 3600 * 1000;

function seen(counter: number) {
  return { counter, proposer: 'zulu', incarnation: 1 };
}

describe('rule 11: counters', () => {
  /** What is thought of a counter by an acceptor, and by a proposer that does not need it. */
  test.each([
    ['of a sequential proposer', 5, true, true],
    ['of the clock', NOW, true, true],
    ['of a clock that is wrong by three years', NOW + 3 * YEAR_MS, true, true],
    ['of a clock that is wrong by a lifetime', NOW + 80 * YEAR_MS, true, false],
    ['of a century at a million ballots a second', NOW + 1000 * 50 * YEAR_MS, false, false],
    ['near the end of what earlier releases took', 2 ** 52 - 1, false, false],
    ['at the end of what earlier releases took', 2 ** 52, false, false],
    ['at the end of all numbers', MAX_COUNTER, false, false],
  ])('%s', (_, counter, isTaken, isFollowed) => {
    expect(isAdmitted(counter, NOW)).toBe(isTaken);
    expect(new BallotSource(identity, sequential, () => NOW).isNear(seen(counter))).toBe(isFollowed);
  });

  test.each([0, -1, Number.NaN, NOW - 50 * YEAR_MS, NOW + 400 * YEAR_MS, 1e300])(
    'of honest proposers are taken and followed by whoever believes that it is %s',
    (clock) => {
      const source = new BallotSource(identity, sequential, () => clock);
      for (const counter of [1, NOW, NOW + 3 * YEAR_MS]) {
        expect(isAdmitted(counter, clock)).toBe(true);
        expect(source.isNear(seen(counter))).toBe(true);
      }
    },
  );

  test('what a proposer with the latest clock makes is taken by an acceptor with the earliest', () => {
    const source = new BallotSource(
      identity,
      hybrid(() => 1e300),
      () => 1e300,
    );
    expect(isAdmitted(source.next().counter, 0)).toBe(true);
  });

  test.each([
    ['sequential', sequential],
    ['hybrid', hybrid(() => NOW)],
  ])('a %s proposer that needs to go above any counter that was ever taken can', (_, counter) => {
    for (const wanted of [
      2 ** 46,
      2 ** 50,
      SECOND_BAND - 1,
      SECOND_BAND,
      SECOND_BAND + 7,
      SECOND_BAND + NOW,
    ]) {
      const source = new BallotSource(identity, counter, () => NOW);
      source.observe(seen(wanted));
      const [first, second] = [source.next(), source.next()];
      expect(compareBallots(first, seen(wanted))).toBeGreaterThan(0);
      expect(compareBallots(second, first)).toBeGreaterThan(0);
      expect(isAdmitted(second.counter, NOW)).toBe(true);
    }
  });

  test('what no acceptor can have promised is not followed', () => {
    const source = new BallotSource(identity, sequential, () => NOW);
    source.observe(seen(MAX_COUNTER));
    expect(source.next().counter).toBe(1);
  });

  test('of one register are nothing to another, and never go back', () => {
    const sources = new BallotSources(identity, sequential, () => NOW);
    const high = sources.take('high');
    high.observe(seen(SECOND_BAND));
    const last = high.next();
    sources.giveBack('high', high);
    expect(sources.take('other').next().counter).toBe(1);
    expect(compareBallots(sources.take('high').next(), last)).toBeGreaterThan(0);
  });
});
