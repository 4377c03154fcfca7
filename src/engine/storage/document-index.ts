/**
 * Where things lie in a partition's log: the newest version of each document, the entry of each operation id, and the
 * documents in the order of their expiry. Reads look into the overlay, then into the database.
 *
 * Every record has a checksum of its key and value: a wrong LSN could otherwise lead to an older version of the same
 * document, which would look right.
 */
import { crc32 } from 'node:zlib';
import { type DocumentKey, keyText, type ScanOptions } from '../core/index.ts';
import { EngineStorageError } from './errors.ts';
import {
  documentKey,
  documentOfExpiryKey,
  documentOfKey,
  epkPlace,
  expiryKey,
  momentOfExpiryKey,
  numberKey,
  operationKey,
} from './keys.ts';
import { compareTexts, splitText } from './key-order.ts';
import { Overlay } from './overlay.ts';
import type { Table, Tables } from './tables.ts';
import type { WriteQueue } from './write-queue.ts';

/** Where the newest version of a document lies. LSN 0: there is none. */
export interface Place {
  readonly lsn: number;
  /** Milliseconds since 1970; 0: never. */
  readonly expiresAt: number;
  readonly isDeleted: boolean;
}

export const NOWHERE: Place = { lsn: 0, expiresAt: 0, isDeleted: true };

const PLACE_BYTES = 21;
const HIGH = 2 ** 32;

export class DocumentIndex {
  readonly #tables: Tables;
  readonly #queue: WriteQueue;
  readonly #number: number;
  readonly #documents = new Overlay<Place>();
  readonly #operations = new Overlay<number>();
  /** Whether any document ever had a time to live: without, nothing needs to be looked up. */
  #hasExpiries: boolean;

  /** `number` is that of the partition's data. */
  constructor(tables: Tables, queue: WriteQueue, number: number) {
    this.#tables = tables;
    this.#queue = queue;
    this.#number = number;
    const range = { start: numberKey(number), end: numberKey(number + 1), limit: 1 };
    this.#hasExpiries = [...tables.expiries.getKeys(range)].length > 0;
  }

  get unflushed(): number {
    return this.#documents.unflushed + this.#operations.unflushed;
  }

  get isFlushing(): boolean {
    return this.#documents.isFlushing || this.#operations.isFlushing;
  }

  /** By the text of its key. */
  find(text: string): Place | undefined {
    const place = this.#documents.get(text) ?? this.#stored(text);
    return place === undefined || place.lsn === 0 ? undefined : place;
  }

  set(text: string, place: Place): void {
    if (place.expiresAt !== 0) this.#hasExpiries = true;
    this.#documents.set(text, place);
  }

  /** Changes the database too, in the same commit as what makes it necessary: no entry will say so when the log is read again. */
  correct(text: string, place: Place, expiriesToRemove: readonly number[] = []): void {
    const { epk, id } = splitText(text);
    for (const expiresAt of expiriesToRemove) {
      this.#queue.remove(this.#tables.expiries, expiryKey(this.#number, expiresAt, epk, id));
    }
    this.#put(epk, id, place);
    this.set(text, place);
  }

  operation(id: string): number | undefined {
    const known = this.#operations.get(id);
    if (known !== undefined) return known === 0 ? undefined : known;
    const key = operationKey(this.#number, id);
    const bytes = this.#tables.operations.get(key);
    return bytes === undefined ? undefined : decodePlace(key, bytes).lsn;
  }

  setOperation(id: string, lsn: number): void {
    this.#operations.set(id, lsn);
  }

  forgetOperation(id: string): void {
    this.#queue.remove(this.#tables.operations, operationKey(this.#number, id));
    this.#operations.set(id, 0);
  }

  /** Documents in their order, without those that were deleted. */
  *range({ from, to, after }: Omit<ScanOptions, 'limit'>): IterableIterator<[string, Place]> {
    const afterText = after === undefined ? '' : keyText(after);
    const overlay = [...this.#documents]
      .filter(([text]) => text >= from && text < to && compareTexts(text, afterText) > 0)
      .sort(([a], [b]) => compareTexts(a, b));
    let next = 0;
    const stored = this.#tables.documents.getRange({
      start: after === undefined ? epkPlace(this.#number, from) : later(this.#number, from, after),
      end: epkPlace(this.#number, to),
    });
    for (const { key, value } of stored) {
      const document = documentOfKey(key);
      const text = keyText(document);
      if (text === afterText) continue;
      while (next < overlay.length && compareTexts(overlay[next]![0], text) <= 0) {
        const pair = overlay[next++]!;
        if (!pair[1].isDeleted) yield pair;
      }
      if (this.#documents.has(text)) continue;
      const place = decodePlace(key, value);
      if (!place.isDeleted) yield [text, place];
    }
    for (const pair of overlay.slice(next)) if (!pair[1].isDeleted) yield pair;
  }

  /** Documents whose time was over at that moment. */
  *expired(at: number): IterableIterator<[string, Place]> {
    if (!this.#hasExpiries) return;
    for (const pair of this.#documents) if (isOver(pair[1], at)) yield pair;
    const { expiries } = this.#tables;
    const end = expiryKey(this.#number, Math.floor(at) + 1, '0'.repeat(32), '');
    for (const key of expiries.getKeys({ start: numberKey(this.#number), end })) {
      const text = keyText(documentOfExpiryKey(key));
      if (this.#documents.has(text)) continue;
      const place = this.#stored(text);
      if (place?.expiresAt === momentOfExpiryKey(key)) yield [text, place];
      else this.#queue.remove(expiries, key);
    }
  }

  clear(): void {
    this.#documents.clear();
    this.#operations.clear();
  }

  beginFlush(): void {
    this.#documents.beginFlush();
    this.#operations.beginFlush();
  }

  /** Writes some of what the flush has to write; returns how many, and whether that was all. Operations below `base` are left out. */
  flush(limit: number, base: number): { readonly written: number; readonly isDone: boolean } {
    let written = 0;
    for (const [text, place] of this.#documents.drain(limit)) {
      this.#flushPlace(text, place);
      written += 1;
    }
    for (const [id, lsn] of this.#operations.drain(limit - written)) {
      if (lsn !== 0 && lsn < base) continue;
      const key = operationKey(this.#number, id);
      if (lsn === 0) this.#queue.remove(this.#tables.operations, key);
      else
        this.#queue.put(
          this.#tables.operations,
          key,
          encodePlace(key, { lsn, expiresAt: 0, isDeleted: false }),
        );
      written += 1;
    }
    return { written, isDone: this.#documents.isDrained && this.#operations.isDrained };
  }

  flushed(): void {
    if (!this.#documents.isDrained || !this.#operations.isDrained) return;
    this.#documents.flushed();
    this.#operations.flushed();
  }

  #flushPlace(text: string, place: Place): void {
    const { epk, id } = splitText(text);
    if (this.#hasExpiries) {
      const before = this.#storedIfSound(text);
      if (before !== undefined && before.expiresAt !== 0 && before.expiresAt !== place.expiresAt) {
        this.#queue.remove(this.#tables.expiries, expiryKey(this.#number, before.expiresAt, epk, id));
      }
    }
    this.#put(epk, id, place);
  }

  #put(epk: string, id: string, place: Place): void {
    const key = documentKey(this.#number, epk, id);
    if (place.lsn === 0) {
      this.#queue.remove(this.#tables.documents, key);
      return;
    }
    this.#queue.put(this.#tables.documents, key, encodePlace(key, place));
    if (place.expiresAt !== 0) {
      const expiry = expiryKey(this.#number, place.expiresAt, epk, id);
      this.#queue.put(this.#tables.expiries, expiry, encodePlace(expiry, place));
    }
  }

  /** What is damaged is about to be written over. */
  #storedIfSound(text: string): Place | undefined {
    try {
      return this.#stored(text);
    } catch {
      return undefined;
    }
  }

  #stored(text: string): Place | undefined {
    const { epk, id } = splitText(text);
    const key = documentKey(this.#number, epk, id);
    const bytes = this.#tables.documents.get(key);
    return bytes === undefined ? undefined : decodePlace(key, bytes);
  }
}

/** All tables that hold a partition's data by its number. */
export function dataTables(tables: Tables): readonly Table[] {
  return [tables.entries, tables.documents, tables.operations, tables.expiries, tables.superseded];
}

function later(number: number, from: string, after: DocumentKey): Buffer {
  const a = epkPlace(number, from);
  const b = documentKey(number, after.epk, after.id);
  return Buffer.compare(a, b) > 0 ? a : b;
}

function isOver({ expiresAt, isDeleted }: Place, at: number): boolean {
  return !isDeleted && expiresAt !== 0 && expiresAt <= at;
}

function encodePlace(key: Buffer, place: Place): Buffer {
  const bytes = Buffer.allocUnsafe(PLACE_BYTES);
  bytes.writeDoubleLE(place.lsn, 0);
  bytes.writeDoubleLE(place.expiresAt, 8);
  bytes[16] = place.isDeleted ? 1 : 0;
  bytes.writeUInt32LE(checksumOf(key, place), 17);
  return bytes;
}

function decodePlace(key: Buffer, bytes: Buffer): Place {
  if (bytes.length !== PLACE_BYTES) throw damaged();
  const place = { lsn: bytes.readDoubleLE(0), expiresAt: bytes.readDoubleLE(8), isDeleted: bytes[16] === 1 };
  if (checksumOf(key, place) !== bytes.readUInt32LE(17)) throw damaged();
  return place;
}

function damaged(): EngineStorageError {
  return new EngineStorageError('DAMAGED', 'A record of an index is damaged on this disk.');
}

/** Of the key, beginning with a number that changes with each part of the value: one call for both. */
function checksumOf(key: Buffer, { lsn, expiresAt, isDeleted }: Place): number {
  const high = Math.floor(lsn / HIGH) + Math.floor(expiresAt / HIGH) * 3;
  const seed = (lsn % HIGH) ^ Math.imul(expiresAt % HIGH, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b);
  return crc32(key, (isDeleted ? ~seed : seed) >>> 0);
}
