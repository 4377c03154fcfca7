/**
 * Answers on their way. What is small goes at once; what is a stream goes as fast as the client reads it, and no faster, so that
 * a slow client costs no memory here; one that does not read at all is cut off.
 */
import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { GatewayAnswer } from './context.ts';
import { GatewayError } from './errors.ts';

export interface SendOptions {
  readonly activityId: string;
  /** The connection ends with this answer. */
  readonly isLast: boolean;
  /** A client that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** A connection that nobody uses is kept for so long. */
  readonly idleMs: number;
}

const LINGER_MS = 1000;
const SHORT_BYTES = 256 * 1024;
const EMPTY = Buffer.alloc(0);

export function answerOf(error: GatewayError): GatewayAnswer {
  const { status, substatus, code, message, headers } = error;
  return { status, substatus, headers, body: { code, message }, charge: 0 };
}

/** Resolves when the answer is on its way or the client is gone; rejects if the stream of a body fails. */
export async function send(
  request: IncomingMessage,
  response: ServerResponse,
  answer: GatewayAnswer,
  options: SendOptions,
): Promise<void> {
  if (!request.complete && isShort(request)) await drained(request);
  if (response.destroyed) return;
  const { body } = answer;
  const isWithoutBody = answer.status === 204 || answer.status === 304;
  const isStream = body !== undefined && Symbol.asyncIterator in body;
  const isUnread = !request.complete;
  const headers = headersOf(answer, { ...options, isLast: options.isLast || isUnread });
  if (isStream && !isWithoutBody && request.method !== 'HEAD') {
    response.writeHead(answer.status, headers);
    request.socket.setTimeout(options.stallMs);
    await stream(response, body);
    return;
  }
  const bytes = isStream ? EMPTY : bytesOf(body);
  if (!isWithoutBody && !isStream) headers['content-length'] = bytes.length;
  response.writeHead(answer.status, headers);
  const sent = request.method === 'HEAD' || isWithoutBody ? EMPTY : bytes;
  if (isUnread) await lingered(request, response, sent);
  else response.end(sent);
  if (response.writableLength > 0) request.socket.setTimeout(options.stallMs);
}

function headersOf(
  { status, substatus, headers, body, charge = 1 }: GatewayAnswer,
  { activityId, isLast, idleMs }: SendOptions,
): OutgoingHttpHeaders {
  const all: OutgoingHttpHeaders = {
    'x-ms-activity-id': activityId,
    'x-ms-request-charge': String(Math.round(charge * 100) / 100),
    'cache-control': 'no-store',
  };
  if (body !== undefined && status !== 204 && status !== 304) all['content-type'] = 'application/json';
  if (substatus !== undefined && (substatus !== 0 || status >= 400))
    all['x-ms-substatus'] = String(substatus);
  if (isLast) all['connection'] = 'close';
  else all['keep-alive'] = `timeout=${Math.floor(idleMs / 1000)}`;
  return headers === undefined ? all : Object.assign(all, headers);
}

function bytesOf(body: object | undefined): Uint8Array {
  if (body === undefined) return EMPTY;
  return body instanceof Uint8Array ? body : Buffer.from(JSON.stringify(body));
}

async function stream(response: ServerResponse, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  response.once('close', onClose);
  try {
    for await (const chunk of chunks) {
      if (response.destroyed) return;
      if (chunk.length > 0 && !response.write(chunk)) await once(response, 'drain', { signal: gone.signal });
    }
    response.end();
  } catch (error) {
    // A client that does not get the end of it must not take it for the whole.
    response.destroy();
    if (!gone.signal.aborted) throw error;
  } finally {
    response.off('close', onClose);
  }
}

/** Of a body that nobody read: the rest of it is soon here, and the connection can be used again. */
function isShort({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? Infinity) <= SHORT_BYTES;
}

/** Node ends a request that does not come in time. */
async function drained(request: IncomingMessage, withinMs?: number): Promise<void> {
  request.resume();
  if (request.complete || request.destroyed) return;
  await new Promise<void>((resolve) => {
    const timer = withinMs === undefined ? undefined : setTimeout(resolve, withinMs);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.once('end', end).once('close', end).once('error', end);
  });
}

/**
 * The client still sends what nobody will read. If the connection ended now, the system would take the answer back with a
 * reset; so the rest is drained for a moment first.
 */
async function lingered(
  request: IncomingMessage,
  response: ServerResponse,
  bytes: Uint8Array,
): Promise<void> {
  response.write(bytes);
  await drained(request, LINGER_MS);
  response.end();
}
