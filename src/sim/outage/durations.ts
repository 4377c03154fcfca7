/**
 * Durations counted in tenths of a second: exact enough for the paper's histograms, and for a percentile that decides whether
 * a goal was met; plain to add up, and as small for a hundred thousand as for ten.
 */
const BIN_MS = 100;

export interface DurationsSnapshot {
  readonly bins: readonly (readonly [bin: number, count: number])[];
  readonly sum: number;
  readonly max: number;
}

export class Durations {
  readonly #bins = new Map<number, number>();
  #count = 0;
  /** In whole microseconds, so that the sum does not depend on the order of its parts. */
  #sum = 0;
  #max = 0;

  record(ms: number): void {
    this.#note(Math.floor(ms / BIN_MS), 1);
    this.#sum += Math.round(ms * 1000);
    this.#max = Math.max(this.#max, ms);
  }

  snapshot(): DurationsSnapshot {
    return { bins: this.#sorted(), sum: this.#sum, max: this.#max };
  }

  add({ bins, sum, max }: DurationsSnapshot): void {
    for (const [bin, count] of bins) this.#note(bin, count);
    this.#sum += sum;
    this.#max = Math.max(this.#max, max);
  }

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / 1000 / this.#count;
  }

  get max(): number {
    return this.#max;
  }

  /** `share` in 0 .. 1: in milliseconds, rounded up to a tenth of a second; 0 when nothing was recorded. */
  percentile(share: number): number {
    let left = this.#count * share;
    for (const [bin, count] of this.#sorted()) {
      left -= count;
      if (left <= 0) return Math.min(this.#max, (bin + 1) * BIN_MS);
    }
    return this.#max;
  }

  /** How many took from `index * widthMs` to just under the next; up to the last that is not empty. */
  histogram(widthMs: number): readonly number[] {
    const bars: number[] = [];
    for (const [bin, count] of this.#sorted()) {
      const bar = Math.floor((bin * BIN_MS) / widthMs);
      while (bars.length <= bar) bars.push(0);
      bars[bar]! += count;
    }
    return bars;
  }

  #note(bin: number, count: number): void {
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + count);
    this.#count += count;
  }

  #sorted(): readonly (readonly [number, number])[] {
    return [...this.#bins].toSorted(([a], [b]) => a - b);
  }
}
