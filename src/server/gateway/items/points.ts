/** One item at a time: create, upsert, replace, patch, delete, read. */
import type { PartitionWritten } from '../../../client/index.ts';
import {
  etagOf,
  type Operation,
  type PartitionKey,
  readResult,
  samePartitionKey,
  type Version,
} from '../../../engine/index.ts';
import type { GatewayAnswer } from '../context.ts';
import { methodNotAllowed, SUBSTATUS } from '../errors.ts';
import {
  type Call,
  isReadable,
  pay,
  payRest,
  placeHeaders,
  type ReadableVersion,
  rejected,
  shownIn,
  unitsOf,
  versionHeaders,
  wantsNoBody,
} from './answers.ts';
import { keyForBody, keyForItem, keyInBody } from './keys.ts';
import { conditionsIn, pointOperation } from './operations.ts';
import { readFrom, writeTo } from './partitions.ts';
import { readingOf } from './session.ts';
import { rangeOfKey, type Target } from './target.ts';

export async function writeItem(call: Call): Promise<GatewayAnswer> {
  const { request, target } = call;
  const operation = pointOperation(request);
  if (operation === undefined) throw methodNotAllowed('Items are not asked that way.');
  const key =
    'id' in operation && operation.op !== 'replace'
      ? keyForItem(request, target, operation.id)
      : keyForBody(request, target);
  const units = unitsOf('write', 'body' in operation ? operation.body.length : 0);
  pay(call, units);
  const written = await writeTo(call, key, [operation]);
  const headers = placeHeaders(call, rangeOfKey(target, key), written.position);
  const { status, message } = written.results[0]!;
  if (status >= 400) throw rejected(status, substatusOf(status, operation, key, target), message, headers);
  if (operation.op === 'delete') return { status, headers, charge: units };
  const version = versionShown(written, 0, operation);
  const charge = Math.max(units, unitsOf('write', version?.body.length ?? 0));
  payRest(call, charge - units);
  const all = { ...headers, etag: etagOf(written.position), 'x-ms-item-lsn': String(written.position.lsn) };
  const isShown = version !== undefined && !wantsNoBody(call);
  return { status, headers: all, charge, ...(isShown && { body: shownIn(call, version) }) };
}

/** The item as the operation left it. A version without a body has the one that was sent. */
export function versionShown(
  { shown }: Pick<PartitionWritten, 'shown'>,
  at: number,
  operation: Operation,
): ReadableVersion | undefined {
  const version: Version | undefined = shown?.[at];
  if (version === undefined) return undefined;
  if (isReadable(version)) return version;
  return 'body' in operation ? { ...version, body: operation.body } : undefined;
}

/** Clients that learn that their key is not the item's look at the container again. */
export function substatusOf(status: number, operation: Operation, key: PartitionKey, target: Target): number {
  if (status !== 400 || !('body' in operation)) return 0;
  const own = keyInBody(operation.body, target);
  return own !== undefined && !samePartitionKey(own, key) ? SUBSTATUS.wrongPartitionKey : 0;
}

export async function readItem(call: Call, id: string): Promise<GatewayAnswer> {
  const { request, context, target } = call;
  const reading = readingOf(request, context);
  const key = keyForItem(request, target, id);
  pay(call, 1);
  const { version, position } = await readFrom(call, reading, key, id);
  const headers = placeHeaders(call, rangeOfKey(target, key), position);
  const result = readResult(version, conditionsIn(request), context.host.wallClock());
  if (result.status >= 400) throw rejected(result.status, 0, result.message, headers);
  const found = result.version!;
  const all = { ...headers, ...versionHeaders(found) };
  if (result.status === 304) return { status: 304, headers: all };
  const charge = unitsOf('read', found.body.length);
  payRest(call, charge - 1);
  return { status: 200, headers: all, charge, body: shownIn(call, found) };
}
