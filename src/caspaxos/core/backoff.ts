/**
 * How long a proposer waits after a lost attempt. Waiting a random share of a window that doubles lets one of several
 * contenders through; measuring the window in successful rounds keeps it right on a loopback and across an ocean.
 */
import type { LostBecause } from './proposer.ts';

export interface Backoff {
  /** `random` in 0 .. 1; `roundMs`: how long a successful round takes here. */
  delayMs(attempt: number, because: LostBecause, roundMs: number, random: number): number;
}

const MAX_DOUBLINGS = 6;
const LONGEST_MS = 2000;
const UNAVAILABLE_MS = 20;

export const exponentialBackoff: Backoff = {
  delayMs(attempt, because, roundMs, random) {
    const base = because === 'unavailable' ? Math.max(UNAVAILABLE_MS, roundMs) : roundMs;
    return Math.min(LONGEST_MS, base * random * 2 ** Math.min(attempt, MAX_DOUBLINGS));
  },
};
