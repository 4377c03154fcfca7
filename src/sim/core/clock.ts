/**
 * The clocks of a simulated machine. No two agree: each began at its own moment and runs at its own rate. True time is
 * the simulator's and nobody else's.
 */
export interface ClockErrors {
  /** By how much the wall clock is wrong. */
  readonly offsetMs: number;
  /** How much faster (or, below zero, slower) both clocks run than true time: 0.001 gains a millisecond a second. */
  readonly drift: number;
}

export const PERFECT_CLOCK: ClockErrors = { offsetMs: 0, drift: 0 };

export class DriftingClock {
  readonly #rate: number;
  #offsetMs: number;

  constructor({ offsetMs, drift }: ClockErrors = PERFECT_CLOCK) {
    this.#rate = 1 + drift;
    this.#offsetMs = offsetMs;
  }

  /** The monotonic clock at that true time. */
  monotonic(trueMs: number): number {
    return trueMs * this.#rate;
  }

  wallClock(trueMs: number): number {
    return trueMs * this.#rate + this.#offsetMs;
  }

  /** Somebody sets the wall clock: it jumps, the monotonic one does not. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  /** How long a wait of so many milliseconds on this clock takes in true time. */
  trueDelay(localMs: number): number {
    return localMs / this.#rate;
  }
}
