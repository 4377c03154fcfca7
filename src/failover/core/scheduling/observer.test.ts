import { describe, expect, test } from 'vitest';
import { certainlyOver } from '../time.ts';
import { lookAgainMs, mayDeclareSilence } from './observer.ts';

const waitMs = certainlyOver(45_000);

describe('an observer of a writer', () => {
  test('waits for a lease, and for as long as two clocks can disagree about it (rule 4)', () => {
    expect(waitMs).toBeCloseTo(45_000 * (1.001 / 0.999), 9);
    expect(waitMs).toBeGreaterThan(45_000);
  });

  test('looks at its next heartbeat, or, with the element, when the wait is over', () => {
    const watch = { learnedMsAgo: 30_000, waitMs, heartbeatInMs: 30_000 };
    expect(lookAgainMs('heartbeat', watch)).toBe(30_000);
    expect(lookAgainMs('lease expiry', watch)).toBe(15_091);
  });

  test('never looks later than its heartbeat, and never in the past', () => {
    expect(lookAgainMs('lease expiry', { learnedMsAgo: 100, waitMs, heartbeatInMs: 30_000 })).toBe(30_000);
    expect(lookAgainMs('lease expiry', { learnedMsAgo: 50_000, waitMs, heartbeatInMs: 10_000 })).toBe(0);
  });

  test('may declare silence when it has waited, not before: looking when told is late enough', () => {
    const learnedMsAgo = 40_000;
    const wake = lookAgainMs('lease expiry', { learnedMsAgo, waitMs, heartbeatInMs: 30_000 });
    expect(mayDeclareSilence({ learnedMsAgo: learnedMsAgo + wake, waitMs })).toBe(true);
    expect(mayDeclareSilence({ learnedMsAgo: learnedMsAgo + wake - 1, waitMs })).toBe(false);
  });
});
