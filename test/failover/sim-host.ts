/** A host whose time passes when the test says so: for what waits, in tests that must not. */
import type { Host, Timer } from 'baton/protocol';

interface Waiting {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class SimHost implements Host {
  /** The most timers that were set at one moment. */
  mostTimers = 0;
  /** What the wall clock shows besides the time that has passed. */
  wallOffset = Date.UTC(2026, 0, 1);
  #now = 0;
  #orders = 0;
  readonly #waiting = new Set<Waiting>();

  now(): number {
    return this.#now;
  }

  wallClock(): number {
    return this.wallOffset + this.#now;
  }

  after(ms: number, run: () => void): Timer {
    this.#orders += 1;
    const waiting = { at: this.#now + Math.max(0, ms), order: this.#orders, run };
    this.#waiting.add(waiting);
    this.mostTimers = Math.max(this.mostTimers, this.#waiting.size);
    return waiting;
  }

  cancel(timer: Timer | undefined): void {
    this.#waiting.delete(timer as Waiting);
  }

  soon(run: () => void): void {
    this.after(0, run);
  }

  random(): number {
    return 0.5;
  }

  randomInteger(bound: number): number {
    return Math.floor(bound / 2);
  }

  randomId(): string {
    return 'id';
  }

  /** Lets time pass up to that moment; what was due rings on the way. */
  run(untilMs: number): void {
    for (;;) {
      const next = [...this.#waiting].sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (next === undefined || next.at > untilMs) break;
      this.#waiting.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = Math.max(this.#now, untilMs);
  }

  /** The process stands still: time passes, nothing rings until it is over. */
  stall(ms: number): void {
    this.#now += ms;
  }
}
