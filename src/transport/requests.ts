/**
 * The requests of the other side that are under way here. There is a bound on their number and on their bytes: what is
 * over it is answered BUSY and not begun, so the caller may safely try again or elsewhere.
 */
import type { Host } from '../protocol/index.ts';
import { RpcError } from './errors.ts';
import type { FrameWriter } from './frame-writer.ts';
import { byteLength, getU32, type Payload } from './frames.ts';
import type { ConnectionLimits } from './limits.ts';
import { ANSWER_BYTES, demand, REQUEST_BYTES, writeAnswer, writeFailure } from './wire.ts';

export interface RequestContext {
  /** On the clock of this host: the caller waits no longer. */
  readonly deadline: number;
  /** Aborted when the caller has given up, or is gone. */
  readonly signal: AbortSignal;
}

/** Throws, or rejects with, an RpcError to fail with that code; anything else is HANDLER_FAILED to the caller. */
export type RequestHandler = (
  method: number,
  payload: Buffer,
  context: RequestContext,
) => Payload | Promise<Payload>;

/** Made for every request, so an AbortController is made only for those that ask. */
class Request implements RequestContext {
  readonly deadline: number;
  readonly bytes: number;
  isCancelled = false;
  #controller: AbortController | undefined;

  constructor(deadline: number, bytes: number) {
    this.deadline = deadline;
    this.bytes = bytes;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isCancelled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  cancel(): void {
    this.isCancelled = true;
    this.#controller?.abort();
  }
}

export class RequestTable {
  readonly #host: Host;
  readonly #writer: FrameWriter;
  readonly #limits: ConnectionLimits;
  readonly #peerMaxFrameBytes: number;
  readonly #underWay = new Map<number, Request>();
  #bytes = 0;
  /** Set when no request is taken any more. */
  #refusal: RpcError | undefined;
  handler: RequestHandler | undefined;
  /** Told of what a handler threw that is not an RpcError. */
  onHandlerError: ((error: unknown, method: number) => void) | undefined;
  /** An answer was sent that is not the immediate result of a request. */
  onLateAnswer: (() => void) | undefined;
  onIdle: (() => void) | undefined;

  constructor(host: Host, writer: FrameWriter, limits: ConnectionLimits, peerMaxFrameBytes: number) {
    this.#host = host;
    this.#writer = writer;
    this.#limits = limits;
    this.#peerMaxFrameBytes = peerMaxFrameBytes;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** The REQUEST that lies from `start` to before `end`. */
  receive(bytes: Buffer, start: number, end: number): void {
    demand(end - start >= REQUEST_BYTES, 'a request that is cut off');
    const id = getU32(bytes, start + 1);
    demand(!this.#underWay.has(id), 'two requests of one number');
    const refusal = this.#refusal ?? this.#busy();
    if (refusal !== undefined) {
      writeFailure(this.#writer, id, refusal);
      return;
    }
    const method = (bytes[start + 5]! << 8) | bytes[start + 6]!;
    const request = new Request(this.#host.now() + getU32(bytes, start + 7), end - start);
    this.#begin(id, method, bytes.subarray(start + REQUEST_BYTES, end), request);
  }

  cancel(id: number): void {
    this.#underWay.get(id)?.cancel();
  }

  /** Takes no more; those under way go on. */
  refuse(error: RpcError): void {
    this.#refusal ??= error;
    if (this.#underWay.size === 0) this.onIdle?.();
  }

  /** The connection is gone: nobody waits for the answers. */
  lose(error: RpcError): void {
    this.refuse(error);
    for (const request of this.#underWay.values()) request.cancel();
  }

  #busy(): RpcError | undefined {
    const { maxRequests, maxRequestBytes, busyRetryMs: retryAfterMs } = this.#limits;
    if (this.#underWay.size >= maxRequests || this.#bytes >= maxRequestBytes)
      return new RpcError('BUSY', 'Too many requests of this connection are under way.', { retryAfterMs });
    if (!this.#writer.hasRoom())
      return new RpcError('BUSY', 'Too many answers on this connection are unread.', { retryAfterMs });
    return undefined;
  }

  #begin(id: number, method: number, payload: Buffer, request: Request): void {
    if (this.handler === undefined) {
      writeFailure(this.#writer, id, new RpcError('METHOD_UNKNOWN', 'Nobody takes requests here.'));
      return;
    }
    let answer: Payload | Promise<Payload>;
    try {
      answer = this.handler(method, payload, request);
    } catch (error) {
      writeFailure(this.#writer, id, this.#failure(error, method));
      return;
    }
    if (!(answer instanceof Promise)) {
      this.#answer(id, answer);
      return;
    }
    this.#underWay.set(id, request);
    this.#bytes += request.bytes;
    answer.then(
      (result) => this.#finish(id, request, () => this.#answer(id, result)),
      (error: unknown) => {
        const failure = this.#failure(error, method);
        this.#finish(id, request, () => writeFailure(this.#writer, id, failure));
      },
    );
  }

  /** Answers, if anybody still waits for it. */
  #finish(id: number, request: Request, answer: () => void): void {
    this.#underWay.delete(id);
    this.#bytes -= request.bytes;
    if (!request.isCancelled) {
      answer();
      this.onLateAnswer?.();
    }
    if (this.#underWay.size === 0) this.onIdle?.();
  }

  #answer(id: number, payload: Payload): void {
    const bytes = ANSWER_BYTES + byteLength(payload);
    if (bytes <= this.#peerMaxFrameBytes) {
      writeAnswer(this.#writer, id, payload);
      return;
    }
    const message = `The answer has ${bytes} bytes, and the caller takes ${this.#peerMaxFrameBytes}.`;
    writeFailure(this.#writer, id, new RpcError('FRAME_TOO_LARGE', message, { outcome: 'unknown' }));
  }

  #failure(error: unknown, method: number): RpcError {
    if (error instanceof RpcError) return error;
    this.onHandlerError?.(error, method);
    return new RpcError('HANDLER_FAILED', `Method ${method} failed.`, { outcome: 'unknown' });
  }
}
