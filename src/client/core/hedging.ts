/**
 * How many reads may be asked a second time. A hedge helps while one region is slow; when all of them are, hedges would double
 * the load that makes them so. Each read therefore earns a part of a hedge, and never are there more than the reads have paid for.
 */
export interface HedgeLimits {
  /** Hedges for each read, in the long run. */
  readonly ratio: number;
  /** How many may be saved up; also what there is at the start, up to one. */
  readonly saved: number;
}

export const HEDGE_LIMITS: HedgeLimits = { ratio: 0.1, saved: 10 };

export class HedgeBudget {
  readonly #limits: HedgeLimits;
  #left: number;

  constructor(limits: HedgeLimits = HEDGE_LIMITS) {
    this.#limits = limits;
    this.#left = Math.min(1, limits.saved);
  }

  /** A read begins. */
  earn(): void {
    this.#left = Math.min(this.#limits.saved, this.#left + this.#limits.ratio);
  }

  /** False: not now. */
  spend(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
