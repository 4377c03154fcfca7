/** The entries of one partition: those on their way to the disk in memory, the others in the database. */
import { DamagedEntry, type Entry } from '../core/index.ts';
import { countChanges, decodeEntry, encodeEntry } from '../entry-codec.ts';
import { EngineStorageError } from './errors.ts';
import { entryKey, lsnOfEntryKey } from './keys.ts';
import { Pending } from './pending.ts';
import type { Tables } from './tables.ts';
import type { WriteQueue } from './write-queue.ts';

export class EntryLog {
  readonly #tables: Tables;
  readonly #queue: WriteQueue;
  readonly #number: number;
  readonly #pending = new Pending<number, Entry>();
  /** Of an entry, as the last ones were. */
  #typicalBytes = 0;

  constructor(tables: Tables, queue: WriteQueue, number: number) {
    this.#tables = tables;
    this.#queue = queue;
    this.#number = number;
  }

  /** Undefined: there is none. Throws when it is damaged, or is another one. */
  get(lsn: number): Entry | undefined {
    const pending = this.#pending.get(lsn);
    if (pending !== undefined) return pending;
    const bytes = this.#tables.entries.get(entryKey(this.#number, lsn));
    if (bytes === undefined) return undefined;
    const entry = decoded(lsn, bytes);
    if (entry.lsn !== lsn) throw new DamagedEntry(lsn);
    this.#noteSize(bytes.length);
    return entry;
  }

  #noteSize(bytes: number): void {
    this.#typicalBytes += (bytes - this.#typicalBytes) / (this.#typicalBytes === 0 ? 1 : 16);
  }

  put(entry: Entry): void {
    const encoded = encodeEntry(entry);
    this.#queue.put(this.#tables.entries, entryKey(this.#number, entry.lsn), encoded);
    this.#noteSize(encoded.length);
    this.#pending.set(entry.lsn, entry);
  }

  /** Looked up without reading all of it; undefined: there is none. */
  changeCount(lsn: number): number | undefined {
    const pending = this.#pending.get(lsn);
    if (pending !== undefined) return pending.changes.length;
    const bytes = this.#tables.entries.getBinaryFast(entryKey(this.#number, lsn));
    return bytes && countChanges(bytes);
  }

  remove(lsn: number): void {
    this.#queue.remove(this.#tables.entries, entryKey(this.#number, lsn), this.#typicalBytes);
  }

  /** The last LSN up to that one that there is an entry for. */
  lastLsn(upTo: number): number | undefined {
    let last: number | undefined;
    for (const lsn of this.#pending.all().keys()) if (lsn <= upTo && lsn > (last ?? 0)) last = lsn;
    const start = upTo === Infinity ? entryKey(this.#number + 1, 0) : entryKey(this.#number, upTo);
    const range = { start, end: entryKey(this.#number, 0), reverse: true, limit: 1 };
    for (const key of this.#tables.entries.getKeys(range)) return Math.max(last ?? 0, lsnOfEntryKey(key));
    return last;
  }

  /** LSNs that there are behind `after` and below `before`, in order; at most about `limit`. */
  lsnsBetween(after: number, before: number, limit: number): readonly number[] {
    const range = { start: entryKey(this.#number, after + 1), end: entryKey(this.#number, before), limit };
    const stored = [...this.#tables.entries.getKeys(range)].map(lsnOfEntryKey);
    const known = new Set(stored);
    const end = stored.length === limit ? stored.at(-1)! : before - 1;
    const pending = [...this.#pending.all().keys()].filter(
      (lsn) => lsn > after && lsn <= end && !known.has(lsn),
    );
    return pending.length === 0 ? stored : [...stored, ...pending].sort((a, b) => a - b);
  }

  begin(): void {
    this.#pending.begin();
  }

  committed(): void {
    this.#pending.committed();
  }
}

function decoded(lsn: number, bytes: Buffer): Entry {
  try {
    return decodeEntry(bytes);
  } catch (error) {
    if (error instanceof EngineStorageError && error.code === 'FORMAT_NEWER') throw error;
    throw new DamagedEntry(lsn);
  }
}
