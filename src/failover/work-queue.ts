/**
 * A bound on the updates under way in one process, in two lanes. When a whole region fails over at once, thousands of
 * updates want to run in the same second; those that renew a healthy writer's lease go first, because they are few, steady,
 * and what they protect is at work. The others follow in order.
 */
export type Lane = 'renewal' | 'other';

export class WorkQueue {
  readonly #limit: number;
  readonly #waiting: Readonly<Record<Lane, (() => Promise<void>)[]>> = { renewal: [], other: [] };
  #underWay = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get underWay(): number {
    return this.#underWay;
  }

  get waiting(): number {
    return this.#waiting.renewal.length + this.#waiting.other.length;
  }

  /** `work` never rejects. */
  run(lane: Lane, work: () => Promise<void>): void {
    this.#waiting[lane].push(work);
    this.#next();
  }

  #next(): void {
    while (this.#underWay < this.#limit) {
      const work = this.#waiting.renewal.shift() ?? this.#waiting.other.shift();
      if (work === undefined) return;
      this.#underWay += 1;
      void work().finally(() => {
        this.#underWay -= 1;
        this.#next();
      });
    }
  }
}
