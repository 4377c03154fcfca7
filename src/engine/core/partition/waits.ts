/** Requests that cannot be answered yet. They are tried again whenever something has changed, until their time is over. */
interface Wait {
  /** True when it has been answered. */
  readonly attempt: () => boolean;
  readonly deadlineAt: number;
  readonly expire: () => void;
}

/** Nothing happened for so long: they are tried again anyway. What they wait for may be a message that was lost. */
const AGAIN_MS = 100;

export class Waits {
  readonly #now: () => number;
  #waiting: Wait[] = [];
  #lookedAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#waiting.length;
  }

  get nextAt(): number {
    return this.#waiting.length === 0 ? Infinity : this.#lookedAt + AGAIN_MS;
  }

  /** Tries at once, and again later if that is too early. */
  add(wait: Wait): void {
    if (wait.attempt()) return;
    if (this.#waiting.length === 0) this.#lookedAt = this.#now();
    this.#waiting.push(wait);
  }

  /** Something has changed. Whoever waits may make others wait, or come back itself. */
  again(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    const still = waiting.filter(({ attempt }) => !attempt());
    this.#waiting = [...still, ...this.#waiting];
  }

  wake(now: number): void {
    if (now < this.nextAt) return;
    this.#lookedAt = now;
    this.again();
    const over = this.#waiting.filter(({ deadlineAt }) => deadlineAt <= now);
    this.#waiting = this.#waiting.filter(({ deadlineAt }) => deadlineAt > now);
    for (const { expire } of over) expire();
  }
}
