/**
 * What a load notices of the cluster. Its gap is what a failover costs those who write: in a partition-set, the time from
 * the first write that is waiting for its answer to the next one that is acknowledged, however many failed in between. A gap
 * counts while it lasts, and for ten seconds after its end.
 */

export interface LoadState {
  readonly on: boolean;
  /** Writes in a second, as they are wanted. */
  readonly perSecond: number;
  /** Writes. */
  readonly acknowledged: number;
  /** Writes and reads. */
  readonly failed: number;
  /** The longest of all partition-sets in the last ten seconds. */
  readonly worstGapMs: number;
}

const WINDOW_S = 10;

/** Times are milliseconds of a clock that never goes back. */
export class LoadFigures {
  acknowledged = 0;
  failed = 0;
  /** By partition-set: since when nothing that was asked for has been acknowledged. */
  readonly #waiting = new Map<string, number>();
  readonly #underWay = new Map<string, number>();
  /** The worst gap that ended in each of the last seconds. */
  readonly #worst = new Map<number, number>();

  underWayIn(partitionSet: string): number {
    return this.#underWay.get(partitionSet) ?? 0;
  }

  sent(partitionSet: string, now: number): void {
    this.#underWay.set(partitionSet, this.underWayIn(partitionSet) + 1);
    if (!this.#waiting.has(partitionSet)) this.#waiting.set(partitionSet, now);
  }

  acknowledge(partitionSet: string, now: number): void {
    this.acknowledged += 1;
    this.#ended(partitionSet);
    const gap = now - (this.#waiting.get(partitionSet) ?? now);
    const second = Math.floor(now / 1000);
    this.#worst.set(second, Math.max(gap, this.#worst.get(second) ?? 0));
    for (const old of this.#worst.keys()) if (old <= second - WINDOW_S) this.#worst.delete(old);
    if (this.underWayIn(partitionSet) > 0) this.#waiting.set(partitionSet, now);
    else this.#waiting.delete(partitionSet);
  }

  /** The gap goes on. */
  fail(partitionSet: string): void {
    this.failed += 1;
    this.#ended(partitionSet);
  }

  worstGapMs(now: number): number {
    const second = Math.floor(now / 1000);
    const ended = [...this.#worst].flatMap(([at, gap]) => (at > second - WINDOW_S ? [gap] : []));
    const lasting = [...this.#waiting.values()].map((since) => now - since);
    return Math.round(Math.max(0, ...ended, ...lasting));
  }

  #ended(partitionSet: string): void {
    this.#underWay.set(partitionSet, this.underWayIn(partitionSet) - 1);
  }
}
