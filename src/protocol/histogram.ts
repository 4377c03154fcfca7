/**
 * Durations in buckets that grow by an eighth: a percentile is right to within 12 %, at a fixed cost in memory however
 * many are recorded.
 */
const BUCKETS_PER_DOUBLING = 8;
const SMALLEST = 0.001;
const BUCKETS = 30 * BUCKETS_PER_DOUBLING;

export interface HistogramSnapshot {
  readonly buckets: readonly (readonly [bucket: number, count: number])[];
  readonly sum: number;
  readonly max: number;
}

export class Histogram {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #sum = 0;
  #max = 0;

  record(value: number): void {
    const bucket = Math.floor(Math.log2(Math.max(value, SMALLEST) / SMALLEST) * BUCKETS_PER_DOUBLING);
    const at = Math.min(BUCKETS - 1, bucket);
    this.#counts[at] = this.#counts[at]! + 1;
    this.#count += 1;
    this.#sum += value;
    if (value > this.#max) this.#max = value;
  }

  /** Plain data, for another thread or process; `add` takes it in. */
  snapshot(): HistogramSnapshot {
    const buckets: [number, number][] = [];
    for (const [at, count] of this.#counts.entries()) if (count > 0) buckets.push([at, count]);
    return { buckets, sum: this.#sum, max: this.#max };
  }

  add({ buckets, sum, max }: HistogramSnapshot): void {
    for (const [at, count] of buckets) {
      this.#counts[at] = this.#counts[at]! + count;
      this.#count += count;
    }
    this.#sum += sum;
    this.#max = Math.max(this.#max, max);
  }

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  get max(): number {
    return this.#max;
  }

  /** `share` in 0 .. 1: the upper edge of the bucket in which that share is reached; 0 when nothing was recorded. */
  percentile(share: number): number {
    let left = this.#count * share;
    for (let at = 0; at < BUCKETS; at += 1) {
      left -= this.#counts[at]!;
      if (left <= 0 && this.#count > 0)
        return Math.min(this.#max, SMALLEST * 2 ** ((at + 1) / BUCKETS_PER_DOUBLING));
    }
    return this.#max;
  }
}
