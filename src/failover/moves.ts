/**
 * How many partition-sets of one process go home at a time. When a region is back, thousands are ready to move within one
 * interval. All at once they would be in each other's way: each move takes its writes a moment, that moment is the longer the
 * more are under way, and a move that takes too long is given up and begins again. So a process has places for some; who
 * finds none says so in its report (`busy`), and asks again with its next heartbeat. A process that is behind with its work, or
 * whose updates take long, has fewer: going home is worth no lease. Each lease that is lost for it is two more moves, and where
 * everything is slow they would keep it so. It is about priorities only: a wish of an operator's, a signal or a stop waits for
 * nobody.
 */
import { shareWhenLate } from './work-queue.ts';

const PLACES = 64;
/** However late it is, somebody goes on. */
const FEWEST = 2;
/** Updates that take no more of an interval than this are quick. */
const QUICK_SHARE = 1 / 20;
/** How much of what they typically take the last one makes up. */
const UPDATE_WEIGHT = 1 / 64;

export class Moves {
  readonly #places: number;
  readonly #lateMs: () => number;
  readonly #moving = new Set<object>();
  /** Of an interval: what an update takes lately. */
  #updateShare = 0;

  /** `lateMs`: by how much this process is behind. */
  constructor(places = PLACES, lateMs: () => number = () => 0) {
    this.#places = places;
    this.#lateMs = lateMs;
  }

  get size(): number {
    return this.#moving.size;
  }

  has(who: object): boolean {
    return this.#moving.has(who);
  }

  isFullFor(who: object): boolean {
    if (this.#moving.has(who)) return false;
    const share = Math.min(
      shareWhenLate(this.#lateMs()),
      QUICK_SHARE / Math.max(QUICK_SHARE, this.#updateShare),
    );
    return this.#moving.size >= Math.max(Math.min(FEWEST, this.#places), this.#places * share);
  }

  /** An update of this process took that long, where one is due every so often. */
  updated(ms: number, intervalMs: number): void {
    this.#updateShare += (ms / intervalMs - this.#updateShare) * UPDATE_WEIGHT;
  }

  begin(who: object): void {
    this.#moving.add(who);
  }

  end(who: object): void {
    this.#moving.delete(who);
  }
}
