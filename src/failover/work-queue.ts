/**
 * A bound on the updates and reads under way in one process, in lanes. When a whole region fails over at once, thousands of
 * them want to run in the same second. Those that renew a healthy writer's lease go first, because they are few, steady, and
 * what they protect is at work. Then comes whatever brings a partition-set forward that is between two writers; last, the
 * heartbeats of those who only watch, for which any moment of the interval is as good.
 *
 * A process that is behind with its work would only get further behind by taking on more: the later its timers ring, the
 * fewer may be under way. They wait here, before they begin: half-way, with promises in their hands, they would be in the way of
 * other regions' updates, and those in theirs, until leases run out; and each of those costs more than it takes to keep it.
 */
export const LANES = ['renewal', 'urgent', 'routine'] as const;
export type Lane = (typeof LANES)[number];

/** Timers that ring no later than this are on time. */
const PUNCTUAL_MS = 30;
/** However late it is, something goes on. */
const LEAST = 32;

/** The share of its work that a process takes on that is so late. */
export function shareWhenLate(lateMs: number): number {
  return Math.min(1, PUNCTUAL_MS / Math.max(1, lateMs));
}

export class WorkQueue {
  readonly #limit: number;
  readonly #lateMs: () => number;
  readonly #waiting: Readonly<Record<Lane, (() => Promise<void>)[]>> = {
    renewal: [],
    urgent: [],
    routine: [],
  };
  #underWay = 0;

  /** `lateMs`: by how much this process is behind. */
  constructor(limit: number, lateMs: () => number = () => 0) {
    this.#limit = limit;
    this.#lateMs = lateMs;
  }

  get underWay(): number {
    return this.#underWay;
  }

  get waiting(): number {
    return LANES.reduce((sum, lane) => sum + this.#waiting[lane].length, 0);
  }

  /** `work` never rejects. */
  run(lane: Lane, work: () => Promise<void>): void {
    this.#waiting[lane].push(work);
    this.#next();
  }

  #next(): void {
    const most = Math.max(LEAST, this.#limit * shareWhenLate(this.#lateMs()));
    while (this.#underWay < Math.min(most, this.#limit)) {
      const { renewal, urgent, routine } = this.#waiting;
      const work = renewal.shift() ?? urgent.shift() ?? routine.shift();
      if (work === undefined) return;
      this.#underWay += 1;
      void work().finally(() => {
        this.#underWay -= 1;
        this.#next();
      });
    }
  }
}
