/**
 * Writes on their way: what was written and is not in the database yet, so that reads see it. What a commit takes along
 * stays readable here until it has succeeded; a commit that failed takes it along again.
 */
export class Pending<Key, Value> {
  #collecting = new Map<Key, Value>();
  #committing = new Map<Key, Value>();

  get size(): number {
    return this.#collecting.size + this.#committing.size;
  }

  get(key: Key): Value | undefined {
    return this.#collecting.get(key) ?? this.#committing.get(key);
  }

  set(key: Key, value: Value): void {
    this.#collecting.set(key, value);
  }

  /** Those that are known here, the newer value of each. */
  all(): ReadonlyMap<Key, Value> {
    if (this.#committing.size === 0) return this.#collecting;
    if (this.#collecting.size === 0) return this.#committing;
    return new Map([...this.#committing, ...this.#collecting]);
  }

  clear(): void {
    this.#collecting = new Map();
    this.#committing = new Map();
  }

  /** A commit begins. */
  begin(): void {
    if (this.#collecting.size === 0) return;
    if (this.#committing.size === 0) this.#committing = this.#collecting;
    else for (const [key, value] of this.#collecting) this.#committing.set(key, value);
    this.#collecting = new Map();
  }

  committed(): void {
    if (this.#committing.size > 0) this.#committing = new Map();
  }
}
