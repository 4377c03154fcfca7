/**
 * Writing frames: what is sent in one turn of the event loop goes out together. Small frames are copied one behind the
 * other into a slab; large payloads are left where they are and handed to the socket as they are (writev). A thousand
 * messages of a turn so share a handful of system calls.
 *
 * The socket gets a piece at a time, and the next when it has got rid of that: so it can be seen whether the other side
 * reads at all, and how much waits here. Above the high-water mark there is no room, until half of it is gone.
 */
import type { Socket } from 'node:net';
import type { Host } from '../protocol/index.ts';
import { byteLength, LENGTH_BYTES, type Payload, putU32 } from './frames.ts';

const SLAB_BYTES = 64 * 1024;
/** A payload at least this large is not copied. */
const LARGE_BYTES = 16 * 1024;
const PIECE_BYTES = 256 * 1024;

export class FrameWriter {
  readonly #socket: Socket;
  readonly #host: Host;
  readonly #highWaterBytes: number;
  readonly #onRoom: () => void;
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  /** The part of the slab that is in no chunk yet. */
  #start = 0;
  #end = 0;
  /** The slab in which the newest frame began. */
  #frameSlab = this.#slab;
  #chunks: Uint8Array[] = [];
  #nextChunk = 0;
  #chunkBytes = 0;
  #isScheduled = false;
  #isFull = false;
  #isEnding = false;
  #progress = 0;

  /** `onRoom` is called when there was no room and now there is. */
  constructor(socket: Socket, host: Host, highWaterBytes: number, onRoom: () => void) {
    this.#socket = socket;
    this.#host = host;
    this.#highWaterBytes = highWaterBytes;
    this.#onRoom = onRoom;
  }

  /** What was sent and has not left this process. */
  get queuedBytes(): number {
    return this.#chunkBytes + this.#end - this.#start + this.#socket.writableLength;
  }

  /** Changes whenever the other side, or the kernel on its behalf, has taken something. */
  get progress(): number {
    return this.#progress;
  }

  /** Asked before sending what can wait. Once there is none, `onRoom` says when there is again. */
  hasRoom(): boolean {
    if (!this.#isFull && this.queuedBytes >= this.#highWaterBytes) this.#isFull = true;
    return !this.#isFull;
  }

  /** The buffer that `begin` gave a place in. */
  get slab(): Uint8Array {
    return this.#frameSlab;
  }

  /**
   * A new frame: an envelope of so many bytes, then the payload. Gives where in `slab` the caller has to write the
   * envelope, at once. The payload belongs to the writer from here on: its bytes must not change any more.
   */
  begin(envelopeBytes: number, payload: Payload | undefined): number {
    if (this.#chunkBytes >= PIECE_BYTES) this.#pump();
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      this.#host.soon(this.#flush);
    }
    const bytes = payload === undefined ? 0 : byteLength(payload);
    const isLarge = bytes >= LARGE_BYTES;
    const own = LENGTH_BYTES + envelopeBytes + (isLarge ? 0 : bytes);
    if (this.#end + own > SLAB_BYTES) this.#replaceSlab();
    const at = this.#end;
    const slab = this.#slab;
    this.#frameSlab = slab;
    putU32(slab, at, envelopeBytes + bytes);
    this.#end = at + own;
    if (isLarge) this.#append(payload!);
    else if (payload !== undefined) copyInto(slab, at + LENGTH_BYTES + envelopeBytes, payload);
    return at + LENGTH_BYTES;
  }

  /** Ends the stream behind everything that was sent. */
  end(): void {
    this.#isEnding = true;
    this.#flush();
  }

  readonly #flush = (): void => {
    this.#isScheduled = false;
    this.#cut();
    this.#pump();
  };

  readonly #onWritten = (): void => {
    this.#progress += 1;
    this.#pump();
    if (!this.#isFull || this.queuedBytes > this.#highWaterBytes / 2) return;
    this.#isFull = false;
    this.#onRoom();
  };

  #pump(): void {
    const socket = this.#socket;
    if (socket.destroyed || socket.writableEnded) {
      this.#forget();
      return;
    }
    while (this.#nextChunk < this.#chunks.length && socket.writableLength < PIECE_BYTES) this.#writePiece();
    if (this.#nextChunk < this.#chunks.length) return;
    if (this.#nextChunk > 0) this.#forget();
    // All of it went into the kernel at once: nobody reads the slab any more.
    if (this.#start === this.#end && socket.writableLength === 0) {
      this.#start = 0;
      this.#end = 0;
    }
    if (this.#isEnding && this.#start === this.#end) socket.end();
  }

  #writePiece(): void {
    const socket = this.#socket;
    socket.cork();
    let bytes = 0;
    while (bytes < PIECE_BYTES && this.#nextChunk < this.#chunks.length) {
      const chunk = this.#chunks[this.#nextChunk]!;
      const part = chunk.length <= PIECE_BYTES ? chunk : chunk.subarray(0, PIECE_BYTES);
      if (part === chunk) this.#nextChunk += 1;
      else this.#chunks[this.#nextChunk] = chunk.subarray(PIECE_BYTES);
      bytes += part.length;
      const isLast = bytes >= PIECE_BYTES || this.#nextChunk === this.#chunks.length;
      if (isLast) socket.write(part, this.#onWritten);
      else socket.write(part);
    }
    this.#chunkBytes -= bytes;
    socket.uncork();
  }

  #forget(): void {
    this.#chunks = [];
    this.#nextChunk = 0;
    this.#chunkBytes = 0;
  }

  #append(payload: Payload): void {
    if (payload instanceof Uint8Array) this.#appendPart(payload);
    else for (const part of payload) this.#appendPart(part);
  }

  #appendPart(part: Uint8Array): void {
    if (part.length < LARGE_BYTES) {
      if (this.#end + part.length > SLAB_BYTES) this.#replaceSlab();
      this.#slab.set(part, this.#end);
      this.#end += part.length;
      return;
    }
    this.#cut();
    this.#chunks.push(part);
    this.#chunkBytes += part.length;
  }

  #cut(): void {
    if (this.#start === this.#end) return;
    this.#chunks.push(this.#slab.subarray(this.#start, this.#end));
    this.#chunkBytes += this.#end - this.#start;
    this.#start = this.#end;
  }

  #replaceSlab(): void {
    this.#cut();
    this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    this.#start = 0;
    this.#end = 0;
  }
}

function copyInto(slab: Uint8Array, at: number, payload: Payload): void {
  if (payload instanceof Uint8Array) {
    slab.set(payload, at);
    return;
  }
  let to = at;
  for (const part of payload) {
    slab.set(part, to);
    to += part.length;
  }
}
