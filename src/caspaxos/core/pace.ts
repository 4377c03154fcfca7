/**
 * How long a round takes here lately: the unit in which a proposer waits for others (`backoff.ts`).
 *
 * It is learnt from every round that gets its quorum, whatever becomes of the change. If only changes that are committed taught it,
 * proposers that keep each other from committing would never learn that they wait too short a time, and would go on like that.
 */
export class Pace {
  #roundMs: number;
  #learnt = 0;

  /** What to go by until there is something to go by. */
  constructor(roundMs = 1) {
    this.#roundMs = roundMs;
  }

  get roundMs(): number {
    return this.#roundMs;
  }

  /** A round got its quorum after so long. */
  learn(ms: number): void {
    this.#learnt = Math.min(this.#learnt + 1, ROUNDS);
    this.#roundMs += (ms - this.#roundMs) / this.#learnt;
  }

  /** A round that was lost, or in which some were asked later, says that one takes so long at least. */
  learnAtLeast(ms: number): void {
    if (ms > this.#roundMs) this.learn(ms);
  }
}

/** The average goes back about so far. */
const ROUNDS = 16;
