/** Rule 21: an undone write that history contains again is not lost. */
import type { Position } from '../model.ts';
import type { PartitionStore } from '../store.ts';
import { contains } from './progress-table.ts';

export class OpenUndone {
  readonly #store: PartitionStore;
  #open = new Map<string, Position>();

  constructor(store: PartitionStore) {
    this.#store = store;
    this.look();
  }

  /** Something may have been undone. */
  look(): void {
    this.#open = new Map();
    for (const { entry, closed } of this.#store.undone())
      if (closed === undefined) this.#open.set(nameOf(entry), entry);
  }

  returned(entries: readonly Position[]): void {
    if (this.#open.size > 0) for (const entry of entries) this.#close(entry);
  }

  /** The same after a full copy, in which entries that nobody needs any more do not come along. */
  copied(): void {
    const history = { table: this.#store.notes.table, tail: this.#store.tail };
    for (const position of this.#open.values()) if (contains(history, position)) this.#close(position);
  }

  #close(position: Position): void {
    if (this.#open.delete(nameOf(position))) this.#store.closeUndone(position, 'returned');
  }
}

function nameOf({ epoch, lsn }: Position): string {
  return `${epoch}/${lsn}`;
}
