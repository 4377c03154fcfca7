/**
 * Deadlines of many calls on one timer. It looks every few milliseconds while there is anything to look at, which is
 * cheaper than a timer for each of tens of thousands of calls a second, and keeps the process alive while a caller waits.
 */
import type { Host, Timer } from '../protocol/index.ts';

const RESOLUTION_MS = 10;

/** A call that has a deadline. */
export interface Expiring {
  /** On this process' monotonic clock. */
  readonly deadlineAt: number;
  expire(why: 'late' | 'closed'): void;
}

export class Deadlines {
  readonly #calls = new Set<Expiring>();
  readonly #host: Host;
  #timer: Timer | undefined;

  constructor(host: Host) {
    this.#host = host;
  }

  add(call: Expiring): void {
    this.#calls.add(call);
    this.#timer ??= this.#host.after(RESOLUTION_MS, this.#look);
  }

  remove(call: Expiring): void {
    this.#calls.delete(call);
  }

  endAll(): void {
    this.#expire([...this.#calls], 'closed');
    this.#stop();
  }

  /** The latest first: what waits for another call is ended before that ends and lets it begin. */
  #expire(calls: readonly Expiring[], why: 'late' | 'closed'): void {
    for (const call of calls.toReversed()) call.expire(why);
  }

  readonly #look = (): void => {
    const now = this.#host.now();
    const late: Expiring[] = [];
    for (const call of this.#calls) if (call.deadlineAt <= now) late.push(call);
    this.#expire(late, 'late');
    this.#timer = this.#calls.size === 0 ? undefined : this.#host.after(RESOLUTION_MS, this.#look);
  };

  #stop(): void {
    this.#host.cancel(this.#timer);
    this.#timer = undefined;
  }
}
