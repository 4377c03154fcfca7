/** How much one connection may take, hold and wait. Every queue of the transport has its bound here. */
import { DEFAULT_MAX_FRAME_BYTES } from './frames.ts';

export interface ConnectionLimits {
  /** The largest frame that is taken from the other side. */
  readonly maxFrameBytes: number;
  /** Requests of the other side that are under way at once; one more is answered BUSY. */
  readonly maxRequests: number;
  /** The bytes of those requests together. */
  readonly maxRequestBytes: number;
  /** Own calls on the wire at once; never more than the other side takes. Further ones wait here. */
  readonly maxCalls: number;
  readonly maxWaitingCalls: number;
  readonly maxWaitingBytes: number;
  /** With so much unsent, `send` refuses, calls wait, and requests are answered BUSY. */
  readonly highWaterBytes: number;
  /** With so much unsent (answers to requests that were begun), the other side is cut off. */
  readonly maxUnsentBytes: number;
  /** After what delay somebody who heard BUSY may try again. */
  readonly busyRetryMs: number;
  readonly handshakeTimeoutMs: number;
  readonly pingEveryMs: number;
  /** Nothing heard for so long: the connection is given up. */
  readonly silentAfterMs: number;
  /** Something to send and nothing taken for so long: the connection is given up. */
  readonly stalledAfterMs: number;
  /** How long a closing connection waits for what was begun. */
  readonly closeTimeoutMs: number;
}

export const DEFAULT_LIMITS: ConnectionLimits = {
  maxFrameBytes: DEFAULT_MAX_FRAME_BYTES,
  maxRequests: 2048,
  maxRequestBytes: 64 * 1024 * 1024,
  maxCalls: 2048,
  maxWaitingCalls: 8192,
  maxWaitingBytes: 32 * 1024 * 1024,
  highWaterBytes: 2 * 1024 * 1024,
  maxUnsentBytes: 128 * 1024 * 1024,
  busyRetryMs: 20,
  handshakeTimeoutMs: 3000,
  pingEveryMs: 1000,
  silentAfterMs: 5000,
  stalledAfterMs: 20_000,
  closeTimeoutMs: 5000,
};
