/**
 * Frames on a stream: four bytes of length, then that many bytes. The splitter takes chunks as the socket gives them and
 * hands out whole frames. A length over the limit is a broken or hostile peer: the stream is ended, not buffered.
 */
import { CasPaxosError } from '../errors.ts';

const LENGTH = 4;

export function frame(payload: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(LENGTH + payload.length);
  framed.writeUInt32BE(payload.length, 0);
  framed.set(payload, LENGTH);
  return framed;
}

export class FrameSplitter {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #needed = LENGTH;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Calls `onFrame` for each frame that is complete. A frame's bytes are only valid during the call. */
  push(chunk: Buffer, onFrame: (payload: Buffer) => void): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    if (this.#buffered < this.#needed) return;
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    this.#chunks = [];
    while (bytes.length >= LENGTH) {
      const length = bytes.readUInt32BE(0);
      if (length > this.#limit) {
        throw new CasPaxosError(
          'REQUEST_TOO_LARGE',
          `A frame of ${length} bytes is over the limit of ${this.#limit}.`,
        );
      }
      if (bytes.length < LENGTH + length) break;
      onFrame(bytes.subarray(LENGTH, LENGTH + length));
      bytes = bytes.subarray(LENGTH + length);
    }
    this.#needed = bytes.length >= LENGTH ? LENGTH + bytes.readUInt32BE(0) : LENGTH;
    this.#buffered = bytes.length;
    if (bytes.length > 0) this.#chunks.push(bytes);
  }
}
