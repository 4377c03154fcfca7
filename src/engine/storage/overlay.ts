/**
 * The newest part of an index, in memory: what changed since the last flush began, and above it what a flush is writing just
 * now. Every document that is written would otherwise cost a page of the database in every commit; so the index is written
 * seldom and in its own order, and after a crash the end of the log, which has it all, is read again.
 *
 * While a flush is under way it leaves out what has changed again in the meantime: that is in the log behind the flush, or
 * was corrected in the database by whoever undid something.
 */
export class Overlay<Value> {
  #newer = new Map<string, Value>();
  #flushing: ReadonlyMap<string, Value> = new Map();
  #order: readonly string[] = [];
  #at = 0;

  /** How many changes wait for a flush. */
  get unflushed(): number {
    return this.#newer.size;
  }

  get isFlushing(): boolean {
    return this.#flushing.size > 0;
  }

  /** Whether the flush has given out everything. */
  get isDrained(): boolean {
    return this.#at >= this.#order.length;
  }

  get(key: string): Value | undefined {
    return this.#newer.get(key) ?? this.#flushing.get(key);
  }

  has(key: string): boolean {
    return this.#newer.has(key) || this.#flushing.has(key);
  }

  set(key: string, value: Value): void {
    this.#newer.set(key, value);
  }

  *[Symbol.iterator](): IterableIterator<[string, Value]> {
    yield* this.#newer;
    for (const pair of this.#flushing) if (!this.#newer.has(pair[0])) yield pair;
  }

  clear(): void {
    this.#newer = new Map();
    this.#endFlush();
  }

  beginFlush(): void {
    this.#flushing = this.#newer;
    this.#newer = new Map();
    this.#order = [...this.#flushing.keys()].sort();
    this.#at = 0;
  }

  /** The next of the flush, at most so many, in order. */
  *drain(limit: number): IterableIterator<[string, Value]> {
    const end = Math.min(this.#order.length, this.#at + limit);
    while (this.#at < end) {
      const key = this.#order[this.#at]!;
      this.#at += 1;
      if (!this.#newer.has(key)) yield [key, this.#flushing.get(key)!];
    }
  }

  /** What the flush gave out is in the database. */
  flushed(): void {
    if (this.isDrained) this.#endFlush();
  }

  #endFlush(): void {
    this.#flushing = new Map();
    this.#order = [];
    this.#at = 0;
  }
}
