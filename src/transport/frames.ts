/**
 * Frames on a stream: four bytes of length, then that many bytes. Writing them is in `frame-writer.ts`.
 *
 * A frame that lies whole in a chunk is handed out where it lies. Only one that is cut in two is copied, into a buffer
 * that grows with what has arrived, so that a peer which announces much and sends little costs little.
 */
import { RpcError } from './errors.ts';

export const LENGTH_BYTES = 4;
export const DEFAULT_MAX_FRAME_BYTES = 16 * 1024 * 1024;

const FIRST_BODY_BYTES = 64 * 1024;

export type Payload = Uint8Array | readonly Uint8Array[];

export function byteLength(payload: Payload): number {
  if (payload instanceof Uint8Array) return payload.length;
  let bytes = 0;
  for (const part of payload) bytes += part.length;
  return bytes;
}

export function putU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

export function getU32(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

export interface FrameSink {
  /** A frame: the bytes from `start` to before `end`. They stay valid after the call. */
  onFrame(bytes: Buffer, start: number, end: number): void;
  /** Nothing more comes: a frame is too large (FRAME_TOO_LARGE), or `onFrame` threw this. */
  onBroken(error: unknown): void;
}

export class FrameReader {
  /** Who takes the frames, and how large one may be: both change when the handshake is over. */
  sink: FrameSink;
  limit: number;
  readonly #header = Buffer.alloc(LENGTH_BYTES);
  #headerBytes = 0;
  #body: Buffer | undefined;
  #bodyBytes = 0;
  #length = 0;
  #isStopped = false;

  constructor(limit: number, sink: FrameSink) {
    this.limit = limit;
    this.sink = sink;
  }

  /** What is held of a frame that is not complete. */
  get heldBytes(): number {
    return this.#body?.length ?? 0;
  }

  push(chunk: Buffer): void {
    if (this.#isStopped) return;
    try {
      this.#split(chunk);
    } catch (error) {
      this.stop();
      this.sink.onBroken(error);
    }
  }

  /** Hands out no more frames, not even those of the chunk that is being read. */
  stop(): void {
    this.#isStopped = true;
    this.#body = undefined;
  }

  #split(chunk: Buffer): void {
    let at = this.#headerBytes === 0 ? 0 : this.#continue(chunk);
    while (!this.#isStopped && chunk.length - at >= LENGTH_BYTES) {
      const length = this.#checked(getU32(chunk, at));
      const start = at + LENGTH_BYTES;
      if (chunk.length - start < length) break;
      at = start + length;
      this.sink.onFrame(chunk, start, at);
    }
    if (!this.#isStopped && at < chunk.length) this.#continue(chunk.subarray(at));
  }

  /** Goes on with the frame that is cut, or begins it; gives where in the chunk it ends. */
  #continue(chunk: Buffer): number {
    let at = 0;
    while (this.#headerBytes < LENGTH_BYTES) {
      if (at === chunk.length) return at;
      this.#header[this.#headerBytes] = chunk[at]!;
      this.#headerBytes += 1;
      at += 1;
      if (this.#headerBytes === LENGTH_BYTES) this.#length = this.#checked(getU32(this.#header, 0));
    }
    const end = Math.min(chunk.length, at + this.#length - this.#bodyBytes);
    const body = this.#room(this.#bodyBytes + end - at);
    chunk.copy(body, this.#bodyBytes, at, end);
    this.#bodyBytes += end - at;
    if (this.#bodyBytes === this.#length) {
      this.#headerBytes = 0;
      this.#bodyBytes = 0;
      this.#body = undefined;
      this.sink.onFrame(body, 0, this.#length);
    }
    return end;
  }

  #room(bytes: number): Buffer {
    const body = this.#body;
    if (body !== undefined && body.length >= bytes) return body;
    const size = Math.min(this.#length, Math.max(FIRST_BODY_BYTES, bytes, 2 * (body?.length ?? 0)));
    this.#body = Buffer.allocUnsafe(size);
    body?.copy(this.#body, 0, 0, this.#bodyBytes);
    return this.#body;
  }

  #checked(length: number): number {
    if (length <= this.limit) return length;
    throw new RpcError(
      'FRAME_TOO_LARGE',
      `A message of ${length} bytes was announced, and the limit is ${this.limit}.`,
    );
  }
}
