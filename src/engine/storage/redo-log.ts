/**
 * Where a write becomes durable: a journal in front of the database. A commit of LMDB syncs twice and needs another thread; a
 * record of the journal is one synchronous write to a file of fixed size. So every write goes into the journal first, in the
 * order in which it was made, and into the database later, many at a time. The database notes the number of the last record
 * that it holds, in the same transaction; at the start the records behind it are put into it.
 *
 *   record of the journal:  for each write: table u8 | key bytes u16 | value bytes u32 (all ones: removed) | key | value
 */
import { randomUUID } from 'node:crypto';
import { Journal } from '../../caspaxos/index.ts';
import { EngineStorageError, lostData } from './errors.ts';
import type { Journaled, Tables, Write } from './tables.ts';

const REMOVED = 0xffff_ffff;
const HEADER = 7;
export const JOURNAL_BYTES = 32 * 1024 * 1024;

/** About how much a list of writes takes in the journal. */
export function bytesOf(writes: readonly Write[]): number {
  let bytes = 0;
  for (const { key, value } of writes) bytes += HEADER + key.length + (value?.length ?? 0);
  return bytes;
}

export class RedoLog {
  readonly #journal: Journal;
  readonly #tables: Tables;
  readonly #identity: string;

  private constructor(journal: Journal, tables: Tables, identity: string) {
    this.#journal = journal;
    this.#tables = tables;
    this.#identity = identity;
  }

  /** Opens it and puts into the database what that has not got yet. */
  static async open(tables: Tables, size = JOURNAL_BYTES): Promise<RedoLog> {
    const { identity, sequence, marked: isMarked = false } = tables.journaled ?? {};
    const salt = identity ?? randomUUID();
    const journal = await Journal.open({
      directory: tables.directory,
      salt,
      checkpoint: sequence ?? 0,
      size,
      isNew: identity === undefined,
      isMarked,
      lost: lostData,
      restore: async (records) => {
        for (const record of records)
          await tables.commit(decodeWrites(tables, record.payload), {
            identity: salt,
            sequence: record.sequence,
            marked: true,
          });
      },
    });
    // Last of all: what has an identity has a journal with a mark, and must not be opened without them.
    const journaled = { identity: salt, sequence: journal.sequence, marked: true };
    if (identity === undefined) await tables.commit([], journaled);
    // Where there is no room for it now, every later commit says so too.
    else if (!isMarked) await tables.commit([], journaled).catch(unlessFull);
    return new RedoLog(journal, tables, salt);
  }

  /** What a commit of the database says of the journal if it holds everything that the journal does. */
  get journaled(): Journaled {
    return { identity: this.#identity, sequence: this.#journal.sequence, marked: true };
  }

  /** Whether so much is more than the journal takes before the database has caught up. */
  isFullFor(bytes: number): boolean {
    return bytes > this.#journal.size / 2 || this.#journal.isFullFor(bytes);
  }

  /** Whether the database should catch up, so that the journal's other file is free when this one is full. */
  get needsCheckpoint(): boolean {
    return this.#journal.needsCheckpoint;
  }

  /** Durable when it resolves. */
  async append(writes: readonly Write[]): Promise<void> {
    await this.#journal.append(encodeWrites(this.#tables, writes));
  }

  /** Everything up to that record is in the database, and on its disk. */
  checkpointed(sequence: number): void {
    this.#journal.checkpointed(sequence);
  }

  async close(): Promise<void> {
    await this.#journal.close();
  }
}

function unlessFull(error: unknown): void {
  if (!(error instanceof EngineStorageError) || error.code !== 'DISK_FULL') throw error;
}

export function encodeWrites(tables: Tables, writes: readonly Write[]): Buffer {
  const bytes = Buffer.allocUnsafe(bytesOf(writes));
  let at = 0;
  for (const { table, key, value } of writes) {
    bytes[at] = tables.numberOf(table);
    bytes.writeUInt16LE(key.length, at + 1);
    bytes.writeUInt32LE(value?.length ?? REMOVED, at + 3);
    bytes.set(key, at + HEADER);
    at += HEADER + key.length;
    if (value === undefined) continue;
    bytes.set(value, at);
    at += value.length;
  }
  return bytes;
}

export function decodeWrites(tables: Tables, bytes: Buffer): readonly Write[] {
  const writes: Write[] = [];
  for (let at = 0; at < bytes.length;) {
    const table = tables.ofNumber(bytes[at]!);
    const keyEnd = at + HEADER + bytes.readUInt16LE(at + 1);
    const length = bytes.readUInt32LE(at + 3);
    const key = bytes.subarray(at + HEADER, keyEnd);
    at = length === REMOVED ? keyEnd : keyEnd + length;
    writes.push({ table, key, value: length === REMOVED ? undefined : bytes.subarray(keyEnd, at) });
  }
  return writes;
}
