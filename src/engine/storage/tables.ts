/**
 * The database file of a node: LMDB, one environment with a few tables that all its partitions share. A list of writes is
 * committed as one transaction with one sync.
 *
 *   meta         format; for each partition its record and its notes; data that are being removed
 *   entries      the logs: data number, LSN -> the entry's bytes
 *   documents    data number, EPK, id -> where the newest version lies
 *   operations   data number, operation id -> LSN
 *   expiries     data number, moment, EPK, id -> LSN
 *   superseded   data number, LSN -> how many of a batch's changes nobody needs any more
 *   undone       partition number, epoch, LSN -> an undone entry
 */
import { mkdirSync, realpathSync } from 'node:fs';
import { type Database, open, type RootDatabase } from 'lmdb';
import {
  type DirectoryLock,
  hasRoomFor,
  hasRoomToOpen,
  isNoRoom,
  missingInDatabase,
} from '../../caspaxos/index.ts';
import { EngineStorageError, lostData, storageError } from './errors.ts';
import { lock } from './owner.ts';
import { readRecord, writeRecord } from './records.ts';

const FORMAT = 1;
const FORMAT_KEY = Buffer.from('format');
const JOURNALED_KEY = Buffer.from('journaled');
const PAGE = 4096;

export type Table = Database<Buffer, Buffer>;

/** Which journal, and the last of its records that the database holds. */
export interface Journaled {
  readonly identity: string;
  readonly sequence: number;
  /** There is a mark beside it; earlier versions made none. */
  readonly marked?: boolean;
}

export interface Write {
  readonly table: Table;
  readonly key: Buffer;
  /** Undefined: removes it. */
  readonly value: Uint8Array | undefined;
}

const TABLES = ['meta', 'entries', 'documents', 'operations', 'expiries', 'superseded', 'undone'] as const;
export type TableName = (typeof TABLES)[number];

export class Tables implements Readonly<Record<TableName, Table>> {
  readonly directory: string;
  readonly meta: Table;
  readonly entries: Table;
  readonly documents: Table;
  readonly operations: Table;
  readonly expiries: Table;
  readonly superseded: Table;
  readonly undone: Table;
  readonly #root: RootDatabase<Buffer, Buffer>;
  readonly #lock: DirectoryLock;
  readonly #numbers: ReadonlyMap<Table, number>;

  private constructor(directory: string, root: RootDatabase<Buffer, Buffer>, held: DirectoryLock) {
    const table = (name: TableName): Table =>
      root.openDB<Buffer, Buffer>(name, { encoding: 'binary', keyEncoding: 'binary' });
    this.directory = directory;
    this.#root = root;
    this.#lock = held;
    this.meta = table('meta');
    this.entries = table('entries');
    this.documents = table('documents');
    this.operations = table('operations');
    this.expiries = table('expiries');
    this.superseded = table('superseded');
    this.undone = table('undone');
    this.#numbers = new Map(TABLES.map((name, number) => [this[name], number]));
  }

  static async open(path: string): Promise<Tables> {
    const directory = directoryAt(path);
    const held = await lock(directory);
    let root: RootDatabase<Buffer, Buffer> | undefined;
    try {
      const missing = missingInDatabase(directory);
      if (missing !== undefined) throw lostData(missing);
      if (!hasRoomToOpen(directory)) throw diskFull(directory);
      root = openEnvironment(directory);
      const tables = new Tables(directory, root, held);
      await tables.#checkFormat();
      return tables;
    } catch (error) {
      await root?.close();
      held.release();
      throw storageError('OPEN_FAILED', `The data directory ${path} cannot be opened`, error);
    }
  }

  /** All of them or none, on disk when it resolves. `journaled`: up to which record of the journal these are. */
  async commit(writes: readonly Write[], journaled?: Journaled): Promise<void> {
    this.#checkDisk(writes);
    try {
      await this.#root.batch(() => {
        for (const { table, key, value } of writes) {
          if (value === undefined) void table.remove(key);
          // Written straight from this memory, which nobody changes.
          else void table.put(key, value as Buffer);
        }
        if (journaled !== undefined) void this.meta.put(JOURNALED_KEY, writeRecord(journaled));
      });
    } catch (error) {
      throw await this.#asStorageError(error);
    }
    // What was read before came from a snapshot that does not have this.
    this.#root.resetReadTxn();
  }

  /** Undefined: there is no journal yet. */
  get journaled(): Journaled | undefined {
    return readRecord<Journaled>(this.meta.get(JOURNALED_KEY), 'the journal');
  }

  /** Tables have numbers in the journal. */
  numberOf(table: Table): number {
    return this.#numbers.get(table)!;
  }

  ofNumber(number: number): Table {
    const name = TABLES[number];
    if (name === undefined)
      throw new EngineStorageError('DAMAGED', 'The journal names a table that there is not.');
    return this[name];
  }

  /** Bytes of the pages that hold something. */
  get usedBytes(): number {
    return TABLES.reduce((sum, name) => sum + pagesOf(this[name]) * PAGE, 0);
  }

  async close(): Promise<void> {
    try {
      await this.#root.close();
    } finally {
      this.#lock.release();
    }
  }

  async #checkFormat(): Promise<void> {
    const stored = readRecord<{ format: number }>(this.meta.get(FORMAT_KEY), 'the format');
    if (stored === undefined) {
      const value = writeRecord({ format: FORMAT });
      await this.commit([{ table: this.meta, key: FORMAT_KEY, value }]);
    } else if (stored.format > FORMAT) {
      throw new EngineStorageError(
        'FORMAT_NEWER',
        `The data in ${this.directory} have format ${stored.format}; this version reads up to ${FORMAT}.`,
      );
    }
  }

  async #asStorageError(failure: unknown): Promise<EngineStorageError> {
    const cause = await causeOf(failure);
    if (isNoRoom(cause, this.directory)) return diskFull(this.directory);
    return storageError('DISK_FAILED', `The disk of ${this.directory} failed`, cause);
  }

  /** A full disk is not left to LMDB to find out. */
  #checkDisk(writes: readonly Write[]): void {
    let bytes = 0;
    for (const { key, value } of writes) bytes += key.length + (value?.length ?? 0);
    if (!hasRoomFor(this.directory, writes.length, bytes)) throw diskFull(this.directory);
  }
}

export function diskFull(directory: string): EngineStorageError {
  return new EngineStorageError('DISK_FULL', `There is no room left for the data in ${directory}.`);
}

/** The database says first that a commit failed, and then why. */
async function causeOf(failure: unknown): Promise<unknown> {
  try {
    await (failure as { readonly commitError?: Promise<unknown> }).commitError;
    return failure;
  } catch (cause) {
    return cause;
  }
}

function pagesOf(table: Table): number {
  const { treeBranchPageCount, treeLeafPageCount, overflowPages } = table.getStats() as Record<
    string,
    number
  >;
  return treeBranchPageCount! + treeLeafPageCount! + overflowPages!;
}

function directoryAt(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return realpathSync(path);
  } catch (error) {
    throw storageError('OPEN_FAILED', `The data directory ${path} cannot be opened`, error);
  }
}

function openEnvironment(directory: string): RootDatabase<Buffer, Buffer> {
  return open<Buffer, Buffer>({
    path: directory,
    encoding: 'binary',
    keyEncoding: 'binary',
    // A directory, whatever its name: one with a dot in it would be taken for a file.
    noSubdir: false,
    // By default a commit is visible before it is on disk: here an answer means durable.
    overlappingSync: false,
    // Batches are made here, one at a time; waiting for the turn to end would only add to the latency.
    eventTurnBatching: false,
    maxDbs: TABLES.length + 1,
    pageSize: PAGE,
  });
}
