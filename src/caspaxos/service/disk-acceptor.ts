/**
 * The acceptor next to its disk: what the acceptor service runs. It owns its directory, so the roles work on records
 * in memory, and there is nobody to race with. Everything that arrives while one batch is being made durable forms the
 * next batch: one journal record, one sync, however many registers and proposers it concerns (rule 10).
 *
 *   handle ─▶ queue ─▶ roles on the records in memory ─▶ journal (sync) ─▶ replies
 *                                                            └─ now and then ─▶ checkpoint into LMDB
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { open, type RootDatabase } from 'lmdb';
import type { Acceptor, AcceptorDescription } from '../acceptors.ts';
import {
  answer,
  type Configuration,
  EMPTY_RECORD,
  type RegisterRecord,
  type RegisterReply,
  type RegisterRequest,
} from '../core/index.ts';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';
import {
  decodeIdentity,
  decodeRecord,
  encodeIdentity,
  encodeRecord,
  type IdentityDocument,
} from '../stores/documents.ts';
import { IDENTITY_KEY, registerKey, registerOf, REGISTER_PREFIX } from '../stores/keys.ts';
import { checkInstall } from '../stores/store-acceptor.ts';
import { flattenRecords, pack, unflattenRecords, unpack } from './codec.ts';
import { Journal, type JournalRecord } from './journal.ts';
import { claim, release } from './owner.ts';

const CHECKPOINT_KEY = 'checkpoint';
const CHECKPOINT_CHUNK = 500;
/** How much of what is already in the database is kept in memory as well. */
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;

export interface DiskAcceptorOptions {
  readonly directory: string;
  readonly journalBytes?: number;
  readonly cacheBytes?: number;
}

/** What the service shows of itself. */
export interface DiskAcceptorCounters {
  requests: number;
  batches: number;
  syncs: number;
  checkpoints: number;
}

interface Waiting {
  readonly requests: readonly RegisterRequest[];
  readonly index: number;
  readonly resolve: (replies: readonly RegisterReply[]) => void;
  readonly reject: (error: Error) => void;
}

export class DiskAcceptor implements Acceptor {
  readonly url: string;
  readonly concurrency = 1;
  readonly counters: DiskAcceptorCounters = { requests: 0, batches: 0, syncs: 0, checkpoints: 0 };
  readonly #database: RootDatabase<string, string>;
  readonly #directory: string;
  readonly #cacheBytes: number;
  readonly #records = new Map<string, RegisterRecord>();
  #cachedBytes = 0;
  #journal!: Journal;
  #identity!: IdentityDocument;
  /**
   * Records that the database does not hold yet: those of the journal, and those on their way into it. A checkpoint
   * may save the latter before they are answered, which is early but never wrong.
   */
  #dirty = new Map<string, RegisterRecord>();
  #checkpointing: Promise<void> | undefined;
  #inCheckpoint: ReadonlyMap<string, RegisterRecord> = new Map();
  #queue: Waiting[] = [];
  #draining: Promise<void> | undefined;
  #broken: CasPaxosError | undefined;

  private constructor(options: DiskAcceptorOptions) {
    this.url = `disk:${options.directory}`;
    this.#directory = options.directory;
    this.#cacheBytes = options.cacheBytes ?? DEFAULT_CACHE_BYTES;
    try {
      mkdirSync(options.directory, { recursive: true, mode: 0o700 });
      this.#database = open<string, string>({
        path: options.directory,
        encoding: 'string',
        overlappingSync: false,
      });
    } catch (error) {
      throw asCasPaxosError(
        error,
        'STORE_FAILED',
        `The data directory ${options.directory} cannot be opened`,
      );
    }
  }

  static async open(options: DiskAcceptorOptions): Promise<DiskAcceptor> {
    const acceptor = new DiskAcceptor(options);
    claim(acceptor.#database, options.directory);
    try {
      await acceptor.#start(options.journalBytes);
    } catch (error) {
      release(options.directory);
      await acceptor.#database.close();
      throw error;
    }
    return acceptor;
  }

  get id(): string {
    return this.#identity.id;
  }

  get configuration(): Configuration | undefined {
    return this.#identity.configuration;
  }

  /** Grows with every batch that became durable; an acceptor whose number went back came from an old copy (rule 8). */
  get sequence(): number {
    return this.#journal.sequence;
  }

  /** Its disk failed: nothing more is answered until a restart has looked at what is there. */
  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  expect(id: string): void {
    if (id === this.id) return;
    this.#broken = new CasPaxosError('ACCEPTOR_FOREIGN', `Acceptor ${this.url} is ${this.id}, not ${id}.`);
  }

  async describe(): Promise<AcceptorDescription> {
    const { id, configuration } = this.#identity;
    return { id, configuration, hasRegisters: this.#dirty.size > 0 || (await this.list('', 1)).length > 0 };
  }

  async install(configuration: Configuration): Promise<void> {
    if (!checkInstall(this.url, this.#identity.configuration, configuration)) return;
    const identity = { ...this.#identity, configuration };
    await this.#database.put(IDENTITY_KEY, encodeIdentity(identity));
    // Two of these may overlap; the newer one stays.
    if (checkInstall(this.url, this.#identity.configuration, configuration)) this.#identity = identity;
  }

  handle(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ requests, index, resolve, reject });
      this.#draining ??= this.#drain().finally(() => {
        this.#draining = undefined;
      });
    });
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    await this.#checkpoint();
    const keys: string[] = [];
    const start = after === '' ? REGISTER_PREFIX : registerKey(after);
    for (const key of this.#database.getKeys({ start, limit: limit + 1 })) {
      const register = registerOf(key);
      if (register !== undefined && register !== after && keys.length < limit) keys.push(register);
    }
    return keys;
  }

  async close(): Promise<void> {
    await this.#draining;
    if (this.#broken === undefined) await this.#checkpoint();
    await this.#journal.close();
    await this.#database.close();
    release(this.#directory);
  }

  async #start(journalBytes: number | undefined): Promise<void> {
    const text = this.#database.get(IDENTITY_KEY);
    if (text === undefined) {
      this.#identity = { id: randomUUID(), createdAt: new Date().toISOString() };
      await this.#database.put(IDENTITY_KEY, encodeIdentity(this.#identity));
    } else {
      this.#identity = decodeIdentity(text, `The identity in ${this.#directory}`);
    }
    const checkpoint = Number(this.#database.get(CHECKPOINT_KEY) ?? 0);
    this.#journal = await Journal.open({
      directory: this.#directory,
      salt: this.#identity.id,
      checkpoint,
      size: journalBytes,
      restore: (records) => this.#restore(records),
    });
  }

  async #restore(records: readonly JournalRecord[]): Promise<void> {
    const newest = new Map<string, RegisterRecord>();
    for (const { payload } of records) {
      for (const [key, record] of unflattenRecords(unpack(payload))) newest.set(key, record);
    }
    await this.#save(newest, records.at(-1)!.sequence);
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        if (this.#broken !== undefined) throw this.#broken;
        const replies = await this.#process(batch);
        for (const [at, waiting] of batch.entries()) waiting.resolve(replies[at]!);
      } catch (error) {
        // A sync that failed leaves nobody knowing what is on disk: answer nothing more until a restart has looked.
        this.#broken ??= asCasPaxosError(error, 'STORE_FAILED', `The disk of ${this.url} failed`);
        for (const waiting of batch) waiting.reject(this.#broken);
      }
    }
  }

  async #process(batch: readonly Waiting[]): Promise<readonly (readonly RegisterReply[])[]> {
    const set = this.#identity.configuration?.number ?? 0;
    const changed = new Map<string, RegisterRecord>();
    const replies = batch.map(({ requests, index }) =>
      requests.map((request) => this.#answer(request, index, set, changed)),
    );
    this.counters.batches += 1;
    if (changed.size === 0) return replies;
    const payload = pack(flattenRecords(changed));
    while (this.#journal.isFullFor(payload.length)) await this.#checkpoint();
    await this.#journal.append(payload);
    this.counters.syncs += 1;
    if (this.#journal.needsCheckpoint && this.#checkpointing === undefined) this.#checkpointInBackground();
    return replies;
  }

  #answer(
    request: RegisterRequest,
    index: number,
    set: number,
    changed: Map<string, RegisterRecord>,
  ): RegisterReply {
    this.counters.requests += 1;
    if (request.set < set) return { type: 'stale-set', acceptor: index, set };
    let before: RegisterRecord;
    try {
      before = this.#record(request.key);
    } catch (error) {
      const { code, message } = asCasPaxosError(error, 'CORRUPT_RECORD', this.url);
      return { type: 'failed', acceptor: index, code, message };
    }
    const { record, reply } = answer(before, request, index);
    if (record !== before) {
      this.#remember(request.key, record, before);
      changed.set(request.key, record);
      this.#dirty.set(request.key, record);
    }
    return reply;
  }

  #record(key: string): RegisterRecord {
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    const text = this.#database.get(registerKey(key));
    if (text === undefined) return EMPTY_RECORD;
    const record = decodeRecord(text, `Register ${key} in ${this.#directory}`);
    this.#remember(key, record, EMPTY_RECORD);
    return record;
  }

  #remember(key: string, record: RegisterRecord, before: RegisterRecord): void {
    this.#records.set(key, record);
    this.#cachedBytes += (record.value?.length ?? 0) - (before.value?.length ?? 0);
    if (before === EMPTY_RECORD) this.#cachedBytes += RECORD_OVERHEAD + key.length;
  }

  #checkpointInBackground(): void {
    // A failure has marked this acceptor as broken, and whoever asks next is told.
    this.#checkpoint().catch(() => {});
  }

  /** Copies what only the journal holds into the database. One at a time; a second caller waits for a full one. */
  async #checkpoint(): Promise<void> {
    while (this.#checkpointing !== undefined) await this.#checkpointing;
    if (this.#dirty.size === 0) return;
    const sequence = this.#journal.sequence;
    this.#inCheckpoint = this.#dirty;
    this.#dirty = new Map();
    this.#checkpointing = this.#saveAndFree(this.#inCheckpoint, sequence);
    await this.#checkpointing;
    if (this.#broken !== undefined) throw this.#broken;
  }

  async #saveAndFree(records: ReadonlyMap<string, RegisterRecord>, sequence: number): Promise<void> {
    try {
      await this.#save(records, sequence);
      this.#journal.checkpointed(sequence);
      this.counters.checkpoints += 1;
    } catch (error) {
      this.#broken ??= asCasPaxosError(error, 'STORE_FAILED', `The database of ${this.url} failed`);
    } finally {
      this.#inCheckpoint = new Map();
      this.#checkpointing = undefined;
      this.#trim();
    }
  }

  async #save(records: ReadonlyMap<string, RegisterRecord>, sequence: number): Promise<void> {
    let written = 0;
    for (const [key, record] of records) {
      const put = this.#database.put(registerKey(key), encodeRecord(record));
      written += 1;
      if (written % CHECKPOINT_CHUNK === 0) await put;
    }
    // LMDB commits in order, so when this one is on disk the others are.
    await this.#database.put(CHECKPOINT_KEY, String(sequence));
  }

  /** Forgets the oldest of what the database holds anyway. */
  #trim(): void {
    for (const [key, record] of this.#records) {
      if (this.#cachedBytes <= this.#cacheBytes) return;
      if (this.#dirty.has(key) || this.#inCheckpoint.has(key)) continue;
      this.#records.delete(key);
      this.#cachedBytes -= RECORD_OVERHEAD + key.length + (record.value?.length ?? 0);
    }
  }
}

const RECORD_OVERHEAD = 300;
