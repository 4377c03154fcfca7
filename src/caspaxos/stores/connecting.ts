/**
 * How a store comes to what it works with: opened on first use, shared by all calls, opened again after it broke. After a
 * failure calls fail at once for a moment, instead of each trying for itself.
 */
const AGAIN_AFTER_MS = 100;

export class Connecting<T extends object> {
  readonly #open: () => Promise<T>;
  #opening: Promise<T> | undefined;
  #opened: T | undefined;
  #failure: unknown;
  #failedAt = -Infinity;

  constructor(open: () => Promise<T>) {
    this.#open = open;
  }

  async get(): Promise<T> {
    if (this.#opening === undefined) {
      if (performance.now() - this.#failedAt < AGAIN_AFTER_MS) throw this.#failure;
      this.#opening = this.#begin();
    }
    return this.#opening;
  }

  /** It turned out to be broken. What was opened since then is not. */
  drop(broken: T, error: unknown): void {
    if (this.#opened === broken) this.#fail(error);
  }

  /** Opens again with the next call, whatever happened before. */
  reset(): void {
    this.#opening = undefined;
    this.#opened = undefined;
    this.#failedAt = -Infinity;
  }

  async #begin(): Promise<T> {
    try {
      this.#opened = await this.#open();
      return this.#opened;
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #fail(error: unknown): void {
    this.#opening = undefined;
    this.#opened = undefined;
    this.#failure = error;
    this.#failedAt = performance.now();
  }
}
