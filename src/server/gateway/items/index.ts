/**
 * Items: everything under `docs`. This finds the container and decides what kind of request it is; what is the same for all of
 * them is in `answers.ts`, how partitions are asked in `partitions.ts`.
 */
import type { GatewayAnswer, GatewayContext, GatewayRequest, Handler } from '../context.ts';
import { forbidden, methodNotAllowed } from '../errors.ts';
import { catalogFailure, failureOf } from '../failures.ts';
import { isQuery } from '../headers.ts';
import { containerIn, type Found, lacks } from '../lookup.ts';
import type { Call } from './answers.ts';
import { isBatch, runBatch } from './batches.ts';
import { isChangeFeed, readChanges } from './changes.ts';
import { readItems } from './feed.ts';
import { Outdated } from './partitions.ts';
import { readItem, writeItem } from './points.ts';
import { demandAllItems } from './queries.ts';
import { targetOf } from './target.ts';

export const handleItems: Handler = async (request, context) => {
  const deadlineAt = context.host.now() + request.timeoutMs;
  const found = containerIn(await known(context, lacks(request.resource)), request.resource);
  const callFor = (one: Found): Call => ({ request, context, target: targetOf(one), deadlineAt });
  try {
    return await answered(callFor(found));
  } catch (error) {
    if (!(error instanceof Outdated)) throw error;
    return lookedAtAgain(request, context, found, error, callFor);
  }
};

/** Nodes do not know the partition-set. The container may be gone, or made anew: then once more, with what there is now. */
async function lookedAtAgain(
  request: GatewayRequest,
  context: GatewayContext,
  { catalog, container }: Found,
  { cause }: Outdated,
  callFor: (found: Found) => Call,
): Promise<GatewayAnswer> {
  const isWrite = request.method !== 'GET' && !asksWithQuery(request);
  const failure = failureOf(cause, { isWrite, door: context.door });
  const newer = await known(context, (one) => one.version <= catalog.version);
  const found = containerIn(newer, request.resource);
  if (found.container.number === container.number) throw failure;
  try {
    return await answered(callFor(found));
  } catch (error) {
    throw error instanceof Outdated ? failure : error;
  }
}

function asksWithQuery({ method, headers }: GatewayRequest): boolean {
  return method === 'POST' && isQuery(headers);
}

async function known(
  { catalog }: GatewayContext,
  isMissing: Parameters<GatewayContext['catalog']['known']>[0],
): ReturnType<GatewayContext['catalog']['known']> {
  try {
    return await catalog.known(isMissing);
  } catch (error) {
    throw catalogFailure(error);
  }
}

async function answered(call: Call): Promise<GatewayAnswer> {
  const { request } = call;
  const { method, resource } = request;
  if (method === 'GET') {
    if (resource.item !== undefined) return readItem(call, resource.item);
    return isChangeFeed(call) ? readChanges(call) : readItems(call);
  }
  if (asksWithQuery(request)) {
    if (resource.item !== undefined) throw methodNotAllowed('An item cannot be queried.');
    demandAllItems(call);
    return readItems(call);
  }
  if (request.isReadOnlyKey) throw forbidden('This key may only read.');
  if (method === 'POST' && resource.item === undefined && isBatch(call)) return runBatch(call);
  return writeItem(call);
}
