import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareBallots, MAX_COUNTER } from '../../protocol/index.ts';
import { BallotSource, hybrid, sequential } from './ballots.ts';

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

  test('a counter that does not grow, or is exhausted, stops the proposer', () => {
    expect(() => new BallotSource(identity, () => 0).next()).toThrow('must grow');
    const source = new BallotSource(identity, sequential);
    source.observe({ counter: MAX_COUNTER, proposer: 'x', incarnation: 1 });
    expect(() => source.next()).toThrow('exhausted');
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
