import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Fleet } from '../../../../test/failover/fleet.ts';
import { brokenBy } from '../../../../test/failover/invariants.ts';
import { lineOf } from '../../../../test/failover/print.ts';
import { aMove, type Move, reportFor } from '../../../../test/failover/random-reports.ts';
import { configurationOf } from '../../../../test/failover/reports.ts';
import type { Configuration } from './configuration.ts';
import { newState } from './create.ts';
import { parseReport, parseState } from './schema.ts';
import type { FailoverState } from './state.ts';
import { transition } from './transition.ts';

const SEED = 20_260_301;

const configurations: fc.Arbitrary<Configuration> = fc
  .record({
    consistency: fc.constantFrom('Strong', 'Strong', 'BoundedStaleness', 'Session'),
    minDurability: fc.integer({ min: 1, max: 3 }),
    signals: fc.constantFrom({}, { disk: 'graceful', traffic: 'failover' }),
  })
  .map((changes) => configurationOf(changes as Partial<Configuration>));

const stories = fc.tuple(configurations, fc.array(aMove, { maxLength: 60, size: 'max' }));

/** Every state of the story, and the update that led to it. */
function play(
  [configuration, moves]: readonly [Configuration, readonly Move[]],
  see: (before: FailoverState, move: Move) => FailoverState,
): FailoverState {
  return moves.reduce(see, deepFreeze(newState('orders-7', configuration)));
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

function next(before: FailoverState, move: Move): FailoverState {
  const verdict = transition(before, deepFreeze(reportFor(before, move)));
  return verdict.verdict === 'accepted' ? deepFreeze(verdict.state) : before;
}

describe('whatever is reported', () => {
  test('random reports never break an invariant', () => {
    fc.assert(
      fc.property(stories, (story) => {
        play(story, (before, move) => {
          const report = reportFor(before, move);
          const after = next(before, move);
          expect(brokenBy({ before, report, after })).toEqual([]);
          return after;
        });
      }),
      { seed: SEED, numRuns: 400 },
    );
  });

  test('and the random reports lead to every kind of change, for every reason', () => {
    const missing = new Set([
      'final',
      ...['silence', 'unable', 'stop', 'signal', 'forced'].flatMap((why) => [
        `raised: ${why}`,
        `elected: ${why}`,
      ]),
      ...['priority', 'operator', 'signal', 'leaving'].flatMap((why) => [
        `began: ${why}`,
        `switched: ${why}`,
      ]),
      ...['took too long', 'target gone', 'writer restarted', 'withdrawn'].map((why) => `gave up: ${why}`),
    ]);
    for (const story of fc.sample(stories, { seed: SEED, numRuns: 2000 })) {
      if (missing.size === 0) break;
      play(story, (before, move) => {
        const after = next(before, move);
        for (const entry of after.history) missing.delete(`${entry.what}: ${entry.why}`);
        if (after.final !== undefined) missing.delete('final');
        return after;
      });
    }
    expect([...missing]).toEqual([]);
  });

  test('the same pair gives the same result, and neither the state nor the report is touched', () => {
    fc.assert(
      fc.property(stories, (story) => {
        play(story, (before, move) => {
          const report = deepFreeze(reportFor(before, move));
          const first = transition(before, report);
          expect(transition(structuredClone(before), structuredClone(report))).toStrictEqual(first);
          return next(before, move);
        });
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  test('a state is JSON, has the right form, and a refusal or a stale report leaves it as it was', () => {
    fc.assert(
      fc.property(stories, (story) => {
        play(story, (before, move) => {
          const report = reportFor(before, move);
          expect(parseReport(report)).toStrictEqual({ value: report });
          const verdict = transition(before, report);
          if (verdict.verdict === 'stale') expect(verdict.state).toBe(before);
          if (verdict.verdict !== 'accepted') return before;
          const stored = JSON.parse(JSON.stringify(verdict.state)) as unknown;
          expect(stored).toStrictEqual(verdict.state);
          expect(parseState(stored)).toStrictEqual({ value: verdict.state });
          return verdict.state;
        });
      }),
      { seed: SEED, numRuns: 100 },
    );
  });
});

describe('no state is terminal', () => {
  test('from every state that was reached, a fleet in which enough regions report writes again, and goes on', () => {
    fc.assert(
      fc.property(stories, fc.nat(15), (story, mask) => {
        const fleet = Fleet.around(play(story, next));
        // Who has paused it, or has set a limit to what may be lost, must decide now.
        fleet.post({ kind: 'resume' }, { id: 'resume-at-last' });
        fleet.post({ kind: 'maximum loss', writes: null }, { id: 'lose-what-must-be' });
        killAllBut(fleet, mask);
        const lease = Math.max(fleet.state.leaseMs, fleet.state.configuration.timings.leaseMs);
        fleet.run(3 * lease);
        waitForWrites(fleet, lease);
        expect(fleet.writing, lineOf(fleet.state)).toBeDefined();
        const { gcn, writer, regions } = fleet.state;
        fleet.run(2 * lease);
        waitForWrites(fleet, lease);
        expect(fleet.writing, lineOf(fleet.state)).toBeDefined();
        const isSameReign = fleet.state.gcn === gcn;
        if (isSameReign) expect(fleet.state.regions[writer!]!.beat).toBeGreaterThan(regions[writer!]!.beat);
      }),
      { seed: SEED, numRuns: 150 },
    );
  });
});

/** Regions die, but not so many that nobody could write: one that may be elected, and the minimum durability, are left. */
function killAllBut(fleet: Fleet, mask: number): void {
  const { regions, leaseSet, configuration } = fleet.state;
  const { minDurability, wanted } = configuration;
  const dead = Object.keys(regions).filter((_, index) => ((mask >> index) & 1) === 1);
  const left = Object.keys(regions).filter((name) => !dead.includes(name) && regions[name]!.leaving !== true);
  const isEnough = left.length >= Math.max(minDurability, wanted?.minDurability ?? 1);
  if (isEnough && left.some((name) => leaseSet.includes(name))) for (const name of dead) fleet.kill(name);
}

/** A planned move may be under way just now; that is soon over. */
function waitForWrites(fleet: Fleet, lease: number): void {
  for (let waited = 0; waited < lease && fleet.writing === undefined; waited += 500) fleet.run(500);
}
