/** The partition key of a request: from its header, or from what the request says otherwise. */
import {
  LIMITS,
  nodeJson,
  parsePartitionKey,
  type PartitionKey,
  partitionKeyOf,
  partitionKeyProblem,
} from '../../../engine/index.ts';
import type { GatewayRequest } from '../context.ts';
import { badRequest } from '../errors.ts';
import { headerOf } from '../headers.ts';
import type { Target } from './target.ts';

const HEADER = 'x-ms-documentdb-partitionkey';

/** `undefined`: the request names none. `[]` and `[{}]` both stand for items without that property. */
export function keyIn(
  { headers }: Pick<GatewayRequest, 'headers'>,
  target: Target,
): PartitionKey | undefined {
  const text = headerOf(headers, HEADER);
  return text === undefined ? undefined : parsedKey(text, target);
}

/** Throws 400. */
export function parsedKey(text: string, { settings }: Target): PartitionKey {
  const parsed = parsePartitionKey(text);
  if (parsed === undefined) throw badRequest('The partition key is not a JSON array of plain values.');
  const key = parsed.length === 0 ? settings.partitionKeyPaths.map(() => undefined) : parsed;
  const problem = partitionKeyProblem(key, settings, LIMITS);
  if (problem !== undefined) throw badRequest(problem);
  return key;
}

/** Of an item that is named by its id. */
export function keyForItem(request: GatewayRequest, target: Target, id: string): PartitionKey {
  const key = keyIn(request, target);
  if (key !== undefined) return key;
  const { partitionKeyPaths } = target.settings;
  if (partitionKeyPaths.length === 1 && partitionKeyPaths[0] === '/id') return [id];
  throw badRequest(`The request needs the partition key of the item, in the header ${HEADER}.`);
}

/** Of an item that the request carries. */
export function keyForBody(request: GatewayRequest, target: Target): PartitionKey {
  return keyIn(request, target) ?? keyInBody(request.body, target) ?? noKey();
}

function noKey(): never {
  throw badRequest('The body is not an item with a partition key.');
}

/** `undefined`: it is not an item, or has no possible key. */
export function keyInBody(body: Uint8Array, { settings }: Target): PartitionKey | undefined {
  try {
    const document = nodeJson.parse(body);
    if (typeof document !== 'object' || document === null || Array.isArray(document)) return undefined;
    return partitionKeyOf(document as Parameters<typeof partitionKeyOf>[0], settings);
  } catch {
    return undefined;
  }
}
