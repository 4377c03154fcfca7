/** Small records: JSON text behind its checksum. */
import { crc32 } from 'node:zlib';
import { EngineStorageError } from './errors.ts';

export function writeRecord(value: object): Buffer {
  const text = JSON.stringify(value);
  const bytes = Buffer.allocUnsafe(4 + Buffer.byteLength(text));
  bytes.write(text, 4);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** `what` is for the message. */
export function readRecord<T extends object>(bytes: Buffer | undefined, what: string): T | undefined {
  if (bytes === undefined) return undefined;
  const damaged = (): Error =>
    new EngineStorageError('DAMAGED', `The record of ${what} is damaged on this disk.`);
  if (bytes.length < 4 || crc32(bytes.subarray(4)) !== bytes.readUInt32LE(0)) throw damaged();
  try {
    return JSON.parse(bytes.toString('utf8', 4)) as T;
  } catch {
    throw damaged();
  }
}
