/**
 * A monotonic clock that goes on while the machine is suspended. What a process measures durations with stops then (on Linux
 * CLOCK_MONOTONIC, which is `performance.now`); a lease does not. So whoever asks for the time gets what has passed for everybody
 * else, at the first question after a suspension, and a lease that is compared with it at each use is never used too long.
 *
 *   monotonic   fine, cheap, stands still while the machine does
 *   wall        cheap, and goes on, but anybody may set it: a step of it against the monotonic clock is a reason to look closer
 *   uptime      goes on and cannot be set, but takes long to ask and is coarse: the judge of what the step was
 */
export interface RawClocks {
  monotonic(): number;
  wallClock(): number;
  /** Milliseconds since the machine was started, suspended ones too. */
  uptime(): number;
}

/** A smaller step is nothing that a machine could have slept for. */
const STEP_MS = 10;
/** How coarse the uptime is, twice; and how coarse some containers make it. */
const GRAIN_MS = 20;
const COARSE_MS = 1000;
/** Without any step it is looked at that often. */
const EVERY_MS = 500;
/** A question of both clocks that was interrupted for longer is asked again, so often. */
const TOGETHER_MS = 2;
const TRIES = 4;

export class ContinuousClock {
  readonly #raw: RawClocks;
  /** By how much the others were ahead of the monotonic clock when they were looked at last. */
  #wallAhead = 0;
  #uptimeAhead = 0;
  #lookedAt = 0;
  #suspendedMs = 0;

  constructor(raw: RawClocks) {
    this.#raw = raw;
    const { monotonic, wall, uptime } = this.#together();
    this.#wallAhead = wall - monotonic;
    this.#uptimeAhead = uptime - monotonic;
    this.#lookedAt = monotonic;
  }

  /** How long the machine has been suspended since this clock was made. */
  get suspendedMs(): number {
    return this.#suspendedMs;
  }

  now(): number {
    const monotonic = this.#raw.monotonic();
    const step = this.#raw.wallClock() - monotonic - this.#wallAhead;
    if (step > STEP_MS || step < -STEP_MS || monotonic - this.#lookedAt >= EVERY_MS) this.#look();
    return monotonic + this.#suspendedMs;
  }

  /**
   * A wall clock that stepped by what the uptime says, as far as that can say it, was not set: it knows the rest. One that did not
   * step at all has been set at the same time, or the uptime is one that goes by the second.
   */
  #look(): void {
    const { monotonic, wall, uptime } = this.#together();
    const wallStep = wall - monotonic - this.#wallAhead;
    const slept = uptime - monotonic - this.#uptimeAhead;
    this.#wallAhead = wall - monotonic;
    this.#lookedAt = monotonic;
    if (slept <= (Math.abs(wallStep) > STEP_MS ? GRAIN_MS : COARSE_MS)) return;
    const suspended = Math.abs(wallStep - slept) <= GRAIN_MS ? wallStep : slept;
    this.#suspendedMs += suspended;
    this.#uptimeAhead += suspended;
  }

  /** All three at one moment: whoever is interrupted between two of them would see a suspension that was none. */
  #together(): { readonly monotonic: number; readonly wall: number; readonly uptime: number } {
    for (let left = TRIES; ; left -= 1) {
      const before = this.#raw.monotonic();
      const wall = this.#raw.wallClock();
      const uptime = this.#raw.uptime();
      const monotonic = this.#raw.monotonic();
      if (monotonic - before <= TOGETHER_MS || left === 0) return { monotonic, wall, uptime };
    }
  }
}
