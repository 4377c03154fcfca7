/**
 * Deadlines of many calls on one timer. It looks every few milliseconds while there is anything to look at, which is
 * cheaper than a timer for each of tens of thousands of calls a second, and keeps the process alive while a caller waits.
 */
const RESOLUTION_MS = 10;

interface Entry {
  readonly at: number;
  readonly expire: (why: 'late' | 'closed') => void;
}

export class Deadlines {
  readonly #entries = new Map<object, Entry>();
  #timer: NodeJS.Timeout | undefined;

  add(call: object, at: number, expire: (why: 'late' | 'closed') => void): void {
    this.#entries.set(call, { at, expire });
    this.#timer ??= setInterval(() => this.#look(), RESOLUTION_MS);
  }

  remove(call: object): void {
    this.#entries.delete(call);
  }

  /** Ends one call now. */
  expire(call: object): void {
    this.#entries.get(call)?.expire('late');
  }

  endAll(): void {
    for (const { expire } of this.#entries.values()) expire('closed');
    this.#stop();
  }

  #look(): void {
    const now = performance.now();
    for (const { at, expire } of this.#entries.values()) {
      if (at <= now) expire('late');
    }
    if (this.#entries.size === 0) this.#stop();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
