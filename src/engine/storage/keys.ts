/**
 * Keys of the tables. They begin with the number of a partition's data, so that one table serves all partitions of a node
 * and a partition's records lie side by side; numbers are big-endian, so that their order is the order of the bytes.
 */
import { createHash } from 'node:crypto';
import { assert } from '../../protocol/index.ts';
import type { DocumentKey, Position } from '../core/index.ts';
import { EPK_DIGITS } from './key-order.ts';

const HIGH = 2 ** 32;
const EPK_BYTES = 16;
/** The database takes keys of 1,978 bytes. */
const LONGEST_ID = 1900;
/** Longer operation ids are found by their hash: what is found is compared in any case. */
const LONGEST_OPERATION = 100;

export function numberKey(number: number): Buffer {
  const key = Buffer.allocUnsafe(4);
  key.writeUInt32BE(number, 0);
  return key;
}

/** Number and LSN. */
export function entryKey(number: number, lsn: number): Buffer {
  const key = Buffer.allocUnsafe(12);
  key.writeUInt32BE(number, 0);
  writeWhole(key, lsn, 4);
  return key;
}

export function lsnOfEntryKey(key: Buffer): number {
  return readWhole(key, 4);
}

export function positionKey(number: number, { epoch, lsn }: Position): Buffer {
  const key = Buffer.allocUnsafe(20);
  key.writeUInt32BE(number, 0);
  writeWhole(key, epoch, 4);
  writeWhole(key, lsn, 12);
  return key;
}

export function positionOfKey(key: Buffer): Position {
  return { epoch: readWhole(key, 4), lsn: readWhole(key, 12) };
}

/** Number, effective partition key, id: ordered as `scan` wants it. */
export function documentKey(number: number, epk: string, id: string): Buffer {
  const key = Buffer.allocUnsafe(4 + EPK_BYTES + Buffer.byteLength(id));
  key.writeUInt32BE(number, 0);
  writeDocument(key, 4, epk, id);
  return key;
}

export function documentOfKey(key: Buffer): DocumentKey {
  return readDocument(key, 4);
}

/** The place in the order of documents where an effective partition key begins; it need not have all its digits. */
export function epkPlace(number: number, epk: string): Buffer {
  return documentKey(number, epk.slice(0, EPK_DIGITS).padEnd(EPK_DIGITS, '0'), '');
}

/** Number, moment, document. */
export function expiryKey(number: number, expiresAt: number, epk: string, id: string): Buffer {
  const key = Buffer.allocUnsafe(12 + EPK_BYTES + Buffer.byteLength(id));
  key.writeUInt32BE(number, 0);
  writeWhole(key, expiresAt, 4);
  writeDocument(key, 12, epk, id);
  return key;
}

export function momentOfExpiryKey(key: Buffer): number {
  return readWhole(key, 4);
}

export function documentOfExpiryKey(key: Buffer): DocumentKey {
  return readDocument(key, 12);
}

export function operationKey(number: number, operation: string): Buffer {
  if (Buffer.byteLength(operation) <= LONGEST_OPERATION) {
    const key = Buffer.allocUnsafe(5 + Buffer.byteLength(operation));
    key.writeUInt32BE(number, 0);
    key[4] = 0;
    key.write(operation, 5);
    return key;
  }
  const prefix = Buffer.from([0, 0, 0, 0, 1]);
  prefix.writeUInt32BE(number, 0);
  return Buffer.concat([prefix, createHash('sha256').update(operation).digest()]);
}

export function isKeyable(id: string): boolean {
  return id.length * 3 <= LONGEST_ID || Buffer.byteLength(id) <= LONGEST_ID;
}

function writeDocument(key: Buffer, at: number, epk: string, id: string): void {
  assert(epk.length === EPK_DIGITS, 'an effective partition key has 32 digits');
  key.write(epk, at, 'hex');
  key.write(id, at + EPK_BYTES);
}

function readDocument(key: Buffer, at: number): DocumentKey {
  return {
    epk: key.toString('hex', at, at + EPK_BYTES).toUpperCase(),
    id: key.toString('utf8', at + EPK_BYTES),
  };
}

function writeWhole(key: Buffer, value: number, at: number): void {
  key.writeUInt32BE(Math.floor(value / HIGH), at);
  key.writeUInt32BE(value % HIGH, at + 4);
}

function readWhole(key: Buffer, at: number): number {
  return key.readUInt32BE(at) * HIGH + key.readUInt32BE(at + 4);
}
