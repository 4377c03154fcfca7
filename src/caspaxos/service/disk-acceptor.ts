/**
 * The acceptor next to its disk: what the acceptor service runs. It owns its directory, so the roles work on records
 * in memory, and there is nobody to race with. Everything that arrives while one batch is being made durable forms the
 * next batch: one journal record, one sync, however many registers and proposers it concerns (rule 10).
 *
 *   handle ─▶ queue ─▶ roles on the records in memory ─▶ journal (sync) ─▶ replies
 *                                                            └─ now and then ─▶ checkpoint into LMDB
 *
 * The journal has its room from the start; a checkpoint needs some. When the disk has none, requests are taken as long as the journal has
 * room for them, and then refused with DISK_FULL, before the roles have seen them, so that nothing is in memory that is not on a disk.
 * Each refusal looks for room again, and with the first checkpoint that succeeds everything goes on. Questions are answered all the while.
 */
import { randomUUID } from 'node:crypto';
import type { RootDatabase } from 'lmdb';
import { assert } from '../../protocol/index.ts';
import type { Acceptor, AcceptorDescription } from '../acceptors.ts';
import { checkInstall, checkReserve, checkServes } from '../claims.ts';
import {
  answer,
  type Configuration,
  type RegisterRecord,
  type RegisterReply,
  type RegisterRequest,
  type Retirement,
  type ToldLife,
} from '../core/index.ts';
import { missingInDatabase } from '../directory/database-file.ts';
import { type DirectoryLock, lockDirectory } from '../directory/lock.ts';
import { hasRoomFor, isNoRoom } from '../directory/room.ts';
import { asCasPaxosError, CasPaxosError, diskFull } from '../errors.ts';
import { thisProcess } from '../process-name.ts';
import { retirementAsOldCopy, retirementError } from '../retired.ts';
import { decodeIdentity, encodeIdentity, type IdentityDocument } from '../stores/documents.ts';
import { IDENTITY_KEY } from '../stores/keys.ts';
import { flattenEntries, type JournalEntry, pack } from './codec.ts';
import { putAll } from './committed.ts';
import { DEFAULT_JOURNAL_BYTES, Journal } from './journal.ts';
import { withInstalled, withNextLife } from './lives.ts';
import { directoryAt, openDatabase, openedAgain } from './opening.ts';
import { RecordTable } from './record-table.ts';
import { restore } from './restoring.ts';
import type { Standing } from './wire.ts';

const OWNER_KEY = 'owner';
const DEFAULT_CACHE_BYTES = 64 * 1024 * 1024;
/** What a message can take in the journal besides three bytes for each character of its key and value. */
const MESSAGE_BYTES = 400;

export interface DiskAcceptorOptions {
  readonly directory: string;
  /** Size of each of the two journal files; at least twice the largest batch. */
  readonly journalBytes?: number;
  /** How much of what is already in the database is kept in memory as well. */
  readonly cacheBytes?: number;
  /** Whether each start draws a life and tells it, so that of several copies of the directory one counts (docs/design.md, Lives). */
  readonly lives?: boolean;
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
  readonly bytes: number;
  readonly resolve: (replies: readonly RegisterReply[]) => void;
  readonly reject: (error: Error) => void;
}

export class DiskAcceptor implements Acceptor {
  readonly url: string;
  readonly concurrency = 1;
  readonly counters: DiskAcceptorCounters = { requests: 0, batches: 0, syncs: 0, checkpoints: 0 };
  readonly #directory: string;
  readonly #database: RootDatabase<string, string>;
  readonly #table: RecordTable;
  readonly #journal: Journal;
  readonly #lock: DirectoryLock;
  readonly #maxBatchBytes: number;
  #identity: IdentityDocument;
  readonly #hasLife: boolean;
  /** In this life, whatever the disk says. */
  #retired: Retirement | undefined;
  /** Of the process in which it is embedded; those that a service speaks to name theirs with each connection. */
  #expectedCluster: string | undefined;
  #queue: Waiting[] = [];
  #isDraining = false;
  #whenIdle: (() => void)[] = [];
  #checkpointing: Promise<void> | undefined;
  #installing: Promise<void> = Promise.resolve();
  #broken: CasPaxosError | undefined;
  /** The last checkpoint, or the last append, found no room. */
  #full: CasPaxosError | undefined;

  private constructor(parts: Parts, lock: DirectoryLock) {
    this.url = `disk:${parts.directory}`;
    this.#directory = parts.directory;
    this.#lock = lock;
    this.#database = parts.database;
    this.#table = parts.table;
    this.#journal = parts.journal;
    this.#identity = parts.identity;
    this.#hasLife = parts.hasLife;
    this.#maxBatchBytes = parts.journal.size / 2;
  }

  static async open(options: DiskAcceptorOptions): Promise<DiskAcceptor> {
    const directory = directoryAt(options.directory);
    const lock = await lockDirectory(directory);
    try {
      if (!hasRoomFor(directory, 1, 0)) throw diskFull(directory);
      const parts = await openedAgain(() => openParts({ ...options, directory }), directory);
      return new DiskAcceptor(parts, lock);
    } catch (error) {
      lock.release();
      throw isNoRoom(error, directory) ? diskFull(directory, error) : error;
    }
  }

  get id(): string {
    return this.#identity.id;
  }

  get configuration(): Configuration | undefined {
    return this.#identity.configuration;
  }

  /** Of this start; undefined: it was not asked to draw one. */
  get life(): ToldLife | undefined {
    return this.#hasLife ? this.#identity.life : undefined;
  }

  /** Grows with every batch that became durable; an acceptor whose number went back came from an old copy (rule 8). */
  get sequence(): number {
    return this.#journal.answered;
  }

  /** It was found to be an old copy, and refuses everything for good: replace it. */
  get retired(): Retirement | undefined {
    return this.#identity.retired ?? this.#retired;
  }

  /** The same, once its disk has it: until then it has to be told again. */
  get retiredForGood(): Retirement | undefined {
    return this.#identity.retired;
  }

  /** Its disk failed: nothing more is answered until a restart has looked at what is there. */
  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** Its disk has no room: it refuses what its journal cannot take, until there is some. */
  get isFull(): boolean {
    return this.#full !== undefined && !hasRoomFor(this.#directory, 1, 0);
  }

  expect(id: string, cluster?: string): void {
    this.#expectedCluster = cluster;
    if (id === this.id) return;
    this.#broken = new CasPaxosError('ACCEPTOR_FOREIGN', `Acceptor ${this.url} is ${this.id}, not ${id}.`);
  }

  async describe(): Promise<AcceptorDescription> {
    this.#refuseWhenUseless();
    const { id, configuration, life } = this.#identity;
    return { id, configuration, life, hasRegisters: !this.#table.isEmpty };
  }

  reserve(cluster: string): Promise<void> {
    return this.#inTurn(async () => {
      if (!checkReserve(this.url, this.#identity, !this.#table.isEmpty, cluster)) return;
      await this.#writeIdentity({ ...this.#identity, cluster });
    });
  }

  install(configuration: Configuration): Promise<void> {
    return this.#inTurn(async () => {
      if (!checkInstall(this.url, this.#identity, configuration)) return;
      await this.#writeIdentity(withInstalled(this.#identity, configuration));
      // It may have learned from it that another copy of it is in use.
      this.#refuseWhenUseless();
    });
  }

  /**
   * Somebody has seen more of it than it `told` him now, so it comes from an old copy: it answers nobody any more, in no later life.
   * What he has seen it has to take his word for; whoever has the token could do worse than stop it.
   */
  retire(id: string, seen: Standing, told: Standing): Promise<void> {
    return this.#inTurn(async () => {
      if (id !== this.id)
        throw new CasPaxosError('PROTOCOL_MISMATCH', `Acceptor ${this.id} is no old copy of ${id}.`);
      const retired = { ...retirementAsOldCopy(id, seen, told), at: new Date().toISOString() };
      this.#retired ??= retired;
      // For what must be written there is the reserve.
      if (this.retiredForGood === undefined)
        await this.#writeIdentity({ ...this.#identity, retired }, 'with the reserve');
    }, 'though it is retired');
  }

  /** Throws if requests of that cluster are not answered here; undefined: it was not named. */
  checkServes(cluster: string | undefined): void {
    checkServes(this.url, this.#identity, cluster);
  }

  handle(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]> {
    return new Promise((resolve, reject) => {
      this.#refuseWhenUseless();
      this.checkServes(this.#expectedCluster);
      const bytes = journalBytesOf(requests);
      if (bytes > this.#maxBatchBytes) {
        reject(
          new CasPaxosError(
            'REQUEST_TOO_LARGE',
            `A batch of about ${bytes} bytes is too large for the journal.`,
          ),
        );
        return;
      }
      this.#queue.push({ requests, index, bytes, resolve, reject });
      if (!this.#isDraining) void this.#drain();
    });
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    this.#refuseWhenUseless();
    await this.#checkpoint();
    return this.#table.list(after, limit);
  }

  async close(): Promise<void> {
    if (this.#isDraining) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
    await this.#installing;
    // What finds no room stays in the journal, and is found there.
    if (this.#broken === undefined) await this.#checkpoint().catch(() => {});
    await this.#checkpointing;
    await this.#journal.close();
    await this.#database.close();
    this.#lock.release();
  }

  /** One after another, so that the newest is what stays on disk. */
  #inTurn(work: () => Promise<void>, though?: 'though it is retired'): Promise<void> {
    const done = this.#installing.then(() => {
      if (though === undefined) this.#refuseWhenUseless();
      else this.#refuseWhenBroken();
      return work();
    });
    this.#installing = done.catch(() => undefined);
    return done;
  }

  async #writeIdentity(identity: IdentityDocument, room?: 'with the reserve'): Promise<void> {
    try {
      await putAll(this.#database, this.#directory, [[IDENTITY_KEY, encodeIdentity(identity)]], room);
    } catch (error) {
      throw asCasPaxosError(error, 'STORE_FAILED', `The database of ${this.url} failed`);
    }
    this.#identity = identity;
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    while (this.#queue.length > 0) {
      let batch = this.#takeBatch();
      try {
        this.#refuseWhenBroken();
        batch = await this.#withRoom(batch);
        const replies = await this.#process(batch);
        for (const [at, waiting] of batch.entries()) waiting.resolve(replies[at]!);
      } catch (error) {
        if (this.#noteFull(error)) {
          for (const waiting of batch) waiting.reject(this.#full!);
          continue;
        }
        // A sync that failed leaves nobody knowing what is on disk: answer nothing more until a restart has looked.
        this.#broken ??= asCasPaxosError(error, 'STORE_FAILED', `The disk of ${this.url} failed`);
        for (const waiting of batch) waiting.reject(this.#broken);
      }
    }
    this.#isDraining = false;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  /** Everything that waits, as far as one journal record can hold it. */
  #takeBatch(): readonly Waiting[] {
    let bytes = 0;
    const end = this.#queue.findIndex((waiting) => (bytes += waiting.bytes) > this.#maxBatchBytes);
    return this.#queue.splice(0, end < 0 ? this.#queue.length : end);
  }

  /** What of the batch the journal can take; the others are refused. */
  async #withRoom(batch: readonly Waiting[]): Promise<readonly Waiting[]> {
    const bytes = batch.reduce((sum, waiting) => sum + waiting.bytes, 0);
    try {
      while (this.#journal.isFullFor(bytes)) await this.#checkpoint();
      return batch;
    } catch (error) {
      // What an append that failed has left in memory must not be told to anybody.
      if (!this.#noteFull(error) || this.#journal.hasFailed) throw error;
      for (const waiting of batch) if (!asksOnly(waiting)) waiting.reject(this.#full!);
      return batch.filter(asksOnly);
    }
  }

  /** Whether it was for want of room. */
  #noteFull(error: unknown): boolean {
    if (this.#broken !== undefined) return false;
    if (error instanceof CasPaxosError && error.code === 'DISK_FULL') this.#full = error;
    else if (isNoRoom(error, this.#directory)) this.#full = diskFull(this.#directory, error);
    else return false;
    return true;
  }

  async #process(batch: readonly Waiting[]): Promise<readonly (readonly RegisterReply[])[]> {
    const set = this.#identity.configuration?.number ?? 0;
    const changed = new Map<string, JournalEntry>();
    const replies = batch.map(({ requests, index }) =>
      requests.map((request) => this.#answer(request, index, set, changed)),
    );
    this.counters.batches += 1;
    if (changed.size > 0) await this.#persist(pack(flattenEntries(changed)));
    this.#table.trim();
    return replies;
  }

  #answer(
    request: RegisterRequest,
    index: number,
    set: number,
    changed: Map<string, JournalEntry>,
  ): RegisterReply {
    this.counters.requests += 1;
    if (request.set < set) return { type: 'stale-set', acceptor: index, set };
    let before: RegisterRecord;
    try {
      before = this.#table.get(request.key);
    } catch (error) {
      const { code, message } = asCasPaxosError(error, 'CORRUPT_RECORD', this.url);
      return { type: 'failed', acceptor: index, code, message };
    }
    const { record, reply } = answer(before, request, index, { nowMs: Date.now(), set });
    if (record !== before) {
      this.#table.set(request.key, record, before);
      const isAccepted = record.accepted !== before.accepted || changed.get(request.key)?.isAccepted === true;
      changed.set(request.key, { record, isAccepted });
    }
    return reply;
  }

  /** Rule 3: nothing is answered before this has resolved. */
  async #persist(payload: Buffer): Promise<void> {
    assert(!this.#journal.isFullFor(payload.length), 'a batch that is larger than it was taken for');
    await this.#journal.append(payload);
    this.counters.syncs += 1;
    // A failure in the background has been noted, and whoever asks next is told.
    if (this.#journal.needsCheckpoint && this.#checkpointing === undefined)
      this.#checkpoint().catch(() => {});
  }

  /** Copies what only the journal holds into the database. One at a time; whoever comes second then begins another. */
  async #checkpoint(): Promise<void> {
    while (this.#checkpointing !== undefined) await this.#checkpointing;
    this.#refuseWhenBroken();
    if (!this.#table.hasUnsaved && !this.#journal.needsCheckpoint) return;
    this.#checkpointing = this.#saveTable();
    await this.#checkpointing;
    this.#refuseWhenBroken();
    if (this.#full !== undefined) throw this.#full;
  }

  async #saveTable(): Promise<void> {
    const { sequence } = this.#journal;
    try {
      await this.#table.save(sequence);
      this.#journal.checkpointed(sequence);
      this.counters.checkpoints += 1;
      this.#full = undefined;
    } catch (error) {
      if (this.#noteFull(error)) return;
      this.#broken ??= asCasPaxosError(error, 'STORE_FAILED', `The database of ${this.url} failed`);
    } finally {
      this.#checkpointing = undefined;
    }
  }

  #refuseWhenUseless(): void {
    this.#refuseWhenBroken();
    if (this.retired !== undefined) throw retirementError(this.retired);
  }

  #refuseWhenBroken(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }
}

interface Parts {
  readonly directory: string;
  readonly database: RootDatabase<string, string>;
  readonly table: RecordTable;
  readonly journal: Journal;
  readonly identity: IdentityDocument;
  readonly hasLife: boolean;
}

async function openParts(options: DiskAcceptorOptions): Promise<Parts> {
  const { directory } = options;
  const missing = missingInDatabase(directory);
  if (missing !== undefined) throw forgotten(missing);
  const database = openDatabase(directory);
  try {
    // A commit first of all, before anything depends on one; and whoever looks into the database sees whose it is.
    database.transactionSync(() => void database.put(OWNER_KEY, JSON.stringify(thisProcess())));
    const text = database.get(IDENTITY_KEY);
    const known = text === undefined ? undefined : decodeIdentity(text, `The identity in ${directory}`);
    const identity = known ?? { id: randomUUID(), createdAt: new Date().toISOString() };
    const table = new RecordTable(database, directory, options.cacheBytes ?? DEFAULT_CACHE_BYTES);
    const { sequence: checkpoint, isMarked } = table.checkpoint;
    const journal = await Journal.open({
      directory,
      salt: identity.id,
      checkpoint,
      isMarked,
      size: options.journalBytes ?? DEFAULT_JOURNAL_BYTES,
      isNew: known === undefined,
      restore: (records) => restore(table, records),
      lost: forgotten,
    });
    if (!isMarked) await table.noteMark();
    // Last of all: an acceptor has an identity only once it has everything else that it must never lose.
    // And with each start it begins another life, if it is to, before anybody is answered.
    const hasLife = options.lives === true;
    const alive = hasLife ? withNextLife(identity, journal.sequence) : identity;
    await putAll(database, directory, [[IDENTITY_KEY, encodeIdentity(alive)]], known && 'with the reserve');
    return { directory, database, table, journal, identity: alive, hasLife };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function asksOnly({ requests }: Waiting): boolean {
  return requests.every(({ message }) => message.type === 'query');
}

function journalBytesOf(requests: readonly RegisterRequest[]): number {
  let bytes = 0;
  for (const { key, message } of requests) {
    bytes += MESSAGE_BYTES + 3 * (key.length + (message.type === '2a' ? message.value.length : 0));
  }
  return bytes;
}

/** It is of no use any more: it may promise what it has promised to somebody else. */
function forgotten(what: string): CasPaxosError {
  return new CasPaxosError(
    'DATA_CORRUPT',
    `${what}: this acceptor has forgotten promises and will not start. ` +
      'Replace it by an empty one under a new identity.',
  );
}
