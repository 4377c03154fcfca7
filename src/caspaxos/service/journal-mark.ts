/**
 * The mark of a journal: in a file of its own, up to which record answers were given, and how long the journal's files are. Without it
 * a journal whose end was lost looks like one that was never longer, and a last record that was damaged like one that was torn.
 *
 * The mark is written before every answer, and a write is not yet a sync. So it is exact whatever becomes of the process; and what the
 * machine's memory had of it when the power failed is behind by no more than a moment (`SYNC_MS`), in which the journal's own syncs
 * go on. A second sync before every answer would take as long as the first. A sync that failed is no reason to fall behind by more:
 * until one has succeeded nothing is marked any more, and so nothing answered.
 *
 * Three slots, in blocks of their own, of which the newest counts: one was synced, one is being synced, and one is written to. So a power
 * failure in the middle of a write leaves another.
 *
 *   slot:  magic u32 | crc32 u32 | salt u32 | 0 u32 | sequence f64 | bytes of each file f64
 */
import { constants, writeSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { fillUpTo, readWhole } from './whole-file.ts';

const MAGIC = 0x4b4d5442; // "BTMK"
const SLOT = 32;
const BLOCK = 4096;
const SLOTS = [0, 1, 2] as const;
const BYTES = SLOTS.length * BLOCK;
const SYNC_MS = 1000;

type Slot = (typeof SLOTS)[number];

export interface Marked {
  readonly salt: number;
  /** Of the last record that was, or may have been, answered. */
  readonly sequence: number;
  /** Of each of the journal's files. */
  readonly size: number;
}

export class JournalMark {
  readonly #file: FileHandle;
  readonly #bytes = Buffer.alloc(SLOT);
  /** That was synced last. */
  #synced: Slot;
  /** That is written to. */
  #slot: Slot;
  #timer: NodeJS.Timeout | undefined;
  #syncing: Promise<void> | undefined;
  /** Why the last sync failed. */
  #problem: Error | undefined;

  private constructor(file: FileHandle, synced: Slot) {
    this.#file = file;
    this.#synced = synced;
    this.#slot = otherThan(synced, synced);
  }

  /** What the mark in this directory says; undefined: there is none, or none that can be read. */
  static async read(directory: string): Promise<Marked | undefined> {
    let file: FileHandle;
    try {
      file = await open(pathIn(directory), constants.O_RDONLY);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    try {
      return (await readSlots(file)).marked;
    } finally {
      await file.close();
    }
  }

  /** On the disk when it resolves, the entry of its directory apart. */
  static async open(directory: string, marked: Marked): Promise<JournalMark> {
    const file = await open(pathIn(directory), constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      // All of it now: when it is written to there may be no room.
      await fillUpTo(file, BYTES);
      const mark = new JournalMark(file, (await readSlots(file)).newest ?? 0);
      mark.write(marked);
      await mark.#syncAtOnce();
      await file.sync();
      return mark;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** That of a life that never began. */
  static async remove(directory: string): Promise<void> {
    await rm(pathIn(directory), { force: true });
  }

  /** Synchronous, and there for every other process when it returns; on the disk a moment later. Throws what a sync of it met since. */
  write({ salt, sequence, size }: Marked): void {
    if (this.#problem !== undefined) throw this.#problem;
    const bytes = this.#bytes;
    bytes.writeUInt32LE(MAGIC, 0);
    bytes.writeUInt32LE(salt, 8);
    bytes.writeDoubleLE(sequence, 16);
    bytes.writeDoubleLE(size, 24);
    bytes.writeUInt32LE(crc32(bytes.subarray(8)), 4);
    this.#put();
    this.#syncSoon();
  }

  async close(): Promise<void> {
    await this.#syncing;
    try {
      await this.#syncAtOnce();
    } finally {
      await this.#file.close();
    }
  }

  #put(): void {
    const written = writeSync(this.#file.fd, this.#bytes, 0, SLOT, this.#slot * BLOCK);
    if (written !== SLOT) throw new Error(`the mark of the journal took ${written} of ${SLOT} bytes`);
  }

  #syncSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#sync();
    }, SYNC_MS).unref();
  }

  async #syncAtOnce(): Promise<void> {
    await this.#sync();
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#problem !== undefined) throw this.#problem;
  }

  /** One at a time. */
  #sync(): Promise<void> {
    this.#syncing ??= this.#syncNow().finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  async #syncNow(): Promise<void> {
    const slot = this.#slot;
    try {
      // What the system did not get to the disk it may have forgotten, and the next sync would say that all is well.
      if (this.#problem !== undefined) this.#put();
      this.#slot = otherThan(slot, this.#synced);
      await this.#file.datasync();
      this.#synced = slot;
      this.#problem = undefined;
    } catch (error) {
      this.#problem = error as Error;
      this.#syncSoon();
    }
  }
}

function otherThan(one: Slot, other: Slot): Slot {
  return SLOTS.find((slot) => slot !== one && slot !== other)!;
}

function pathIn(directory: string): string {
  return join(directory, 'journal-mark');
}

async function readSlots(file: FileHandle): Promise<{ readonly marked?: Marked; readonly newest?: Slot }> {
  const content = await readWhole(file, BYTES);
  const found = SLOTS.flatMap((newest) => {
    const marked = decoded(content.subarray(newest * BLOCK, newest * BLOCK + SLOT));
    return marked === undefined ? [] : [{ marked, newest }];
  });
  return found.toSorted((a, b) => b.marked.sequence - a.marked.sequence)[0] ?? {};
}

function decoded(slot: Buffer): Marked | undefined {
  if (slot.readUInt32LE(0) !== MAGIC || crc32(slot.subarray(8)) !== slot.readUInt32LE(4)) return undefined;
  return { salt: slot.readUInt32LE(8), sequence: slot.readDoubleLE(16), size: slot.readDoubleLE(24) };
}
