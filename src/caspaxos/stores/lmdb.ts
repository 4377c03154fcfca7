/**
 * `lmdb:PATH`: an embedded database file, the default for a process that keeps its acceptor to itself. Several
 * processes on one machine may share the file: LMDB's write transaction is a lock between them, and the version of each
 * document is compared inside it. A batch of writes is one transaction with one sync.
 *
 * Within a process, all stores on one path share one open database. Opening it a second time takes LMDB's write lock on the
 * spot; if the first is in the middle of a transaction, that one waits for the very thread that now waits for the lock.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { missingInDatabase } from '../directory/database-file.ts';
import { hasRoomFor, hasRoomToOpen, isNoRoom } from '../directory/room.ts';
import { asCasPaxosError, CasPaxosError, diskFull } from '../errors.ts';
import { UTF8_KEYS } from '../lmdb-keys.ts';
import { committed, LISTENED } from '../service/committed.ts';
import type { AcceptorStore, ConditionalWrite, StoredDocument, WriteResult } from './store.ts';

/** A version is drawn, not counted: an old copy of the file that was written to again must not repeat one. */
const VERSIONS = 2 ** 47;

interface SharedDatabase {
  readonly path: string;
  /** Which file it is: another may stand in its place by now. */
  readonly file: string | undefined;
  readonly database: RootDatabase<string, string>;
  users: number;
  isClosed?: true;
}

const shared = new Map<string, SharedDatabase>();

export class LmdbStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency = 1;
  readonly #shared: SharedDatabase;
  #isClosed = false;

  constructor(path: string) {
    this.url = `lmdb:${path}`;
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      this.#shared = acquire(realpathSync(path));
    } catch (error) {
      throw asCasPaxosError(error, 'STORE_FAILED', `${this.url} cannot be opened`);
    }
  }

  get #database(): RootDatabase<string, string> {
    if (this.#isClosed) throw new CasPaxosError('CLOSED', `${this.url} was closed.`);
    return this.#shared.database;
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    // Another process may have committed since the last turn of the event loop: begin a fresh snapshot.
    this.#database.resetReadTxn();
    return keys.map((key) => this.#get(key));
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    const results: WriteResult[] = [];
    const bytes = writes.reduce((sum, { key, text }) => sum + key.length + text.length, 0);
    const { path } = this.#shared;
    if (!hasRoomFor(path, writes.length, bytes)) throw diskFull(path);
    const ended = this.#database.transaction(() => {
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
    try {
      await committed(ended);
    } catch (error) {
      throw isNoRoom(error, path) ? diskFull(path, error) : error;
    }
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
    if (this.#isClosed) return;
    this.#isClosed = true;
    await release(this.#shared);
  }

  #get(key: string): StoredDocument | undefined {
    const entry = this.#database.getEntry(key);
    return entry === undefined ? undefined : { text: entry.value, version: entry.version as number };
  }
}

function acquire(path: string): SharedDatabase {
  let found = shared.get(path);
  // Whoever took the directory away and put another there means that one.
  if (found === undefined || found.file !== fileAt(path)) {
    const missing = missingInDatabase(path);
    if (missing !== undefined)
      throw new CasPaxosError('DATA_CORRUPT', `${missing}. Replace this acceptor by an empty one.`);
    if (!hasRoomToOpen(path)) throw diskFull(path);
    const database = open<string, string>({
      keyEncoder: UTF8_KEYS,
      path,
      encoding: 'string',
      ...LISTENED,
      useVersions: true,
      // A directory, whatever its name: one with a dot in it would be taken for a file.
      noSubdir: false,
      // By default a commit is visible before it is on disk: here an answer must mean durable (rule 3).
      overlappingSync: false,
    });
    found = { path, file: fileAt(path), database, users: 0 };
    shared.set(path, found);
  }
  found.users += 1;
  return found;
}

async function release(one: SharedDatabase): Promise<void> {
  one.users -= 1;
  // Whoever opens it while the last transaction ends gets this one, not a second.
  await one.database.flushed;
  if (one.users > 0 || one.isClosed === true) return;
  one.isClosed = true;
  if (shared.get(one.path) === one) shared.delete(one.path);
  await one.database.close();
}

/** The database's file by its own number, which stays taken while somebody has it open. */
function fileAt(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(join(path, 'data.mdb'));
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
