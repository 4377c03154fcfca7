/** Documents between the user and the wire: their bytes, their partition keys, their system properties. */
import {
  epkOf,
  formatPartitionKey,
  nodeJson,
  type PartitionKey,
  partitionKeyOf,
  present,
  type Version,
} from '../../engine/index.ts';
import { routeOf } from '../core/index.ts';
import { BatonError } from './errors.ts';
import type { PartitionKeyValue } from './options.ts';
import type { ContainerPlace, PlacedRange } from './topology.ts';

/** What the system adds to a document that is read. Sent back, they are ignored. */
export interface SystemProperties {
  readonly _rid: string;
  readonly _self: string;
  readonly _etag: string;
  readonly _attachments: string;
  /** Seconds since 1970, of the last change. */
  readonly _ts: number;
}

export type Stored<T> = T & SystemProperties;

/** Throws BAD_REQUEST for what is no JSON object. */
export function bodyOf(document: unknown): Uint8Array {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw badRequest('A document must be an object.');
  try {
    return nodeJson.format(document);
  } catch (error) {
    throw badRequest(`The document cannot be written as JSON: ${(error as Error).message}`);
  }
}

export function documentIn<T>(
  version: Version & { readonly body: Uint8Array },
  { names }: ContainerPlace,
  withLsn = false,
): Stored<T> {
  return nodeJson.parse(present(version, names, withLsn)) as Stored<T>;
}

export function keyOfDocument(
  document: object,
  given: PartitionKeyValue | undefined,
  { settings, name }: ContainerPlace,
): PartitionKey {
  if (given !== undefined) return keyOf(given);
  const key = partitionKeyOf(document as Parameters<typeof partitionKeyOf>[0], settings);
  if (key !== undefined) return key;
  throw badRequest(`The partition key of container ${name} leads to an object or an array in the document.`);
}

/** Where an item is, by its id alone: only a container that is partitioned by the id can tell. */
export function keyOfId(
  id: string,
  given: PartitionKeyValue | undefined,
  { settings, name }: ContainerPlace,
): PartitionKey {
  if (typeof id !== 'string' || id === '') throw badRequest('An id must be a string that is not empty.');
  if (given !== undefined) return keyOf(given);
  const { partitionKeyPaths: paths } = settings;
  if (paths.length === 1 && paths[0] === '/id') return [id];
  throw badRequest(`Container ${name} is partitioned by ${paths.join(', ')}: give the partitionKey.`);
}

/** Minus zero is the same key as zero. */
export function keyOf(value: PartitionKeyValue): PartitionKey {
  const parts = Array.isArray(value) ? (value as PartitionKey) : [value as PartitionKey[number]];
  return parts.map((part) => (part === 0 ? 0 : part));
}

export function rangeOfKey(key: PartitionKey, { ranges, name, settings }: ContainerPlace): PlacedRange {
  if (key.length !== settings.partitionKeyPaths.length)
    throw badRequest(
      `The partition key ${formatPartitionKey(key)} has not as many values as container ${name} has paths.`,
    );
  // The map was found to be without gaps.
  return routeOf(epkOf(key), ranges) as PlacedRange;
}

export function badRequest(message: string): BatonError {
  return new BatonError('BAD_REQUEST', { message, status: 400 });
}
