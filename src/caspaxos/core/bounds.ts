/**
 * Which ballot counters are believed (DESIGN: CASPaxos rule 11). Counters are counted, or follow a clock in milliseconds
 * since 1970; nothing correct comes anywhere near the end of the numbers. But one broken or hostile message could: if its
 * counter were taken as it is, the register would have no higher ballot left, and no change would ever pass again.
 *
 *   0          clock     + 4 years            + 1100 years       + 2200 years                2^52
 *   ├── ordinary ──┴─ near ─┴─ believed when needed ─┴─ left for the second band ─┴─ refused ───┤
 *   2^52                                                                                     2^53
 *   ├── the second band: the same again, counted from 2^52
 *
 * - An acceptor refuses a counter that is further ahead of its clock than `FARTHEST`. The bound moves on with the clock, by a
 *   thousand ballots a second, so a register that was pushed to it is never stuck there for good. It does not depend on what
 *   the acceptor holds: nobody can move it step by step.
 * - A proposer that is told of a counter goes above it at once only if that is near its clock. Otherwise whoever said so counts
 *   as down for this register, unless no quorum is possible without it.
 * - Where a quorum cannot do without a counter that is far ahead, the proposer goes on in the second band. That is the way back
 *   for registers whose acceptors took such a counter in an earlier release, which knew no bound below 2^52: every ballot of the
 *   second band is higher than every such ballot, so nothing that was promised is forgotten.
 *
 * Safety rests on none of this. A refused or ignored message is a lost message, and a proposer may choose any ballot that it has
 * not used, so all that a wrong bound or a wrong clock can cost is attempts.
 */
import { LATEST_CLOCK_MS } from '../../protocol/index.ts';

/** The end of the first band. Earlier releases took every counter up to it. */
export const SECOND_BAND = 2 ** 52;

/** A clock that was never set counts as one in 2039. */
const EARLIEST_MS = 2 ** 41;

/** Rivals' clocks may be wrong by years: 4.3 of them. */
const NEAR = 2 ** 37;
/** Not even a register that counts a hundred thousand ballots a second for centuries gets that far. */
const FAR = 2 ** 45;
/** What an acceptor takes is more than what a proposer goes up to in the first band, whatever their clocks say. */
const FARTHEST = 2 ** 46;

/** The counter's place in its band. */
function placeOf(counter: number): number {
  return counter > SECOND_BAND ? counter - SECOND_BAND : counter;
}

/** Whether an acceptor takes a ballot with that counter. */
export function isAdmitted(counter: number, nowMs: number): boolean {
  return placeOf(counter) <= reasonable(nowMs) + FARTHEST;
}

/** Whether a proposer whose ballots are at `own` goes above that counter without being in need of it. */
export function isNear(counter: number, own: number, nowMs: number): boolean {
  if (counter <= own) return true;
  const isSameBand = counter > SECOND_BAND === own > SECOND_BAND;
  return isSameBand && placeOf(counter) <= reasonable(nowMs) + NEAR;
}

/** Whether an acceptor can have promised it, be it one of an earlier release. What it cannot have promised is a lie. */
export function isPossible(counter: number, nowMs: number): boolean {
  return counter <= SECOND_BAND || isAdmitted(counter, nowMs);
}

/** Whether a proposer that has to go above that counter does so in the second band. */
export function isFar(counter: number, nowMs: number): boolean {
  return counter <= SECOND_BAND && counter > reasonable(nowMs) + FAR;
}

function reasonable(nowMs: number): number {
  return nowMs > EARLIEST_MS ? Math.min(nowMs, LATEST_CLOCK_MS) : EARLIEST_MS;
}
