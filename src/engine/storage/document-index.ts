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
  /** Of the entry that created the document. */
  readonly createdLsn: number;
  /** Empty: it is long, or could not be read when this was written; the entry has it. */
  readonly partitionKey: string;
}

export const NOWHERE: Place = { lsn: 0, expiresAt: 0, isDeleted: true, createdLsn: 0, partitionKey: '' };

const PLACE_HEADER = 29;
/** Longer ones are not kept in the index. */
const PARTITION_KEY_BYTES = 255;

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

  /** Goes on with the flush; returns how many it looked at, and whether that was all. Operations below `base` are left out. */
  flush(limit: number, base: number): { readonly done: number; readonly isDone: boolean } {
    const before = this.#left;
    for (const [text, place] of this.#documents.drain(limit)) this.#flushPlace(text, place);
    for (const [id, lsn] of this.#operations.drain(limit - (before - this.#left))) {
      if (lsn !== 0 && lsn < base) continue;
      const key = operationKey(this.#number, id);
      if (lsn === 0) this.#queue.remove(this.#tables.operations, key);
      else
        this.#queue.put(
          this.#tables.operations,
          key,
          encodePlace(key, { ...NOWHERE, lsn, isDeleted: false }),
        );
    }
    return { done: before - this.#left, isDone: this.#left === 0 };
  }

  flushed(): void {
    if (this.#left > 0) return;
    this.#documents.flushed();
    this.#operations.flushed();
  }

  get #left(): number {
    return this.#documents.left + this.#operations.left;
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

/** `lsn f64 | expires f64 | created f64 | deleted u8 | crc u32 | partition key`, with a checksum that covers the key too. */
function encodePlace(key: Buffer, place: Place): Buffer {
  const keyBytes = Buffer.byteLength(place.partitionKey);
  const length = keyBytes > PARTITION_KEY_BYTES ? 0 : keyBytes;
  const bytes = Buffer.allocUnsafe(PLACE_HEADER + length);
  bytes.writeDoubleLE(place.lsn, 0);
  bytes.writeDoubleLE(place.expiresAt, 8);
  bytes.writeDoubleLE(place.createdLsn, 16);
  bytes[24] = place.isDeleted ? 1 : 0;
  if (length > 0) bytes.write(place.partitionKey, PLACE_HEADER);
  bytes.writeUInt32LE(checksumOf(key, bytes), 25);
  return bytes;
}

function decodePlace(key: Buffer, bytes: Buffer): Place {
  if (bytes.length < PLACE_HEADER || checksumOf(key, bytes) !== bytes.readUInt32LE(25)) throw damaged();
  return {
    lsn: bytes.readDoubleLE(0),
    expiresAt: bytes.readDoubleLE(8),
    createdLsn: bytes.readDoubleLE(16),
    isDeleted: bytes[24] === 1,
    partitionKey: bytes.length === PLACE_HEADER ? '' : bytes.toString('utf8', PLACE_HEADER),
  };
}

function damaged(): EngineStorageError {
  return new EngineStorageError('DAMAGED', 'A record of an index is damaged on this disk.');
}

function checksumOf(key: Buffer, bytes: Buffer): number {
  const checksum = crc32(bytes.subarray(0, 25), crc32(key));
  return bytes.length === PLACE_HEADER ? checksum : crc32(bytes.subarray(PLACE_HEADER), checksum);
}
