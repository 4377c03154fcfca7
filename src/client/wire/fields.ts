/** Reading the fields of a message that may come from anybody. Each throws MALFORMED when a field is not what it should be. */
import {
  type PartitionKey,
  type Position,
  READ_LEVELS,
  type ReadLevel,
  type Version,
} from '../../engine/index.ts';
import { malformed } from './packing.ts';

export function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  throw malformed();
}

/** A whole number, not below 0. */
export function countIn(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw malformed();
}

/** Milliseconds; not necessarily whole. */
export function msIn(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < Infinity) return value;
  throw malformed();
}

export function listIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  throw malformed();
}

export function positionIn(epoch: unknown, lsn: unknown): Position {
  return { epoch: countIn(epoch), lsn: countIn(lsn) };
}

/** What was absent is sent as null. */
export function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === null || value === undefined ? undefined : read(value);
}

export function levelIn(value: unknown): ReadLevel {
  const level = READ_LEVELS[value as number];
  if (level === undefined) throw malformed();
  return level;
}

/** `undefined` has no place in a packed message: an empty list stands for it. */
export function partsOut(key: PartitionKey): readonly unknown[] {
  return key.map((part) => (part === undefined ? [] : part));
}

export function partsIn(value: unknown): PartitionKey {
  return listIn(value).map((part) => {
    if (Array.isArray(part) && part.length === 0) return undefined;
    if (part === null || ['string', 'number', 'boolean'].includes(typeof part)) return part as string;
    throw malformed();
  });
}

/** The fields of a version but its body, in this order. */
export function versionOut(version: Version): readonly unknown[] {
  const { epk, id, partitionKey, createdLsn, ttl = null, previous, epoch, lsn, at } = version;
  return [epk, id, partitionKey, createdLsn, ttl, previous, epoch, lsn, at];
}

export function versionIn(fields: readonly unknown[], body: Uint8Array): Version {
  const [epk, id, partitionKey, createdLsn, ttl, previous, epoch, lsn, at] = fields;
  const seconds = optional(ttl, msIn);
  return {
    epk: textIn(epk),
    id: textIn(id),
    partitionKey: textIn(partitionKey),
    createdLsn: countIn(createdLsn),
    previous: countIn(previous),
    epoch: countIn(epoch),
    lsn: countIn(lsn),
    at: msIn(at),
    body,
    ...(seconds !== undefined && { ttl: seconds }),
  };
}

const DEEPEST_JSON = 130;

/** Whether it can stand in a document. */
export function isJson(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth > DEEPEST_JSON) return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const isPlain = Object.getPrototypeOf(value) === Object.prototype;
  return isPlain && Object.values(value).every((item) => isJson(item, depth + 1));
}
