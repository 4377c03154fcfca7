/**
 * Many operations in one request. A transactional batch is for one partition key and is one entry of the log: all of it or nothing.
 * A bulk request is for one range, and its operations have nothing to do with each other, except that those of one partition key are
 * carried out in their order.
 *
 * What becomes of a bulk request when the range moves is decided by what the public client does with the answer. A whole request that
 * is answered 403/3 goes to the next region. One operation of it that is answered 403/3, or 503, is not tried again, but one that
 * is answered 429 is. So a request of which nothing was done is refused as a whole; and if something was done, those that
 * certainly were not are answered 429, and come again in another request.
 */
import {
  comparePositions,
  etagOf,
  LIMITS,
  type Operation,
  type OperationResult,
  type PartitionKey,
  type Position,
  readResult,
} from '../../../engine/index.ts';
import type { GatewayAnswer } from '../context.ts';
import { badRequest, GatewayError, tooLarge } from '../errors.ts';
import { headerOf, isTrue } from '../headers.ts';
import {
  type Call,
  pay,
  payRest,
  placeHeaders,
  ownerHeaders,
  type ReadableVersion,
  shownIn,
  unitsOf,
  versionHeaders,
  wantsNoBody,
} from './answers.ts';
import { keyIn, parsedKey } from './keys.ts';
import { batchIn, type BatchOperation } from './operations.ts';
import { Outdated, readFrom, writeTo } from './partitions.ts';
import { substatusOf, versionShown } from './points.ts';
import { type Reading, readingOf, sessionToken } from './session.ts';
import { type ItemRange, rangeNamed, rangeOfKey } from './target.ts';

/** Of one operation, as the answer has it. */
interface Result {
  readonly statusCode: number;
  readonly subStatusCode?: number;
  readonly requestCharge: number;
  readonly eTag?: string;
  readonly retryAfterMilliseconds?: number;
  readonly message?: string;
  /** JSON. */
  readonly body?: Uint8Array;
}

const FAILED_WITH_ANOTHER = 424;

export function isBatch({ request }: Call): boolean {
  return isTrue(request.headers, 'x-ms-cosmos-is-batch-request');
}

export async function runBatch(call: Call): Promise<GatewayAnswer> {
  const { request } = call;
  const members = batchIn(request.body);
  if (members.length === 0) throw badRequest('The batch has no operations.');
  if (members.length > LIMITS.batchOperations)
    throw badRequest(
      `The batch has ${members.length} operations; at most ${LIMITS.batchOperations} are allowed.`,
    );
  return isTrue(request.headers, 'x-ms-cosmos-batch-atomic')
    ? runTransaction(call, members)
    : new Bulk(call, members).run();
}

// ---- all or nothing

async function runTransaction(call: Call, members: readonly BatchOperation[]): Promise<GatewayAnswer> {
  const { request, target } = call;
  const key = keyIn(request, target);
  if (key === undefined) throw badRequest('A transactional batch needs a partition key.');
  const operations = members.map(({ operation }) => operation);
  const units = unitsOf('write', bytesOf(operations)) + operations.length - 1;
  pay(call, units);
  const written = await writeTo(call, key, operations);
  demandTried(written.results);
  const each = units / operations.length;
  const results = operations.map((operation, at): Result => {
    const { status, message } = written.results[at]!;
    if (status >= 400) {
      const substatus = substatusOf(status, operation, key, target);
      return failed({ status, substatus, message }, each);
    }
    return done(
      call,
      status,
      each,
      shownBy(operation, written.position, versionShown(written, at, operation)),
    );
  });
  const headers = placeHeaders(call, rangeOfKey(target, key), written.position);
  const isDone = results.every(({ statusCode }) => statusCode < 400);
  return { status: isDone ? 200 : 207, headers, charge: units, body: listed(results) };
}

/** Throws 400 or 413 if the batch as a whole was refused: then no operation is to blame alone. */
function demandTried(results: readonly OperationResult[]): void {
  const [{ status, message = 'The batch was rejected.' }] = results as [OperationResult];
  if (results.length < 2 || !results.every((one) => one.status === status)) return;
  if (status === 400) throw badRequest(message);
  if (status === 413) throw tooLarge(message);
}

interface Shown {
  readonly etag?: string;
  readonly version: ReadableVersion | undefined;
  readonly isRead: boolean;
}

/** What is deleted has no etag; what is read has its own. */
function shownBy({ op }: Operation, position: Position, version: ReadableVersion | undefined): Shown {
  const isRead = op === 'read';
  if (op === 'delete') return { version: undefined, isRead };
  if (isRead) return { version, isRead, ...(version && { etag: etagOf(version) }) };
  return { version, isRead, etag: etagOf(position) };
}

function done(
  call: Call,
  statusCode: number,
  requestCharge: number,
  { etag, version, isRead }: Shown,
): Result {
  const isShown = version !== undefined && statusCode !== 304 && (isRead || !wantsNoBody(call));
  return {
    statusCode,
    requestCharge,
    ...(etag !== undefined && { eTag: etag }),
    ...(isShown && { body: shownIn(call, version) }),
  };
}

function failed(
  { status, substatus, message }: { status: number; substatus: number; message?: string | undefined },
  requestCharge: number,
): Result {
  return {
    statusCode: status,
    requestCharge,
    ...(substatus !== 0 && { subStatusCode: substatus }),
    ...(message !== undefined && { message }),
  };
}

// ---- each for itself

const AT_ONCE = 16;
/** Of documents in one answer. */
const MOST_BYTES = 4 * 1024 * 1024;
/** The client asks again for what did not fit. */
const ANSWER_TOO_LARGE = 3402;
const COME_BACK_MS = 100;

class Bulk {
  readonly #call: Call;
  readonly #members: readonly BatchOperation[];
  readonly #range: ItemRange | undefined;
  readonly #results: (Result | undefined)[];
  readonly #reading: Reading;
  /** The last answer of each range. */
  readonly #places = new Map<ItemRange, Position>();
  /** Of those that were certainly not carried out, and may be elsewhere or later. */
  readonly #refusals = new Map<number, GatewayError>();
  /** Where nothing more is tried: each would be held for a while, and refused. */
  readonly #closed = new Map<ItemRange, GatewayError>();
  #isChanged = false;
  #outdated: Outdated | undefined;
  #bytes = 0;
  #isOver = false;

  constructor(call: Call, members: readonly BatchOperation[]) {
    const { request, context, target } = call;
    this.#call = call;
    this.#members = members;
    const id = headerOf(request.headers, 'x-ms-documentdb-partitionkeyrangeid');
    this.#range = id === undefined ? undefined : rangeNamed(target, id);
    this.#results = members.map(() => undefined);
    this.#reading = this.#ownReading(readingOf(request, context));
  }

  async run(): Promise<GatewayAnswer> {
    const { request } = this.#call;
    const stopsAtError =
      headerOf(request.headers, 'x-ms-cosmos-batch-continue-on-error')?.toLowerCase() === 'false';
    const lanes = stopsAtError ? [this.#members.map((_, at) => at)] : this.#lanes();
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let lane = lanes[next++]; lane !== undefined; lane = lanes[next++]) {
        for (const at of lane) await this.#runOne(at, stopsAtError);
      }
    };
    const workers = await Promise.allSettled(Array.from({ length: Math.min(AT_ONCE, lanes.length) }, worker));
    for (const one of workers) if (one.status === 'rejected') throw one.reason;
    // If nothing was done, the whole request is looked at again; that is known when all of them have ended.
    if (this.#outdated !== undefined && !this.#isChanged) throw this.#outdated;
    return this.#answer();
  }

  /** What a session has written here, a read that comes after it sees. */
  #ownReading({ level, sessionOf }: Reading): Reading {
    if (level !== 'Session') return { level, sessionOf };
    const seenOf = (range: ItemRange): Position | undefined => {
      const [given, own] = [sessionOf(range), this.#places.get(range)];
      if (given === undefined || own === undefined) return given ?? own;
      return comparePositions(given, own) < 0 ? own : given;
    };
    return { level, sessionOf: seenOf };
  }

  /** Those of one partition key one after the other. */
  #lanes(): readonly (readonly number[])[] {
    const lanes = new Map<string, number[]>();
    for (const [at, { partitionKey = '' }] of this.#members.entries()) {
      const lane = lanes.get(partitionKey);
      if (lane === undefined) lanes.set(partitionKey, [at]);
      else lane.push(at);
    }
    return [...lanes.values()];
  }

  async #runOne(at: number, stopsAtError: boolean): Promise<void> {
    if (this.#isOver) {
      this.#results[at] = failed({ status: FAILED_WITH_ANOTHER, substatus: 0 }, 0);
      return;
    }
    try {
      this.#results[at] = await this.#result(this.#members[at]!);
    } catch (error) {
      if (error instanceof Outdated) this.#outdated = error;
      const refusal = error instanceof Outdated ? outdated() : error;
      if (!(refusal instanceof GatewayError)) throw error;
      this.#refuse(at, refusal);
    }
    if (stopsAtError && (this.#results[at]?.statusCode ?? 500) >= 400) this.#isOver = true;
  }

  #refuse(at: number, refusal: GatewayError): void {
    const { status, substatus, message, headers } = refusal;
    const retryAfter = Number(headers['x-ms-retry-after-ms'] ?? NaN);
    this.#results[at] = {
      ...failed({ status, substatus, message }, 0),
      ...(retryAfter > 0 && { retryAfterMilliseconds: retryAfter }),
    };
    // It may have been carried out.
    if (status === 408) this.#isChanged = true;
    else if (isElsewhere(refusal)) this.#refusals.set(at, refusal);
  }

  async #result({ operation, partitionKey }: BatchOperation): Promise<Result> {
    const call = this.#call;
    const { request, target } = call;
    const key = partitionKey === undefined ? keyIn(request, target) : parsedKey(partitionKey, target);
    if (key === undefined) throw badRequest('Every operation of a bulk request needs its partitionKey.');
    const range = rangeOfKey(target, key);
    if (this.#range !== undefined && range !== this.#range)
      throw badRequest('The partition key of the operation does not lie in the range of the request.');
    if (operation.op === 'read') return this.#read(key, operation);
    const refusal = this.#closed.get(range);
    if (refusal !== undefined) throw refusal;
    try {
      return await this.#write(key, operation);
    } catch (error) {
      if (error instanceof GatewayError && isElsewhere(error)) this.#closed.set(range, error);
      throw error;
    }
  }

  async #write(key: PartitionKey, operation: Operation): Promise<Result> {
    const call = this.#call;
    const units = unitsOf('write', bytesOf([operation]));
    pay(call, units);
    const written = await writeTo(call, key, [operation]);
    this.#saw(key, written.position);
    const { status, message } = written.results[0]!;
    if (status >= 400)
      return failed({ status, substatus: substatusOf(status, operation, key, call.target), message }, units);
    this.#isChanged = true;
    const version = versionShown(written, 0, operation);
    const fits = version !== undefined && this.#fits(version);
    return done(call, status, units, shownBy(operation, written.position, fits ? version : undefined));
  }

  async #read(key: PartitionKey, operation: Extract<Operation, { op: 'read' }>): Promise<Result> {
    const call = this.#call;
    pay(call, 1);
    const { version, position } = await readFrom(call, this.#reading, key, operation.id);
    this.#saw(key, position);
    const result = readResult(version, operation, call.context.host.wallClock());
    if (result.status >= 400) return failed({ ...result, substatus: 0 }, 1);
    const found = result.version!;
    const units = unitsOf('read', found.body.length);
    payRest(call, units - 1);
    if (!this.#fits(found)) {
      const message = 'The answer has no room for this item; ask for it again.';
      return failed({ status: 413, substatus: ANSWER_TOO_LARGE, message }, units);
    }
    const { etag = '' } = versionHeaders(found);
    return done(call, result.status, units, { etag, version: found, isRead: true });
  }

  #fits({ body }: ReadableVersion): boolean {
    // The first one always, however large it is.
    if (this.#bytes > 0 && this.#bytes + body.length > MOST_BYTES) return false;
    this.#bytes += body.length;
    return true;
  }

  #saw(key: PartitionKey, position: Position): void {
    const range = rangeOfKey(this.#call.target, key);
    const before = this.#places.get(range);
    if (before === undefined || comparePositions(before, position) < 0) this.#places.set(range, position);
  }

  #answer(): GatewayAnswer {
    const [refusal] = this.#refusals.values();
    if (refusal !== undefined && !this.#isChanged) throw refusal;
    for (const [at, { message }] of this.#refusals) {
      const later = failed({ status: 429, substatus: 0, message }, 0);
      this.#results[at] = { ...later, retryAfterMilliseconds: COME_BACK_MS };
    }
    const results = this.#results.map((result) => result ?? failed({ status: 500, substatus: 0 }, 0));
    const tokens = [...this.#places].map(([range, position]) => sessionToken(range, position));
    const headers = {
      ...ownerHeaders(this.#call),
      ...(tokens.length > 0 && { 'x-ms-session-token': tokens.join(',') }),
    };
    const charge = results.reduce((sum, { requestCharge }) => sum + requestCharge, 0);
    const isDone = results.every(({ statusCode }) => statusCode < 400);
    return { status: isDone ? 200 : 207, headers, charge, body: listed(results) };
  }
}

/** Certainly not carried out, and worth another try. */
function isElsewhere({ status }: GatewayError): boolean {
  return status === 403 || status === 503;
}

function outdated(): GatewayError {
  return new GatewayError(503, 0, 'ServiceUnavailable', 'The range of this operation is not known any more.');
}

function bytesOf(operations: readonly Operation[]): number {
  return operations.reduce((sum, one) => sum + ('body' in one ? one.body.length : 0), 0);
}

/** A list of results, whose documents are JSON already. */
async function* listed(results: readonly Result[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const [at, { body, ...fields }] of results.entries()) {
    const text = `${at === 0 ? '[' : ','}${JSON.stringify(fields)}`;
    if (body === undefined) yield Buffer.from(text);
    else yield Buffer.concat([Buffer.from(`${text.slice(0, -1)},"resourceBody":`), body, Buffer.from('}')]);
  }
  yield Buffer.from(']');
}
