/**
 * What may be stored. A body is kept as the client sent it, byte by byte, unless it holds system properties: clients send
 * back what they have read, and those are the system's to say.
 */
import type { JsonBytes, OperationResult } from '../model.ts';
import { hasDuplicateNames, NAMED_TWICE } from './duplicate-names.ts';
import { has, isDeeperThan, isObject, without, type JsonObject } from './json-value.ts';
import { partitionKeyOf, samePartitionKey } from './partition-key.ts';
import type { ContainerSettings, JsonCodec, Limits, PartitionKey } from './request.ts';
import { utf8Length } from './utf8.ts';

export const SYSTEM_PROPERTIES: ReadonlySet<string> = new Set([
  '_rid',
  '_self',
  '_etag',
  '_ts',
  '_attachments',
  '_lsn',
]);

export interface ItemContext {
  readonly settings: ContainerSettings;
  readonly limits: Limits;
  readonly json: JsonCodec;
}

export interface Item {
  readonly id: string;
  readonly body: JsonBytes;
  /** Seconds; absent: for ever. */
  readonly ttl?: number;
}

export type Validated =
  | { readonly ok: true; readonly item: Item }
  | { readonly ok: false; readonly result: OperationResult };

/** The body of a request. */
export function validateBody(body: JsonBytes, key: PartitionKey, context: ItemContext): Validated {
  const { limits, json } = context;
  if (body.length > limits.documentBytes + SYSTEM_BYTES) return tooLarge(body.length, limits);
  let document: unknown;
  try {
    document = json.parse(body);
  } catch {
    return bad('The body is not JSON text in UTF-8.');
  }
  if (!isObject(document)) return bad('The body is not a JSON object.');
  if (isDeeperThan(document, limits.nesting)) return bad(tooDeep(limits));
  if (hasDuplicateNames(body, document)) return bad(NAMED_TWICE);
  const sentBack = hasSystemProperties(document);
  return validateDocument(document, sentBack ? undefined : body, key, context);
}

/** A document that is a parsed value, and its body if that is at hand. */
export function validateDocument(
  document: JsonObject,
  body: JsonBytes | undefined,
  key: PartitionKey,
  context: ItemContext,
): Validated {
  const { settings, limits, json } = context;
  const problem = idProblem(document['id'], limits) ?? ttlProblem(document['ttl']);
  if (problem !== undefined) return bad(problem);
  if (body === undefined && isDeeperThan(document, limits.nesting)) return bad(tooDeep(limits));
  const own = partitionKeyOf(document, settings);
  if (own === undefined) return bad('A partition key cannot be an object or an array.');
  if (!samePartitionKey(own, key)) return bad('The partition key in the body is not the one of the request.');
  const stored = body ?? json.format(without(document, SYSTEM_PROPERTIES));
  if (stored.length > limits.documentBytes) return tooLarge(stored.length, limits);
  const ttl = lifetime(document['ttl'], settings);
  const id = document['id'] as string;
  return { ok: true, item: ttl === undefined ? { id, body: stored } : { id, body: stored, ttl } };
}

/** What is wrong with an id, in one sentence. */
export function idProblem(id: unknown, limits: Limits): string | undefined {
  if (typeof id !== 'string' || id === '') return 'The id must be a string that is not empty.';
  if (/[/\\?#]/.test(id)) return 'The id holds one of the characters / \\ ? #, which are not allowed.';
  if (id.endsWith(' ')) return 'The id ends with a space, which is not allowed.';
  if (!id.isWellFormed()) return 'The id is not well-formed Unicode.';
  const most = limits.idBytes;
  // A character has at most three bytes for each of its UTF-16 units.
  if (id.length * 3 <= most || utf8Length(id) <= most) return undefined;
  return `The id has ${utf8Length(id)} bytes; at most ${most} are allowed.`;
}

/** More than what the system adds to a body that a client reads and sends back. */
const SYSTEM_BYTES = 4096;
const LONGEST_TTL = 2 ** 31 - 1;

function ttlProblem(ttl: unknown): string | undefined {
  if (ttl === undefined || ttl === null || ttl === -1) return undefined;
  if (Number.isInteger(ttl) && (ttl as number) > 0 && (ttl as number) <= LONGEST_TTL) return undefined;
  return 'The property ttl must be -1 or a positive whole number of seconds.';
}

function lifetime(ttl: unknown, { defaultTtl }: ContainerSettings): number | undefined {
  if (defaultTtl === undefined) return undefined;
  const seconds = typeof ttl === 'number' ? ttl : defaultTtl;
  return seconds === -1 ? undefined : seconds;
}

function hasSystemProperties(document: JsonObject): boolean {
  for (const name of SYSTEM_PROPERTIES) if (has(document, name)) return true;
  return false;
}

function tooDeep({ nesting }: Limits): string {
  return `The item is nested deeper than the ${nesting} levels that are allowed.`;
}

function tooLarge(bytes: number, limits: Limits): Validated {
  const message = `The item has ${bytes} bytes; at most ${limits.documentBytes} are allowed.`;
  return { ok: false, result: { status: 413, message } };
}

function bad(message: string): Validated {
  return { ok: false, result: { status: 400, message } };
}
