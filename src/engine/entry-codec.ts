/**
 * An entry as bytes: the same on every disk and on every wire, so that it is made once, by the writer, and copied from then
 * on. Bodies are not looked into. Numbers are little-endian; whole numbers that may pass 32 bits are doubles, which hold
 * them exactly.
 *
 *   format u8 | crc u32 | epoch f64 | lsn f64 | at f64 | statuses u16 | changes u16 | operation u16
 *   statuses u16 each | operation UTF-8
 *   for each change:
 *     flags u8 | id u16 | partition key u16 | body u32 | created f64 | previous f64 | ttl f64 if flagged
 *     EPK 32 digits | id UTF-8 | partition key UTF-8 | body
 *
 * The checksum covers the format byte and everything behind itself.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../protocol/index.ts';
import type { Change, Entry } from './core/index.ts';
import { EngineStorageError } from './storage/errors.ts';

const FORMAT = 1;
const HEADER = 35;
const CHECKED_FROM = 5;
const CHANGE_HEADER = 25;
const EPK_DIGITS = 32;
const NO_OPERATION = 0xffff;

const HAS_BODY = 1;
const HAS_TTL = 2;

/** Made once and kept with the entry. */
export function encodeEntry(entry: Entry): Uint8Array {
  if (entry.encoded !== undefined) return entry.encoded;
  const { operation, statuses, changes } = entry;
  const operationBytes = operation === undefined ? 0 : Buffer.byteLength(operation);
  assert(operationBytes < NO_OPERATION, 'an operation id of 64 kB');
  const bytes = Buffer.allocUnsafe(HEADER + statuses.length * 2 + operationBytes + changesBytes(changes));
  bytes[0] = FORMAT;
  bytes.writeDoubleLE(entry.epoch, 5);
  bytes.writeDoubleLE(entry.lsn, 13);
  bytes.writeDoubleLE(entry.at, 21);
  bytes.writeUInt16LE(statuses.length, 29);
  bytes.writeUInt16LE(changes.length, 31);
  bytes.writeUInt16LE(operation === undefined ? NO_OPERATION : operationBytes, 33);
  let at = HEADER;
  for (const status of statuses) at = bytes.writeUInt16LE(status, at);
  if (operation !== undefined) at += bytes.write(operation, at, operationBytes);
  for (const change of changes) at = writeChange(bytes, at, change);
  assert(at === bytes.length, 'an entry of another length than was counted');
  bytes.writeUInt32LE(crc32(bytes.subarray(CHECKED_FROM), FORMAT), 1);
  entry.encoded = bytes;
  return bytes;
}

/** The bodies are views of the bytes, which must not change any more. Throws `DAMAGED` or `FORMAT_NEWER`. */
export function decodeEntry(encoded: Uint8Array): Entry {
  const bytes = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length);
  check(bytes);
  try {
    return read(bytes, encoded);
  } catch {
    // Whoever wrote it made the checksum fit: a length leads out of it.
    throw damaged();
  }
}

function read(bytes: Buffer, encoded: Uint8Array): Entry {
  const statusCount = bytes.readUInt16LE(29);
  const changeCount = bytes.readUInt16LE(31);
  const operationBytes = bytes.readUInt16LE(33);
  const statuses: number[] = [];
  let at = HEADER;
  for (let index = 0; index < statusCount; index += 1, at += 2) statuses.push(bytes.readUInt16LE(at));
  const operationAt = at;
  if (operationBytes !== NO_OPERATION) at += operationBytes;
  const reader = { bytes, at };
  const changes: Change[] = [];
  for (let index = 0; index < changeCount; index += 1) changes.push(readChange(reader));
  if (reader.at !== bytes.length) throw damaged();
  return {
    epoch: bytes.readDoubleLE(5),
    lsn: bytes.readDoubleLE(13),
    at: bytes.readDoubleLE(21),
    ...(operationBytes !== NO_OPERATION && { operation: bytes.toString('utf8', operationAt, at) }),
    statuses,
    changes,
    encoded,
  };
}

/** Unchecked, for trimming: were it wrong, an entry that is damaged anyway would be taken away and then be found missing. */
export function countChanges(encoded: Uint8Array): number {
  return encoded[31]! + encoded[32]! * 256;
}

function check(bytes: Buffer): void {
  if (bytes.length < HEADER) throw damaged();
  const format = bytes[0]!;
  if (format > FORMAT) {
    throw new EngineStorageError(
      'FORMAT_NEWER',
      `An entry has format ${format}; this version reads up to ${FORMAT}.`,
    );
  }
  if (crc32(bytes.subarray(CHECKED_FROM), format) !== bytes.readUInt32LE(1)) throw damaged();
}

function damaged(): EngineStorageError {
  return new EngineStorageError('DAMAGED', 'The checksum of an entry is wrong.');
}

function changesBytes(changes: readonly Change[]): number {
  let sum = 0;
  for (const { id, partitionKey, body, ttl } of changes) {
    sum += CHANGE_HEADER + EPK_DIGITS + Buffer.byteLength(id) + Buffer.byteLength(partitionKey);
    sum += (body?.length ?? 0) + (ttl === undefined ? 0 : 8);
  }
  return sum;
}

function writeChange(bytes: Buffer, start: number, change: Change): number {
  const { epk, id, partitionKey, body, ttl } = change;
  assert(epk.length === EPK_DIGITS, 'an effective partition key has 32 digits');
  let at = start + CHANGE_HEADER;
  if (ttl !== undefined) at = bytes.writeDoubleLE(ttl, at);
  at += bytes.write(epk, at, EPK_DIGITS, 'latin1');
  const idBytes = bytes.write(id, at);
  at += idBytes;
  const partitionKeyBytes = bytes.write(partitionKey, at);
  at += partitionKeyBytes;
  if (body !== undefined) bytes.set(body, at);
  bytes[start] = (body === undefined ? 0 : HAS_BODY) | (ttl === undefined ? 0 : HAS_TTL);
  bytes.writeUInt16LE(idBytes, start + 1);
  bytes.writeUInt16LE(partitionKeyBytes, start + 3);
  bytes.writeUInt32LE(body?.length ?? 0, start + 5);
  bytes.writeDoubleLE(change.createdLsn, start + 9);
  bytes.writeDoubleLE(change.previous, start + 17);
  return at + (body?.length ?? 0);
}

function readChange(reader: { readonly bytes: Buffer; at: number }): Change {
  const { bytes, at: start } = reader;
  const flags = bytes[start]!;
  const epkAt = start + CHANGE_HEADER + ((flags & HAS_TTL) === 0 ? 0 : 8);
  const idAt = epkAt + EPK_DIGITS;
  const partitionKeyAt = idAt + bytes.readUInt16LE(start + 1);
  const bodyAt = partitionKeyAt + bytes.readUInt16LE(start + 3);
  reader.at = bodyAt + bytes.readUInt32LE(start + 5);
  const change: { -readonly [Name in keyof Change]: Change[Name] } = {
    epk: bytes.toString('latin1', epkAt, idAt),
    id: bytes.toString('utf8', idAt, partitionKeyAt),
    partitionKey: bytes.toString('utf8', partitionKeyAt, bodyAt),
    createdLsn: bytes.readDoubleLE(start + 9),
    previous: bytes.readDoubleLE(start + 17),
  };
  if ((flags & HAS_BODY) !== 0) change.body = bytes.subarray(bodyAt, reader.at);
  if ((flags & HAS_TTL) !== 0) change.ttl = bytes.readDoubleLE(start + CHANGE_HEADER);
  return change;
}
