/**
 * Ordered lists for stores that can only walk through everything. The first page of a walk (`after` names no key that this
 * listing gave out) reads all keys afresh; the pages that follow come from what was read then. Rule 9 needs no more: whoever
 * changes the set begins its walk after the identity documents were written, and a register made later sees the new set.
 */
import { CasPaxosError } from '../errors.ts';

/** All keys are in memory for a while: a million registers have some 50 MB of them. No end of the pages is a server's defect. */
export const MOST_LISTED_CHARACTERS = 64 * 1024 * 1024;

export class KeyListing {
  readonly #store: { readonly url: string };
  readonly #walk: () => AsyncIterable<string>;
  #keys: readonly string[] = [];
  #begun = 0;
  /** Which walk they are of: one that began later may have ended before. */
  #keysOf = 0;

  constructor(store: { readonly url: string }, walk: () => AsyncIterable<string>) {
    this.#store = store;
    this.#walk = walk;
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    const known = find(this.#keys, after);
    const keys = this.#keys[known] === after ? this.#keys : await this.#walkThrough();
    const at = find(keys, after);
    const first = keys[at] === after ? at + 1 : at;
    const page = keys.slice(first, first + limit);
    if (page.length === 0 && keys === this.#keys) this.#keys = [];
    return page;
  }

  async #walkThrough(): Promise<readonly string[]> {
    this.#begun += 1;
    const number = this.#begun;
    const found: string[] = [];
    let characters = 0;
    for await (const key of this.#walk()) {
      characters += key.length + 1;
      if (characters > MOST_LISTED_CHARACTERS) throw this.#endless();
      found.push(key);
    }
    found.sort();
    if (number > this.#keysOf) {
      this.#keys = found;
      this.#keysOf = number;
    }
    return found;
  }

  #endless(): CasPaxosError {
    const message = `Acceptor ${this.#store.url} lists more documents than can be: look at what answers at its address.`;
    return new CasPaxosError('STORE_FAILED', message);
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
