/**
 * The window of a closed-loop measurement: operations count that begin after the warm-up and end in the seconds that follow. On a
 * machine so busy that nothing has ended by then, it stays open until the first operation that counts has, so that a figure is
 * never that of nothing.
 */
export class Window {
  readonly begin: number;
  readonly #end: number;
  #lastAt: number;
  #counted = 0;

  /** `seconds` may be infinite: then somebody else says when it is over. */
  constructor(warmUpMs: number, seconds: number) {
    this.begin = performance.now() + warmUpMs;
    this.#end = this.begin + seconds * 1000;
    this.#lastAt = this.#end;
  }

  /** So many of what counted, for each second that it was open: in whole numbers, unless these would say nothing. */
  rateOf(operations: number): number {
    const rate = (operations * 1000) / (this.#lastAt - this.begin);
    return rate < 10 ? Math.round(rate * 1000) / 1000 : Math.round(rate);
  }

  /** Whether another operation may begin. */
  isOpenAt(now: number): boolean {
    return now < this.#end || this.#counted === 0;
  }

  isOverAt(now: number): boolean {
    return now >= this.#end;
  }

  /** Whether an operation that took from `before` to `after` counts. To be asked once for each. */
  counts(before: number, after: number): boolean {
    if (before < this.begin || (after > this.#end && this.#counted > 0)) return false;
    this.#counted += 1;
    this.#lastAt = Math.max(this.#end, after);
    return true;
  }
}
