/**
 * What a client may say of a container. What Baton does not act on but does no harm is kept and given back, an indexing policy
 * for one. What would be a promise that nobody keeps is refused, unique keys for one.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type Fields, isObject } from './bodies.ts';
import { badRequest, notSupported } from './errors.ts';
import { headerOf, integerOf } from './headers.ts';

/** A container has at least so many partition-sets unless its creator says otherwise. */
export const LEAST_PARTITION_SETS = 4;
/** One partition-set more for each of these. */
export const UNITS_PER_PARTITION_SET = 10_000;
const MAX_EXTRA_BYTES = 32 * 1024;

export interface Definition {
  readonly partitionKey: readonly string[] | undefined;
  readonly defaultTtl: number | undefined;
  readonly extra: Fields | undefined;
}

const OWN: ReadonlySet<string> = new Set(['id', 'partitionKey', 'defaultTtl']);

/** Throws 400. */
export function definitionIn(body: Fields): Definition {
  refusePromises(body);
  const extra = Object.fromEntries(
    Object.entries(body).filter(([name]) => !OWN.has(name) && !name.startsWith('_')),
  );
  if (JSON.stringify(extra).length > MAX_EXTRA_BYTES)
    throw badRequest('The definition of the container is too large.');
  return {
    partitionKey: partitionKeyIn(body['partitionKey']),
    defaultTtl: ttlIn(body['defaultTtl']),
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  };
}

function refusePromises({
  uniqueKeyPolicy,
  changeFeedPolicy,
  clientEncryptionPolicy,
  computedProperties,
}: Fields): void {
  if (isObject(uniqueKeyPolicy) && hasSome(uniqueKeyPolicy['uniqueKeys']))
    throw notSupported('Unique keys are');
  if (isObject(changeFeedPolicy) && hasDuration(changeFeedPolicy['retentionDuration']))
    throw notSupported('Change feeds with all versions and deletes are');
  if (isObject(clientEncryptionPolicy)) throw notSupported('Client encryption is');
  if (hasSome(computedProperties)) throw notSupported('Computed properties are');
}

function hasSome(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}

function hasDuration(value: unknown): boolean {
  return value !== undefined && value !== null && value !== 0;
}

/** Undefined: nothing is said of it. */
function partitionKeyIn(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return undefined;
  const wrong = badRequest('The partition key must be {"paths": ["/..."], "kind": "Hash", "version": 2}.');
  if (!isObject(value)) throw wrong;
  const { paths, kind = 'Hash', version = 2 } = value;
  if (!Array.isArray(paths) || paths.length === 0 || !paths.every((path) => typeof path === 'string'))
    throw wrong;
  const isOne = paths.length === 1;
  if (version !== 2) throw notSupported('Partition keys of a version other than 2 are');
  if (kind !== 'Hash' && (isOne || kind !== 'MultiHash'))
    throw notSupported('Partition keys that are not hashed are');
  return paths;
}

function ttlIn(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number') throw badRequest('defaultTtl must be -1 or a number of seconds.');
  return value;
}

/** In request units per second. Of one that scales by itself, the most it may have. */
export function throughputIn(headers: IncomingHttpHeaders): number | undefined {
  const settings = headerOf(headers, 'x-ms-cosmos-offer-autopilot-settings');
  if (settings === undefined) return integerOf(headers, 'x-ms-offer-throughput');
  const most = autopilotMost(settings);
  if (most === undefined)
    throw badRequest('The header x-ms-cosmos-offer-autopilot-settings must be {"maxThroughput": NUMBER}.');
  return most;
}

function autopilotMost(settings: string): number | undefined {
  let value: unknown;
  try {
    value = JSON.parse(settings) as unknown;
  } catch {
    return undefined;
  }
  const most = isObject(value) ? value['maxThroughput'] : undefined;
  return typeof most === 'number' ? most : undefined;
}

export function partitionSetsFor(headers: IncomingHttpHeaders, throughput = 0): number {
  return (
    integerOf(headers, 'x-baton-partition-sets') ??
    Math.max(LEAST_PARTITION_SETS, Math.ceil(throughput / UNITS_PER_PARTITION_SET))
  );
}
