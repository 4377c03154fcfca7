/** Where clients leave word of operations whose outcome nobody knows. */
import type { Random } from '../core/index.ts';
import type { RecordedOperation } from './history.ts';

/**
 * Operations of unknown outcome. Whoever takes one up leaves it there: two clients may continue it side by side. Some are put
 * aside until faults are over, and have grown old by then: the register may have forgotten them.
 */
export class Board {
  readonly #open = new Set<RecordedOperation>();
  readonly #aside = new Set<RecordedOperation>();

  put(operation: RecordedOperation, isAside: boolean): void {
    if (!this.#open.has(operation) && !this.#aside.has(operation))
      (isAside ? this.#aside : this.#open).add(operation);
  }

  get all(): readonly RecordedOperation[] {
    return [...this.#open, ...this.#aside];
  }

  /** One of them, rather a young one: of the old, most are settled or forgotten. */
  look(random: Random): RecordedOperation | undefined {
    return [...this.#open].at(-1 - Math.floor(this.#open.size * random.uniform() ** 2));
  }

  remove(operation: RecordedOperation): void {
    this.#open.delete(operation);
    this.#aside.delete(operation);
  }
}
