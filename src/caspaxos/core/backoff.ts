/**
 * How long a proposer waits: after a lost attempt, and, while others are at work on the same register, before it begins.
 *
 * Several proposers that all want a register at once get through fastest, and all get through, if each picks its moment
 * at random in a window with room for everybody: about two rounds for each rival. A window that doubles with every loss
 * alone is not fair: whoever has just won starts again at once while those who lost wait ever longer. So the window follows
 * the number of rivals, and the winner of the last turn waits for its next one like the others.
 *
 * The unit is a successful round, measured here lately: right on a loopback and across an ocean.
 */
import type { LostBecause } from './proposer.ts';

export interface WaitingSituation {
  /** How many attempts of this change were lost; 0 before the first. */
  readonly lost: number;
  /** Undefined before the first attempt. */
  readonly because: LostBecause | undefined;
  /** Other proposers that refused us lately. */
  readonly rivals: number;
  readonly roundMs: number;
  /** In 0 .. 1. */
  readonly random: number;
}

export interface Backoff {
  /** Infinity: it does not try again, and the change ends. */
  delayMs(situation: WaitingSituation): number;
  /** A message of a call with this backoff goes to the acceptors. */
  sent?(): void;
}

const ROUNDS_EACH = 2;
const MAX_DOUBLINGS = 6;
const LONGEST_MS = 2000;
const UNAVAILABLE_MS = 20;

export const takeTurns: Backoff = {
  delayMs({ lost, because, rivals, roundMs, random }) {
    if (because === 'unavailable') {
      const base = Math.max(UNAVAILABLE_MS, roundMs);
      return Math.min(LONGEST_MS, base * random * 2 ** Math.min(lost, MAX_DOUBLINGS));
    }
    if (because === undefined && rivals === 0) return 0;
    return Math.min(LONGEST_MS, ROUNDS_EACH * (rivals + 1) * roundMs * random);
  },
};
