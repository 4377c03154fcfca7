/**
 * The records of a disk acceptor: in memory what is in use, in LMDB the rest, and in between those that only the journal
 * holds so far. A checkpoint copies the latter into LMDB. Records that are on their way into the journal may be saved along
 * with them before they are answered, which is early but never wrong.
 */
import type { RootDatabase } from 'lmdb';
import { assert } from '../../protocol/index.ts';
import { EMPTY_RECORD, type RegisterRecord } from '../core/index.ts';
import {
  type Checkpoint,
  decodeCheckpoint,
  decodeRecord,
  encodeCheckpoint,
  encodeRecord,
} from '../stores/documents.ts';
import { registerKey, registerOf, REGISTER_PREFIX } from '../stores/keys.ts';
import { type Document, putAll } from './committed.ts';

const CHECKPOINT_KEY = 'checkpoint';
const CHECKPOINT_CHUNK = 500;
/** What a record costs in memory besides its key and value. */
const RECORD_OVERHEAD = 300;

export class RecordTable {
  readonly #database: RootDatabase<string, string>;
  readonly #name: string;
  readonly #cacheBytes: number;
  readonly #records = new Map<string, RegisterRecord>();
  #cachedBytes = 0;
  /** Not in the database yet. */
  #dirty = new Map<string, RegisterRecord>();
  /** Being written to the database right now. */
  #saving: ReadonlyMap<string, RegisterRecord> = new Map();

  /** `name` is its directory; `cacheBytes` bounds what is kept in memory of what the database holds anyway. */
  constructor(database: RootDatabase<string, string>, name: string, cacheBytes: number) {
    this.#database = database;
    this.#name = name;
    this.#cacheBytes = cacheBytes;
  }

  /** The number of the last journal record that the database holds everything of. Throws CORRUPT_RECORD rather than skip a record. */
  get checkpoint(): Checkpoint {
    const text = this.#database.get(CHECKPOINT_KEY);
    if (text === undefined) return { sequence: 0, isMarked: false };
    return decodeCheckpoint(text, `The checkpoint in ${this.#name}`);
  }

  /** The journal has a mark now, and is not to be opened without it. */
  async noteMark(): Promise<void> {
    await this.#putCheckpoint(this.checkpoint.sequence);
  }

  get isEmpty(): boolean {
    return this.#records.size === 0 && this.list('', 1).length === 0;
  }

  get hasUnsaved(): boolean {
    return this.#dirty.size > 0;
  }

  /** Throws CORRUPT_RECORD rather than take garbage for an empty register. */
  get(key: string): RegisterRecord {
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    const record = this.saved(key);
    if (record !== EMPTY_RECORD) this.#keep(key, record, EMPTY_RECORD);
    return record;
  }

  /** What the database holds, without keeping it in memory: for whoever is about to change the database itself. */
  saved(key: string): RegisterRecord {
    const text = this.#database.get(registerKey(key));
    return text === undefined ? EMPTY_RECORD : decodeRecord(text, `Register ${key} in ${this.#name}`);
  }

  set(key: string, record: RegisterRecord, before: RegisterRecord): void {
    this.#keep(key, record, before);
    this.#dirty.set(key, record);
  }

  /** Saves everything that the journal holds up to `sequence`, for good. One at a time. */
  async save(sequence: number): Promise<void> {
    this.#saving = this.#dirty;
    this.#dirty = new Map();
    try {
      await this.#put(this.#saving, sequence);
    } catch (error) {
      // To be saved again, unless something newer has to be.
      this.#dirty = new Map([...this.#saving, ...this.#dirty]);
      throw error;
    } finally {
      this.#saving = new Map();
    }
    this.trim();
  }

  /** Puts what the journal brought back straight into the database, before anything is in memory. */
  async restore(records: ReadonlyMap<string, RegisterRecord>, sequence: number): Promise<void> {
    assert(this.#records.size === 0, 'records in memory would hide the restored ones');
    await this.#put(records, sequence);
  }

  /** The checkpoint last, when everything else is there: it says so. */
  async #put(records: ReadonlyMap<string, RegisterRecord>, sequence: number): Promise<void> {
    let documents: Document[] = [];
    for (const [key, record] of records) {
      documents.push([registerKey(key), encodeRecord(record)]);
      if (documents.length < CHECKPOINT_CHUNK) continue;
      await putAll(this.#database, this.#name, documents);
      documents = [];
    }
    if (documents.length > 0) await putAll(this.#database, this.#name, documents);
    await this.#putCheckpoint(sequence);
  }

  async #putCheckpoint(sequence: number): Promise<void> {
    const text = encodeCheckpoint({ sequence, isMarked: true });
    await putAll(this.#database, this.#name, [[CHECKPOINT_KEY, text]]);
  }

  /** Of what the database holds. */
  list(after: string, limit: number): readonly string[] {
    const keys: string[] = [];
    const start = after === '' ? REGISTER_PREFIX : registerKey(after);
    for (const key of this.#database.getKeys({ start, limit: limit + 1 })) {
      const register = registerOf(key);
      if (register !== undefined && register !== after && keys.length < limit) keys.push(register);
    }
    return keys;
  }

  /** Forgets the oldest of what the database holds anyway. */
  trim(): void {
    if (this.#cachedBytes <= this.#cacheBytes) return;
    for (const [key, record] of this.#records) {
      if (this.#dirty.has(key) || this.#saving.has(key)) continue;
      this.#records.delete(key);
      this.#cachedBytes -= RECORD_OVERHEAD + key.length + (record.value?.length ?? 0);
      if (this.#cachedBytes <= this.#cacheBytes) return;
    }
  }

  #keep(key: string, record: RegisterRecord, before: RegisterRecord): void {
    this.#records.set(key, record);
    this.#cachedBytes += (record.value?.length ?? 0) - (before.value?.length ?? 0);
    if (before === EMPTY_RECORD) this.#cachedBytes += RECORD_OVERHEAD + key.length;
  }
}
