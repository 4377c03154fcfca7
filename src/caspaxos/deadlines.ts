/**
 * Deadlines of many calls on one timer. It looks every few milliseconds while there is anything to look at, which is
 * cheaper than a timer for each of tens of thousands of calls a second, and keeps the process alive while a caller waits.
 */
const RESOLUTION_MS = 10;

/** A call that has a deadline. */
export interface Expiring {
  /** On this process' monotonic clock. */
  readonly deadlineAt: number;
  expire(why: 'late' | 'closed'): void;
}

export class Deadlines {
  readonly #calls = new Set<Expiring>();
  #timer: NodeJS.Timeout | undefined;

  add(call: Expiring): void {
    this.#calls.add(call);
    this.#timer ??= setInterval(() => this.#look(), RESOLUTION_MS);
  }

  remove(call: Expiring): void {
    this.#calls.delete(call);
  }

  endAll(): void {
    for (const call of this.#calls) call.expire('closed');
    this.#stop();
  }

  #look(): void {
    const now = performance.now();
    for (const call of this.#calls) if (call.deadlineAt <= now) call.expire('late');
    if (this.#calls.size === 0) this.#stop();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
