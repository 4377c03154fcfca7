/**
 * Requests in turns. What clients send arrives in bursts, and answers go out in bursts, so that after a while all of
 * them wait for the same thing: the disk while the processor has nothing to do, then the processor while the disk has nothing
 * to do. Here a turn of the event loop takes at most half of the requests that are under way; the others follow in the next
 * turns, while what the first ones caused is on its way to the disk and to the other regions.
 */
import type { Host } from '../../protocol/index.ts';

/** A turn takes at least so many. */
const FEW = 16;

export class Turns {
  readonly #host: Pick<Host, 'soon'>;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;
  /** Begun in this turn. */
  #begun = 0;
  #isScheduled = false;

  constructor(host: Pick<Host, 'soon'>) {
    this.#host = host;
  }

  /** Calls it in this turn or a later one; in the order in which they came. */
  take<Result>(request: () => Promise<Result>): Promise<Result> {
    this.#underWay += 1;
    if (this.#waiting.length === 0 && this.#begun < this.#limit) return this.#begin(request);
    return new Promise((resolve) => {
      this.#waiting.push(() => resolve(this.#begin(request)));
    });
  }

  get #limit(): number {
    return Math.max(FEW, Math.ceil(this.#underWay / 2));
  }

  #begin<Result>(request: () => Promise<Result>): Promise<Result> {
    this.#begun += 1;
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      this.#host.soon(this.#next);
    }
    return request().finally(() => {
      this.#underWay -= 1;
    });
  }

  readonly #next = (): void => {
    this.#isScheduled = false;
    this.#begun = 0;
    const limit = this.#limit;
    for (const begin of this.#waiting.splice(0, limit)) begin();
  };
}
