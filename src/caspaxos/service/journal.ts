/**
 * A journal: where an answer becomes durable. A record is one batch; it is written to a file of fixed
 * size with one synchronous write (O_DSYNC) and never touched again, which costs a third of a database commit.
 *
 * Two files take turns. When one is full the other begins, and everything in the full one is copied to the database
 * (a checkpoint) before that file's turn comes again. So at any moment the database and the two files together hold
 * everything that was ever answered.
 *
 *   record:  magic u32 | length u32 | crc32 u32 of what follows | ~length u32 | sequence u64 | payload, padded to whole blocks
 *
 * Sequence numbers have no gaps. After a crash the records above the checkpoint are read back in order. One behind them may
 * be torn: it was never answered, and is dropped. A record that is unreadable *before* a readable one is different, and so is one that
 * the mark (`journal-mark.ts`) names or has behind it: it was answered, so its owner has forgotten something and must not start.
 *
 * An append that fails may be on the disk all the same, whole or torn. Its number is used up, and nothing is appended behind it until a checkpoint
 * covers it: so it is never read back over what the database was given since, and never leaves a gap.
 */
import { constants, existsSync, type PathLike, statSync, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { assert } from '../../protocol/index.ts';
import { JournalMark, type Marked } from './journal-mark.ts';
import { fillUpTo, readWhole } from './whole-file.ts';

const MAGIC = 0x4e4f5442; // "BTON"
const HEADER = 24;
/** A disk's block: a record begins a new one, so that no later write touches, or waits for, what was answered. */
const BLOCK = 4096;
const SLOW_DISK_MS = 1;
/** A record of so many bytes keeps the disk busy long enough for this thread to do something else meanwhile. */
const LONG_BYTES = 16 * 1024;
export const DEFAULT_JOURNAL_BYTES = 16 * 1024 * 1024;

export interface JournalOptions {
  readonly directory: string;
  readonly salt: string;
  /** The last sequence number whose record the database holds. */
  readonly checkpoint: number;
  readonly size: number;
  /** Whether the acceptor begins its life here; if not, a journal that is not there is one that was lost. */
  readonly isNew: boolean;
  /** Whether the database knows that there is a mark. It has to note that when the journal is open; earlier versions made none. */
  readonly isMarked: boolean;
  readonly restore: (records: readonly JournalRecord[]) => Promise<void>;
  /** The error for something that had been answered and is not there any more. */
  readonly lost: (what: string) => Error;
}

export interface JournalRecord {
  readonly sequence: number;
  readonly payload: Buffer;
}

export class Journal {
  readonly #files: readonly [FileHandle, FileHandle];
  readonly #mark: JournalMark;
  readonly #size: number;
  readonly #salt: number;
  #active: 0 | 1 = 0;
  #position = 0;
  #sequence: number;
  /** The last of whose record it is certain that a restart finds it. */
  #answered: number;
  /** How long a write takes here, as a moving average. */
  #typicalMs = 0;
  /** The last sequence number in the file that is waiting for its checkpoint, if one is. */
  #otherEndsAt: number | undefined;
  /** The number of a record that may or may not be there, because its append failed. */
  #failedAt: number | undefined;
  #scratch = Buffer.alloc(64 * 1024);

  private constructor(
    files: readonly [FileHandle, FileHandle],
    mark: JournalMark,
    { salt, sequence, size }: Marked,
  ) {
    this.#files = files;
    this.#mark = mark;
    this.#size = size;
    this.#sequence = sequence;
    this.#answered = sequence;
    this.#salt = salt;
  }

  /**
   * Opens the journal. Records above `checkpoint` are handed to `restore`, which puts them into the database for good:
   * only then may their place be written over. `salt` goes into every checksum, so that neither another acceptor's
   * journal nor a value that looks like a record is ever taken for one.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const { directory, size, checkpoint } = options;
    const salt = crc32(options.salt);
    const paths = [join(directory, 'journal-0'), join(directory, 'journal-1')] as const;
    const marked = await JournalMark.read(directory);
    demandMark(marked, salt, options);
    if (!options.isNew) for (const path of paths) demandSize(path, marked?.size ?? size, options);
    const files = [await openSized(paths[0], size), await openSized(paths[1], size)] as const;
    let mark: JournalMark | undefined;
    try {
      if (options.isNew) await demandNoRecords(files, options);
      const records = await readBack(files, options, salt);
      const sequence = checkpoint + records.length;
      demandAnswered(sequence, marked, options);
      if (options.isNew) await JournalMark.remove(directory);
      // Before what the database is given says that there is a mark.
      mark = await JournalMark.open(directory, { salt, sequence, size });
      await syncDirectory(directory);
      if (records.length > 0) await options.restore(records);
      return new Journal(files, mark, { salt, sequence, size });
    } catch (error) {
      await Promise.all(files.map((file) => file.close()));
      await mark?.close();
      throw error;
    }
  }

  get size(): number {
    return this.#size;
  }

  /** The number of the last record that is, or may be, durable. */
  get sequence(): number {
    return this.#sequence;
  }

  /**
   * The number of the last record that is durable for certain. A record whose append failed may not be there after a restart, so whoever
   * was told its number would take the restart for an old copy; it counts when a checkpoint has covered it.
   */
  get answered(): number {
    return this.#answered;
  }

  /** Whether a full file, or a record whose append failed, waits for its checkpoint. */
  get needsCheckpoint(): boolean {
    return this.#otherEndsAt !== undefined || this.#failedAt !== undefined;
  }

  /** Whether there is a record whose append failed, and that no checkpoint has covered yet. */
  get hasFailed(): boolean {
    return this.#failedAt !== undefined;
  }

  /** Whether a record of that size must wait for a checkpoint. */
  isFullFor(payloadBytes: number): boolean {
    if (this.#failedAt !== undefined) return true;
    return this.#position + recordBytes(payloadBytes) > this.#size && this.#otherEndsAt !== undefined;
  }

  /** Durable when it resolves. One at a time. */
  async append(payload: Uint8Array): Promise<void> {
    const bytes = recordBytes(payload.length);
    assert(bytes <= this.#size, 'a batch larger than the journal');
    assert(this.#failedAt === undefined, 'a record whose append failed still waits for its checkpoint');
    if (this.#position + bytes > this.#size) this.#switch();
    const sequence = this.#sequence + 1;
    try {
      await this.#write(this.#files[this.#active], this.#encode(sequence, payload, bytes), bytes);
      this.#position += bytes;
      // Before anybody is told.
      this.#mark.write({ salt: this.#salt, sequence, size: this.#size });
      this.#answered = sequence;
    } catch (error) {
      this.#failedAt = sequence;
      throw error;
    } finally {
      this.#sequence = sequence;
    }
  }

  /** Everything up to `sequence` is in the database now. */
  checkpointed(sequence: number): void {
    if (this.#otherEndsAt !== undefined && sequence >= this.#otherEndsAt) this.#otherEndsAt = undefined;
    if (this.#failedAt !== undefined && sequence >= this.#failedAt) this.#failedAt = undefined;
    this.#answered = Math.max(this.#answered, sequence);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#files, this.#mark].map((file) => file.close()));
  }

  /**
   * On a disk that answers in a fraction of a millisecond, handing a short write to another thread and back costs as much
   * as the write itself, so it is done right here. A long write, or one to a slower disk, is left to the thread: the next
   * requests are taken meanwhile.
   */
  async #write(file: FileHandle, record: Buffer, bytes: number): Promise<void> {
    const startedAt = performance.now();
    const isShort = bytes < LONG_BYTES && this.#typicalMs < SLOW_DISK_MS;
    // A disk that takes a part of it says with the rest why.
    for (let written = 0; written < bytes;) {
      const [from, left, to] = [written, bytes - written, this.#position + written];
      const taken = isShort
        ? writeSync(file.fd, record, from, left, to)
        : (await file.write(record, from, left, to)).bytesWritten;
      if (taken === 0) throw new Error(`the journal took ${written} of ${bytes} bytes`);
      written += taken;
    }
    this.#typicalMs += (performance.now() - startedAt - this.#typicalMs) / 16;
  }

  #switch(): void {
    assert(this.#otherEndsAt === undefined, 'the other journal file still waits for its checkpoint');
    this.#otherEndsAt = this.#sequence;
    this.#active = this.#active === 0 ? 1 : 0;
    this.#position = 0;
  }

  #encode(sequence: number, payload: Uint8Array, bytes: number): Buffer {
    if (this.#scratch.length < bytes) this.#scratch = Buffer.alloc(bytes * 2);
    const record = this.#scratch;
    record.writeUInt32LE(MAGIC, 0);
    record.writeUInt32LE(payload.length, 4);
    record.writeUInt32LE(~payload.length >>> 0, 12);
    record.writeUInt32LE(sequence % 2 ** 32, 16);
    record.writeUInt32LE(Math.floor(sequence / 2 ** 32), 20);
    record.set(payload, HEADER);
    record.fill(0, HEADER + payload.length, bytes);
    record.writeUInt32LE(crc32(record.subarray(12, bytes), this.#salt), 8);
    return record;
  }
}

function recordBytes(payloadBytes: number): number {
  return Math.ceil((HEADER + payloadBytes) / BLOCK) * BLOCK;
}

/** The records above the checkpoint, in order and without a gap. */
async function readBack(
  files: readonly FileHandle[],
  { checkpoint, directory, lost }: JournalOptions,
  salt: number,
): Promise<readonly JournalRecord[]> {
  const found: JournalRecord[] = [];
  for (const file of files) found.push(...(await scan(file, checkpoint, salt)));
  const records = found.sort((a, b) => a.sequence - b.sequence);
  for (const [at, { sequence }] of records.entries()) {
    const expected = checkpoint + 1 + at;
    if (sequence !== expected)
      throw lost(
        `The journal in ${directory} lost records ${expected} to ${sequence - 1}, which had been answered`,
      );
  }
  return records;
}

/** Nobody takes a mark away, and nobody but the owner of the journal writes one. */
function demandMark(marked: Marked | undefined, salt: number, options: JournalOptions): void {
  const { directory, isNew, isMarked, lost } = options;
  if (isNew) return;
  if (isMarked && marked === undefined)
    throw lost(
      `The mark of the journal in ${directory} is missing or damaged, and with it how much had been answered`,
    );
  if (marked !== undefined && marked.salt !== salt)
    throw lost(`The journal in ${directory} is not the one that belongs to its database`);
}

/** What was behind the end of a file that became shorter had been answered, and so had what a file held that is gone. */
function demandSize(path: string, size: number, { lost }: JournalOptions): void {
  if (!existsSync(path))
    throw lost(`The journal file ${path} is missing, and with it what had been answered`);
  const { size: present } = statSync(path);
  if (present < size)
    throw lost(
      `The journal file ${path} was cut short, to ${present} of ${size} bytes, and what it held is lost`,
    );
}

/** A record that was answered and cannot be read is neither torn nor one that never was. */
function demandAnswered(sequence: number, marked: Marked | undefined, options: JournalOptions): void {
  const { directory, isNew, lost } = options;
  const answered = marked?.sequence ?? 0;
  if (answered <= sequence) return;
  if (isNew)
    throw lost(`The database in ${directory} is empty, but its journal is not: the database was lost`);
  throw lost(
    `The journal in ${directory} lost records ${sequence + 1} to ${answered}, which had been answered`,
  );
}

/** Nothing is journaled before the database has an identity: a new database beside a journal with records is one that was lost. */
async function demandNoRecords(
  files: readonly FileHandle[],
  { directory, lost }: JournalOptions,
): Promise<void> {
  for (const file of files) {
    const content = await contentOf(file);
    for (let at = 0; at + HEADER <= content.length; at += BLOCK)
      if (content.readUInt32LE(at) === MAGIC)
        throw lost(`The database in ${directory} is empty, but its journal is not: the database was lost`);
  }
}

/** A file of exactly `size` bytes, so that a later write changes no metadata that would need a sync of its own. */
async function openSized(path: PathLike, size: number): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_DSYNC;
  const file = await open(path, flags, 0o600);
  await fillUpTo(file, size);
  await file.sync();
  return file;
}

/** A new file is only there for good once its directory says so. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  await handle.sync();
  await handle.close();
}

/**
 * All readable records above the checkpoint, wherever they stand in the file. Records below it are left over from
 * earlier turns; looking at every block finds those behind an unreadable one too.
 */
async function scan(file: FileHandle, checkpoint: number, salt: number): Promise<JournalRecord[]> {
  const content = await contentOf(file);
  const records: JournalRecord[] = [];
  for (let at = 0; at + HEADER <= content.length;) {
    const record = decode(content, at, salt);
    if (record === undefined) {
      at += BLOCK;
      continue;
    }
    if (record.sequence > checkpoint) records.push(record);
    at += recordBytes(record.payload.length);
  }
  return records;
}

async function contentOf(file: FileHandle): Promise<Buffer> {
  const { size } = await file.stat();
  return readWhole(file, size);
}

function decode(content: Buffer, at: number, salt: number): JournalRecord | undefined {
  if (content.readUInt32LE(at) !== MAGIC) return undefined;
  const length = content.readUInt32LE(at + 4);
  const bytes = recordBytes(length);
  if (at + bytes > content.length) return undefined;
  if (crc32(content.subarray(at + 12, at + bytes), salt) !== content.readUInt32LE(at + 8)) return undefined;
  // Earlier versions wrote zero there, and so had no checksum of the length.
  const inverted = content.readUInt32LE(at + 12);
  if (inverted !== 0 && inverted !== ~length >>> 0) return undefined;
  const sequence = content.readUInt32LE(at + 16) + content.readUInt32LE(at + 20) * 2 ** 32;
  return { sequence, payload: content.subarray(at + HEADER, at + HEADER + length) };
}
