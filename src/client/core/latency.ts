/** How long answers take, as a moving mean and a moving deviation: enough for "about the 95th percentile", in two numbers. */
const MEAN_WEIGHT = 1 / 8;
const DEVIATION_WEIGHT = 1 / 4;

export class Latency {
  #meanMs: number | undefined;
  #deviationMs = 0;

  add(ms: number): void {
    if (this.#meanMs === undefined) {
      this.#meanMs = ms;
      this.#deviationMs = ms / 2;
      return;
    }
    const error = ms - this.#meanMs;
    this.#meanMs += MEAN_WEIGHT * error;
    this.#deviationMs += DEVIATION_WEIGHT * (Math.abs(error) - this.#deviationMs);
  }

  /** Undefined before the first answer, like the others. */
  get meanMs(): number | undefined {
    return this.#meanMs;
  }

  get p95Ms(): number | undefined {
    return this.#meanMs === undefined ? undefined : this.#meanMs + 2 * this.#deviationMs;
  }

  get p99Ms(): number | undefined {
    return this.#meanMs === undefined ? undefined : this.#meanMs + 4 * this.#deviationMs;
  }
}
