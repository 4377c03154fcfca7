/**
 * Ordered lists for stores that can only walk through everything. The first page of a walk (`after` names no key that this
 * listing gave out) reads all keys afresh; the pages that follow come from what was read then. Rule 9 needs no more: whoever
 * changes the set begins its walk after the identity documents were written, and a register made later sees the new set.
 */
export class KeyListing {
  readonly #walk: () => AsyncIterable<string>;
  #keys: readonly string[] = [];

  constructor(walk: () => AsyncIterable<string>) {
    this.#walk = walk;
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    let at = find(this.#keys, after);
    if (this.#keys[at] === after) {
      at += 1;
    } else {
      const found: string[] = [];
      for await (const key of this.#walk()) found.push(key);
      this.#keys = found.sort();
      at = find(this.#keys, after);
      if (this.#keys[at] === after) at += 1;
    }
    const page = this.#keys.slice(at, at + limit);
    if (page.length === 0) this.#keys = [];
    return page;
  }
}

/** Where `key` is, or would be. */
function find(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
