import { describe, expect, test } from 'vitest';
import { flexible, majority } from './core/index.ts';
import { Urgency } from './urgency.ts';

const TIMEOUT_MS = 1000;

function urgentOf(urgency: Urgency, size: number): number[] {
  return Array.from({ length: size }, (_, index) => index).filter((index) => urgency.isUrgent(index));
}

/** Every acceptor answers so many times, in its own time. */
function answer(urgency: Urgency, times: readonly number[], rounds = 100): void {
  for (let round = 0; round < rounds; round += 1)
    for (const [index, ms] of times.entries()) urgency.took(index, ms);
}

describe('who is asked first', () => {
  test('is a quorum from the start', () => {
    expect(urgentOf(new Urgency(majority(5)), 5)).toHaveLength(3);
  });

  test('is the fastest quorum after a while', () => {
    const urgency = new Urgency(majority(5));
    answer(urgency, [9, 1, 8, 2, 3]);
    expect(urgentOf(urgency, 5)).toEqual([1, 3, 4]);
  });

  test('is enough for both phases when quorums are flexible', () => {
    const urgency = new Urgency(flexible(5, 2, 4));
    answer(urgency, [5, 4, 3, 2, 1]);
    expect(urgentOf(urgency, 5)).toEqual([1, 2, 3, 4]);
  });

  test('leaves out an acceptor that fails, and takes it back when it answers fast again', () => {
    const urgency = new Urgency(majority(3));
    answer(urgency, [1, 1, 5]);
    expect(urgentOf(urgency, 3)).toEqual([0, 1]);
    urgency.failed(0, TIMEOUT_MS);
    expect(urgentOf(urgency, 3)).toEqual([1, 2]);
    answer(urgency, [1, 1, 5], 200);
    expect(urgentOf(urgency, 3)).toEqual([0, 1]);
  });

  test('does not change for a small difference', () => {
    const urgency = new Urgency(majority(3));
    answer(urgency, [1, 1, 1.1]);
    const before = urgentOf(urgency, 3);
    answer(urgency, [1.1, 1.1, 1]);
    expect(urgentOf(urgency, 3)).toEqual(before);
  });
});
