/**
 * What two sides of a connection say to each other once they have shaken hands (`handshake.ts`). Each frame begins with
 * one byte that says its kind; numbers are big-endian; payloads are the callers' business.
 *
 *   MESSAGE  kind, channel u16, payload                                   no answer; in order
 *   REQUEST  kind, id u32, method u16, timeout in ms u32, payload
 *   ANSWER   kind, id u32, payload
 *   FAILURE  kind, id u32, outcome u8, retry after ms u32, code length u8, code, sentence
 *   CANCEL   kind, id u32                                                  the caller wants no answer any more
 *   PING     kind, number u32
 *   PONG     kind, number u32                                              that of the ping
 *   GOODBYE  kind, code length u8, code, sentence                          takes and sends no new requests
 *
 * `wire.test.ts` pins these bytes. A change that an older reader would misread needs a new PROTOCOL_VERSION.
 */
import { type CallOutcome, RpcError } from './errors.ts';
import type { FrameWriter } from './frame-writer.ts';
import { getU32, type Payload, putU32 } from './frames.ts';

export const PROTOCOL_VERSION = 1;
/** The oldest version that this one can still speak. */
export const OLDEST_PROTOCOL_VERSION = 1;

export const KIND = {
  MESSAGE: 1,
  REQUEST: 2,
  ANSWER: 3,
  FAILURE: 4,
  CANCEL: 5,
  PING: 6,
  PONG: 7,
  GOODBYE: 8,
} as const;

export const MAX_U16 = 0xffff;
export const MAX_U32 = 0xffff_ffff;

export const MESSAGE_BYTES = 3;
export const REQUEST_BYTES = 11;
export const ANSWER_BYTES = 5;
/** The largest envelope: what a payload leaves room for in a frame. */
export const ENVELOPE_BYTES = REQUEST_BYTES;

const MAX_CODE_LENGTH = 64;
const MAX_SENTENCE_LENGTH = 1000;
const REJECTED = 1;

export function writeMessage(writer: FrameWriter, channel: number, payload: Payload): void {
  const at = writer.begin(MESSAGE_BYTES, payload);
  const slab = writer.slab;
  slab[at] = KIND.MESSAGE;
  slab[at + 1] = channel >>> 8;
  slab[at + 2] = channel;
}

export function writeRequest(
  writer: FrameWriter,
  id: number,
  method: number,
  timeoutMs: number,
  payload: Payload,
): void {
  const at = writer.begin(REQUEST_BYTES, payload);
  const slab = writer.slab;
  slab[at] = KIND.REQUEST;
  putU32(slab, at + 1, id);
  slab[at + 5] = method >>> 8;
  slab[at + 6] = method;
  putU32(slab, at + 7, timeoutMs);
}

export function writeAnswer(writer: FrameWriter, id: number, payload: Payload): void {
  const at = writer.begin(ANSWER_BYTES, payload);
  const slab = writer.slab;
  slab[at] = KIND.ANSWER;
  putU32(slab, at + 1, id);
}

export function writeFailure(writer: FrameWriter, id: number, error: RpcError): void {
  const at = writer.begin(10, sentenceOf(error));
  const slab = writer.slab;
  slab[at] = KIND.FAILURE;
  putU32(slab, at + 1, id);
  slab[at + 5] = error.outcome === 'rejected' ? REJECTED : 0;
  putU32(slab, at + 6, Math.min(MAX_U32, Math.ceil(error.retryAfterMs)));
}

export function writeGoodbye(writer: FrameWriter, error: RpcError): void {
  const at = writer.begin(1, sentenceOf(error));
  writer.slab[at] = KIND.GOODBYE;
}

/** CANCEL, PING and PONG: a number and nothing else. */
export function writeNumber(writer: FrameWriter, kind: 5 | 6 | 7, number: number): void {
  const at = writer.begin(5, undefined);
  const slab = writer.slab;
  slab[at] = kind;
  putU32(slab, at + 1, number);
}

/** The error in a FAILURE that lies from `start` to before `end`. */
export function readFailure(bytes: Buffer, start: number, end: number): RpcError {
  demand(end - start > 10, 'a failure without a code');
  const outcome: CallOutcome = bytes[start + 5] === REJECTED ? 'rejected' : 'unknown';
  return readSentence(bytes, start + 10, end, outcome, getU32(bytes, start + 6));
}

export function readGoodbye(bytes: Buffer, start: number, end: number): RpcError {
  demand(end - start > 1, 'a goodbye without a code');
  return readSentence(bytes, start + 1, end, 'rejected', 0);
}

export function demand(condition: boolean, what: string): asserts condition {
  if (!condition) throw new RpcError('PROTOCOL_VIOLATION', `The other side sent ${what}.`);
}

function sentenceOf({ code, message }: RpcError): Buffer {
  const text = Buffer.from(code.slice(0, MAX_CODE_LENGTH), 'latin1');
  return Buffer.concat([
    Buffer.from([text.length]),
    text,
    Buffer.from(message.slice(0, MAX_SENTENCE_LENGTH)),
  ]);
}

function readSentence(
  bytes: Buffer,
  start: number,
  end: number,
  outcome: CallOutcome,
  retryAfterMs: number,
): RpcError {
  const codeEnd = start + 1 + bytes[start]!;
  demand(codeEnd <= end && codeEnd > start + 1, 'an error whose code is cut off');
  const code = bytes.toString('latin1', start + 1, codeEnd);
  return new RpcError(code, bytes.toString('utf8', codeEnd, end), { outcome, retryAfterMs });
}
