/**
 * The memory of a search (Lowe's refinement of Wing and Gong): which pairs of "operations placed so far" and "state
 * they led to" have been tried. Coming to the same pair by another order leads nowhere new. The pairs are compared in
 * full, never by hash alone, since a false match would condemn a good history; they lie end to end in one array, each
 * as a bit set of operations and the number of the state.
 */

/** Spreads the number of an operation over 32 bits; the hash of a set is the xor over its members. */
export function hashOfMember(member: number): number {
  let hash = Math.imul(member + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

export class Configurations {
  readonly #width: number;
  #rows: Uint32Array;
  #count = 0;
  /** Open addressing: 0 for an empty slot, otherwise one more than the number of a row. */
  #slots = new Int32Array(1024);
  #hashes = new Int32Array(512);

  constructor(wordsOfSet: number) {
    this.#width = wordsOfSet + 1;
    this.#rows = new Uint32Array(this.#width * 512);
  }

  /** True if the pair is new. `hashOfSet` is the xor of the hashes of the set's members. */
  add(set: Uint32Array, hashOfSet: number, state: number): boolean {
    const hash = hashOfSet ^ hashOfMember(~state);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let entry = this.#slots[slot]!; entry !== 0; entry = this.#slots[slot]!) {
      if (this.#hashes[entry - 1] === hash && this.#equals(entry - 1, set, state)) return false;
      slot = (slot + 1) & mask;
    }
    if (this.#count === this.#hashes.length) this.#grow();
    const start = this.#count * this.#width;
    this.#rows.set(set, start);
    this.#rows[start + this.#width - 1] = state;
    this.#hashes[this.#count] = hash;
    this.#count += 1;
    this.#link(this.#count, hash);
    return true;
  }

  #equals(row: number, set: Uint32Array, state: number): boolean {
    const start = row * this.#width;
    if (this.#rows[start + this.#width - 1] !== state) return false;
    for (let word = 0; word < set.length; word += 1) {
      if (this.#rows[start + word] !== set[word]) return false;
    }
    return true;
  }

  #link(entry: number, hash: number): void {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = entry;
  }

  /** Twice the room for rows, and twice as many slots as rows. */
  #grow(): void {
    const capacity = this.#hashes.length * 2;
    const rows = new Uint32Array(capacity * this.#width);
    rows.set(this.#rows);
    this.#rows = rows;
    const hashes = new Int32Array(capacity);
    hashes.set(this.#hashes);
    this.#hashes = hashes;
    this.#slots = new Int32Array(capacity * 2);
    for (let row = 0; row < this.#count; row += 1) this.#link(row + 1, hashes[row]!);
  }
}
