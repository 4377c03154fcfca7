/**
 * How many partition-sets of one process go home at a time. When a region is back, thousands are ready to move within one
 * interval. All at once they would be in each other's way: each move takes its writes a moment, that moment is the longer the
 * more are under way, and a move that takes too long is given up and begins again. So a process has places for some; who
 * finds none says so in its report (`busy`), and asks again with its next heartbeat. It is about priorities only: a wish of
 * an operator's, a signal or a stop waits for nobody.
 */
const PLACES = 64;

export class Moves {
  readonly #places: number;
  readonly #moving = new Set<object>();

  constructor(places = PLACES) {
    this.#places = places;
  }

  get size(): number {
    return this.#moving.size;
  }

  has(who: object): boolean {
    return this.#moving.has(who);
  }

  isFullFor(who: object): boolean {
    return this.#moving.size >= this.#places && !this.#moving.has(who);
  }

  begin(who: object): void {
    this.#moving.add(who);
  }

  end(who: object): void {
    this.#moving.delete(who);
  }
}
