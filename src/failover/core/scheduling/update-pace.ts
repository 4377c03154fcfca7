/**
 * How long updates take lately, as a share of the interval in which one is due. Where they take long, the register's acceptors or
 * this machine's processors have more to do than they get done, and whoever can wait leaves them to those who cannot: fewer
 * partition-sets go home at a time (`moves.ts`), and regions that only watch beat less often (`../agent/agenda.ts`).
 */

/** Updates that take no more of an interval than this are quick. */
const QUICK_SHARE = 1 / 20;
/** How much of what they typically take the last one makes up, where thousands report. */
const UPDATE_WEIGHT = 1 / 64;

export class UpdatePace {
  readonly #weight: number;
  #share = 0;

  constructor(weight = UPDATE_WEIGHT) {
    this.#weight = weight;
  }

  /** An update took that long, where one is due every so often. */
  updated(ms: number, intervalMs: number): void {
    this.#share += (ms / intervalMs - this.#share) * this.#weight;
  }

  get isSlow(): boolean {
    return this.#share > QUICK_SHARE;
  }

  /** 1 where they are quick, and the less the longer they take. */
  get quickness(): number {
    return QUICK_SHARE / Math.max(QUICK_SHARE, this.#share);
  }
}
