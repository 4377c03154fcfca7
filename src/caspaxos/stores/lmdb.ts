/**
 * `lmdb:PATH`: an embedded database file, the default for a process that keeps its acceptor to itself. Several
 * processes on one machine may share the file: LMDB's write transaction is a lock between them, and the version of each
 * document is compared inside it. A batch of writes is one transaction with one sync.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import { asCasPaxosError } from '../errors.ts';
import type { AcceptorStore, ConditionalWrite, StoredDocument, WriteResult } from './store.ts';

/** A version is drawn, not counted: an old copy of the file that was written to again must not repeat one. */
const VERSIONS = 2 ** 47;

export class LmdbStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency = 1;
  readonly #database: RootDatabase<string, string>;

  constructor(path: string) {
    this.url = `lmdb:${path}`;
    try {
      mkdirSync(path, { recursive: true });
      this.#database = open<string, string>({
        path,
        encoding: 'string',
        useVersions: true,
        // A directory, whatever its name: one with a dot in it would be taken for a file.
        noSubdir: false,
        // By default a commit is visible before it is on disk: here an answer must mean durable (rule 3).
        overlappingSync: false,
      });
    } catch (error) {
      throw asCasPaxosError(error, 'STORE_FAILED', `${this.url} cannot be opened`);
    }
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    // Another process may have committed since the last turn of the event loop: begin a fresh snapshot.
    this.#database.resetReadTxn();
    return keys.map((key) => this.#get(key));
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    const results: WriteResult[] = [];
    await this.#database.transaction(() => {
      for (const { key, text, expected } of writes) {
        if (this.#get(key)?.version !== expected) {
          results.push({ result: 'conflict' });
          continue;
        }
        const version = randomInt(1, VERSIONS);
        void this.#database.put(key, text, version);
        results.push({ result: 'written', version });
      }
    });
    return results;
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    this.#database.resetReadTxn();
    const keys: string[] = [];
    const range = after === '' ? { limit } : { start: after, limit: limit + 1 };
    for (const key of this.#database.getKeys(range)) {
      if (key !== after && keys.length < limit) keys.push(key);
    }
    return keys;
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  #get(key: string): StoredDocument | undefined {
    const entry = this.#database.getEntry(key);
    return entry === undefined ? undefined : { text: entry.value, version: entry.version as number };
  }
}
