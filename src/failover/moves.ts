/**
 * How many partition-sets of one process go home at a time. When a region is back, thousands are ready to move within one
 * interval. All at once they would be in each other's way: each move takes its writes a moment, that moment is the longer the
 * more are under way, and a move that takes too long is given up and begins again. So a process has places for some; who
 * finds none says so in its report (`busy`), and asks again with its next heartbeat. A process that is behind with its work, or
 * whose updates take long, has fewer: going home is worth no lease. Each lease that is lost for it is two more moves, and where
 * everything is slow they would keep it so. It is about priorities only: a wish of an operator's, a signal or a stop waits for
 * nobody.
 */
import { UpdatePace } from './core/index.ts';
import { shareWhenLate } from './work-queue.ts';

const PLACES = 64;
/** However late it is, somebody goes on. */
const FEWEST = 2;

export class Moves {
  readonly #places: number;
  readonly #lateMs: () => number;
  readonly #pace: UpdatePace;
  readonly #moving = new Set<object>();

  /** `lateMs`: by how much this process is behind. */
  constructor(places = PLACES, lateMs: () => number = () => 0, pace = new UpdatePace()) {
    this.#places = places;
    this.#lateMs = lateMs;
    this.#pace = pace;
  }

  get size(): number {
    return this.#moving.size;
  }

  has(who: object): boolean {
    return this.#moving.has(who);
  }

  isFullFor(who: object): boolean {
    if (this.#moving.has(who)) return false;
    const share = Math.min(shareWhenLate(this.#lateMs()), this.#pace.quickness);
    return this.#moving.size >= Math.max(Math.min(FEWEST, this.#places), this.#places * share);
  }

  begin(who: object): void {
    this.#moving.add(who);
  }

  end(who: object): void {
    this.#moving.delete(who);
  }
}
