/**
 * `memory:NAME`: documents in this process' memory, shared by everything in it that uses the same name. For tests, for
 * examples, and for learning the interface; a real cluster on it forgets everything with its process.
 */
import type { AcceptorStore, ConditionalWrite, StoredDocument, WriteResult } from './store.ts';

const shared = new Map<string, Map<string, StoredDocument>>();

export class MemoryStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency = 1;
  readonly #documents: Map<string, StoredDocument>;
  #lastVersion = 0;

  constructor(name: string) {
    this.url = `memory:${name}`;
    const existing = shared.get(name);
    this.#documents = existing ?? new Map();
    if (existing === undefined) shared.set(name, this.#documents);
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    return keys.map((key) => this.#documents.get(key));
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    return writes.map(({ key, text, expected }): WriteResult => {
      if (this.#documents.get(key)?.version !== expected) return { result: 'conflict' };
      this.#lastVersion += 1;
      const version = `${this.#lastVersion}-${Math.random().toString(36).slice(2)}`;
      this.#documents.set(key, { text, version });
      return { result: 'written', version };
    });
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    return [...this.#documents.keys()]
      .filter((key) => key > after)
      .sort()
      .slice(0, limit);
  }

  async close(): Promise<void> {}

  /** For tests: what a disk does when it is swapped for an empty one. */
  static clear(name: string): void {
    shared.get(name)?.clear();
  }
}
