import { describe, expect, test } from 'vitest';
import {
  BUSY_INTERVALS,
  type Purpose,
  RequestBudget,
  ROUNDS_PER_INTERVAL,
  ROUNDS_UNANSWERED,
} from './budget.ts';

const INTERVAL = 30_000;

/** Spends on that purpose whenever it may, from a moment on; how many rounds it gets out of so many intervals. */
function spent(budget: RequestBudget, purpose: Purpose, from: number, intervals: number): number {
  let count = 0;
  for (;;) {
    const at = Math.max(from, budget.readyAt(purpose));
    if (at >= from + intervals * INTERVAL) return count;
    budget.spend(at);
    count += 1;
  }
}

describe('the budget of an agent', () => {
  test('in 120 intervals it gives twice what the calm takes, and no more', () => {
    const budget = new RequestBudget(INTERVAL);
    const calm = 2 * BUSY_INTERVALS;
    const rounds = spent(budget, 'renewal', 1000, BUSY_INTERVALS);
    expect(rounds).toBeLessThanOrEqual(2 * calm);
    expect(rounds).toBeGreaterThanOrEqual(2 * calm - 1);
    // And then it goes on at less.
    expect(spent(budget, 'renewal', 1000 + BUSY_INTERVALS * INTERVAL, 10)).toBeLessThanOrEqual(
      10 * ROUNDS_PER_INTERVAL + 1,
    );
  });

  test('a failover finds enough at once, and heartbeats in the calm are never kept waiting', () => {
    expect(spent(new RequestBudget(INTERVAL), 'update', 1000, 0.1)).toBeGreaterThan(50);
    const budget = new RequestBudget(INTERVAL);
    for (let beat = 1; beat < 500; beat += 1) {
      expect(budget.readyAt('update')).toBeLessThan(beat * INTERVAL);
      budget.spend(beat * INTERVAL);
      budget.spend(beat * INTERVAL + 50);
    }
  });

  test('what is left goes to renewals first, then to updates, then to looks', () => {
    const budget = new RequestBudget(INTERVAL);
    const now = 5000;
    while (budget.readyAt('look') <= now) budget.spend(now);
    expect(budget.readyAt('update')).toBeLessThanOrEqual(now);
    while (budget.readyAt('update') <= now) budget.spend(now);
    expect(budget.readyAt('renewal')).toBeLessThanOrEqual(now);
    while (budget.readyAt('renewal') <= now) budget.spend(now);
    const waits = (['renewal', 'update', 'look'] as const).map((purpose) => budget.readyAt(purpose) - now);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[0]).toBeCloseTo(INTERVAL / ROUNDS_PER_INTERVAL, 6);
  });

  test('while nobody answers it gives what the calm takes, and keeps most for when somebody does', () => {
    const budget = new RequestBudget(INTERVAL);
    budget.unanswered();
    expect(spent(budget, 'update', 1000, 0.01)).toBe(20);
    expect(spent(budget, 'update', 1000 + INTERVAL, 100)).toBeLessThanOrEqual(101 * ROUNDS_UNANSWERED);
    budget.answered();
    expect(spent(budget, 'update', 1000 + 101 * INTERVAL, 0.01)).toBeGreaterThan(30);
  });

  test('before the interval is known it is a long one; from then on it is that', () => {
    const budget = new RequestBudget();
    while (budget.readyAt('renewal') <= 1000) budget.spend(1000);
    expect(budget.readyAt('renewal')).toBeCloseTo(1000 + 30_000 / ROUNDS_PER_INTERVAL, 6);
    budget.paceBy(900);
    expect(budget.readyAt('renewal')).toBeCloseTo(1000 + 900 / ROUNDS_PER_INTERVAL, 6);
  });

  test('what brought nothing new is asked again from a part of it; one update in an interval is always paid', () => {
    const budget = new RequestBudget(INTERVAL);
    budget.learned(false);
    expect(spent(budget, 'look', 1000, 0.01)).toBe(36);
    budget.learned(true);
    while (budget.readyAt('renewal') <= 2000) budget.spend(2000);
    budget.learned(false);
    expect(budget.readyAt('update')).toBe(2000 + INTERVAL);
    expect(budget.readyAt('look')).toBeGreaterThan(2000 + 5 * INTERVAL);
    expect(budget.isLow(2000)).toBe(true);
    expect(budget.isLow(2000 + 10 * INTERVAL)).toBe(false);
  });
});
