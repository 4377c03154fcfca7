import type { Host, Timer } from 'baton/protocol';

/** A host whose time passes when the test says so. */
export class ManualHost implements Host {
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();
  #now = 0;

  now(): number {
    return this.#now;
  }

  wallClock(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Timer {
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    this.#timers.delete(timer as { at: number; run: () => void });
  }

  soon(run: () => void): void {
    setImmediate(run);
  }

  random(): number {
    return 0.5;
  }

  randomInteger(): number {
    return 0;
  }

  randomId(): string {
    return 'id';
  }

  get timers(): number {
    return this.#timers.size;
  }

  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [first] = [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      if (first === undefined) break;
      this.#timers.delete(first);
      this.#now = first.at;
      first.run();
    }
    this.#now = end;
  }
}
