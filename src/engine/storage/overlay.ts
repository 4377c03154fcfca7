/**
 * The newest part of an index, in memory: what changed since the last flush began, and above it what a flush is writing just
 * now. Every document that is written would otherwise cost a page of the database in every commit; so the index is written
 * seldom and in its own order, and after a crash the end of the log, which has it all, is read again.
 *
 * While a flush is under way it leaves out what has changed again in the meantime: that is in the log behind the flush, or
 * was corrected in the database by whoever undid something.
 */
import { SortedRuns } from './sorted-runs.ts';

export class Overlay<Value> {
  #newer = new Map<string, Value>();
  #newerKeys = new SortedRuns();
  #flushing: ReadonlyMap<string, Value> = new Map();
  /** Of the flush, in order. */
  #left: Iterator<string> | undefined;
  #leftCount = 0;

  /** How many changes wait for a flush. */
  get unflushed(): number {
    return this.#newer.size;
  }

  get isFlushing(): boolean {
    return this.#flushing.size > 0;
  }

  /** How many the flush has not given out yet. */
  get left(): number {
    return this.#leftCount;
  }

  get(key: string): Value | undefined {
    return this.#newer.get(key) ?? this.#flushing.get(key);
  }

  has(key: string): boolean {
    return this.#newer.has(key) || this.#flushing.has(key);
  }

  set(key: string, value: Value): void {
    const { size } = this.#newer;
    this.#newer.set(key, value);
    if (this.#newer.size > size) this.#newerKeys.add(key);
  }

  *[Symbol.iterator](): IterableIterator<[string, Value]> {
    yield* this.#newer;
    for (const pair of this.#flushing) if (!this.#newer.has(pair[0])) yield pair;
  }

  clear(): void {
    this.#newer = new Map();
    this.#newerKeys = new SortedRuns();
    this.#endFlush();
  }

  beginFlush(): void {
    this.#flushing = this.#newer;
    this.#left = this.#newerKeys.merged();
    this.#leftCount = this.#flushing.size;
    this.#newer = new Map();
    this.#newerKeys = new SortedRuns();
  }

  /** The next of the flush, at most so many, in order. */
  *drain(limit: number): IterableIterator<[string, Value]> {
    for (let count = Math.min(limit, this.#leftCount); count > 0; count -= 1) {
      const key = this.#left!.next().value as string;
      this.#leftCount -= 1;
      if (!this.#newer.has(key)) yield [key, this.#flushing.get(key)!];
    }
  }

  /** What the flush gave out is in the database. */
  flushed(): void {
    if (this.#leftCount === 0) this.#endFlush();
  }

  #endFlush(): void {
    this.#flushing = new Map();
    this.#left = undefined;
    this.#leftCount = 0;
  }
}
