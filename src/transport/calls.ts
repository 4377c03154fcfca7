/**
 * The calls that this side makes on one connection. Many are on the wire at once; the answers find them by id, in any
 * order. What the other side or the socket does not take yet waits in line, and what the line does not take is refused
 * with BUSY. Every call has a deadline; one timer serves them all.
 */
import type { Host, Timer } from '../protocol/index.ts';
import { RpcError } from './errors.ts';
import type { FrameWriter } from './frame-writer.ts';
import { byteLength, type Payload } from './frames.ts';
import type { ConnectionLimits } from './limits.ts';
import { KIND, MAX_U32, writeNumber, writeRequest } from './wire.ts';

export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface Call {
  /** 0 while it waits in line. */
  id: number;
  isOver: boolean;
  readonly method: number;
  readonly payload: Payload;
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (error: RpcError) => void;
  readonly signal: AbortSignal | undefined;
  readonly onAbort: (() => void) | undefined;
}

/** Deadlines are looked at no more often than this. */
const SWEEP_MS = 5;

export class CallTable {
  readonly #host: Host;
  readonly #writer: FrameWriter;
  readonly #limits: ConnectionLimits;
  /** How many the other side takes at once. */
  readonly #maxOnWire: number;
  readonly #onWire = new Map<number, Call>();
  #waiting: Call[] = [];
  #nextWaiting = 0;
  #waitingBytes = 0;
  #gaveUpWaiting = 0;
  #nextId = 1;
  #sweepAt = Infinity;
  #timer: Timer | undefined;
  /** Set when no call may begin any more. */
  #refusal: RpcError | undefined;
  onIdle: (() => void) | undefined;

  constructor(host: Host, writer: FrameWriter, limits: ConnectionLimits, peerMaxRequests: number) {
    this.#host = host;
    this.#writer = writer;
    this.#limits = limits;
    this.#maxOnWire = Math.max(1, Math.min(limits.maxCalls, peerMaxRequests));
  }

  get onWire(): number {
    return this.#onWire.size;
  }

  get waiting(): number {
    return this.#waiting.length - this.#nextWaiting;
  }

  call(method: number, payload: Payload, { timeoutMs, signal }: CallOptions): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusal ?? (signal?.aborted === true ? aborted('rejected') : undefined);
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      const bytes = byteLength(payload);
      const deadline = this.#host.now() + timeoutMs;
      const onAbort = signal === undefined ? undefined : () => this.#giveUp(call, aborted);
      const call: Call = {
        id: 0,
        isOver: false,
        method,
        payload,
        bytes,
        deadline,
        resolve,
        reject,
        signal,
        onAbort,
      };
      if (this.#mayGo()) this.#go(call, timeoutMs);
      else if (!this.#wait(call)) return;
      signal?.addEventListener('abort', onAbort!, { once: true });
      if (deadline < this.#sweepAt) this.#sweepBy(deadline);
    });
  }

  answered(id: number, answer: Buffer): void {
    this.#take(id)?.resolve(answer);
    this.#advance();
  }

  failed(id: number, error: RpcError): void {
    this.#take(id)?.reject(error);
    this.#advance();
  }

  /** There is room in the writer again. */
  proceed(): void {
    this.#advance();
  }

  /** No call begins any more; those that wait are refused, those on the wire go on. */
  refuse(error: RpcError): void {
    this.#refusal ??= error;
    for (const call of this.#waiting.slice(this.#nextWaiting)) this.#settle(call)?.reject(error);
    this.#clearWaiting();
    if (this.#onWire.size === 0) this.onIdle?.();
  }

  /** The connection is gone: nobody will know what became of the calls on the wire. */
  lose(error: RpcError): void {
    this.refuse(new RpcError(error.code, error.message, { outcome: 'rejected', cause: error.cause }));
    const lost = new RpcError(error.code, error.message, { outcome: 'unknown', cause: error.cause });
    const calls = [...this.#onWire.values()];
    this.#onWire.clear();
    for (const call of calls) this.#settle(call)?.reject(lost);
    this.#host.cancel(this.#timer);
  }

  #mayGo(): boolean {
    return this.waiting === 0 && this.#onWire.size < this.#maxOnWire && this.#writer.hasRoom();
  }

  #go(call: Call, leftMs: number): void {
    call.id = this.#freeId();
    this.#onWire.set(call.id, call);
    const left = Math.min(MAX_U32, Math.max(0, Math.ceil(leftMs)));
    writeRequest(this.#writer, call.id, call.method, left, call.payload);
  }

  #wait(call: Call): boolean {
    const { maxWaitingCalls, maxWaitingBytes, busyRetryMs } = this.#limits;
    if (this.waiting >= maxWaitingCalls && this.#gaveUpWaiting > 0) this.#compact();
    if (this.waiting >= maxWaitingCalls || this.#waitingBytes + call.bytes > maxWaitingBytes) {
      call.reject(
        new RpcError('BUSY', `There are ${this.waiting} calls waiting in line already.`, {
          retryAfterMs: busyRetryMs,
        }),
      );
      return false;
    }
    this.#waiting.push(call);
    this.#waitingBytes += call.bytes;
    return true;
  }

  #advance(): void {
    while (this.waiting > 0 && this.#onWire.size < this.#maxOnWire && this.#writer.hasRoom()) {
      const call = this.#waiting[this.#nextWaiting]!;
      this.#nextWaiting += 1;
      if (call.isOver) continue;
      const left = call.deadline - this.#host.now();
      // Its own turn to give up may come a moment later than that of the call which made room for it.
      if (left <= 0) this.#giveUp(call, timedOut);
      else if (call.signal?.aborted === true) this.#giveUp(call, aborted);
      else {
        this.#waitingBytes -= call.bytes;
        this.#go(call, left);
      }
    }
    if (this.#nextWaiting > 0 && this.waiting === 0) this.#clearWaiting();
    if (this.#onWire.size === 0) this.onIdle?.();
  }

  #clearWaiting(): void {
    this.#waiting = [];
    this.#nextWaiting = 0;
    this.#waitingBytes = 0;
    this.#gaveUpWaiting = 0;
  }

  /** Those that gave up keep no place in line. */
  #compact(): void {
    this.#waiting = this.#waiting.slice(this.#nextWaiting).filter((call) => !call.isOver);
    this.#nextWaiting = 0;
    this.#gaveUpWaiting = 0;
  }

  #take(id: number): Call | undefined {
    const call = this.#onWire.get(id);
    if (call === undefined) return undefined;
    this.#onWire.delete(id);
    return this.#settle(call);
  }

  #settle(call: Call): Call | undefined {
    if (call.isOver) return undefined;
    call.isOver = true;
    if (call.signal !== undefined) call.signal.removeEventListener('abort', call.onAbort!);
    return call;
  }

  #giveUp(call: Call, why: (outcome: 'rejected' | 'unknown') => RpcError): void {
    if (this.#settle(call) === undefined) return;
    if (call.id === 0) {
      this.#waitingBytes -= call.bytes;
      this.#gaveUpWaiting += 1;
      call.reject(why('rejected'));
      return;
    }
    this.#onWire.delete(call.id);
    writeNumber(this.#writer, KIND.CANCEL, call.id);
    call.reject(why('unknown'));
    this.#advance();
  }

  #freeId(): number {
    let id = this.#nextId;
    while (this.#onWire.has(id)) id = id === MAX_U32 ? 1 : id + 1;
    this.#nextId = id === MAX_U32 ? 1 : id + 1;
    return id;
  }

  #sweepBy(deadline: number): void {
    this.#host.cancel(this.#timer);
    this.#sweepAt = deadline;
    this.#timer = this.#host.after(Math.max(SWEEP_MS, deadline - this.#host.now()), () => this.#sweep());
  }

  #sweep(): void {
    this.#sweepAt = Infinity;
    const now = this.#host.now();
    let next = Infinity;
    for (const call of [...this.#onWire.values(), ...this.#waiting.slice(this.#nextWaiting)]) {
      if (call.isOver) continue;
      if (call.deadline <= now) this.#giveUp(call, timedOut);
      else if (call.deadline < next) next = call.deadline;
    }
    if (this.#gaveUpWaiting > 0) this.#compact();
    if (next < this.#sweepAt) this.#sweepBy(next);
  }
}

function aborted(outcome: 'rejected' | 'unknown'): RpcError {
  return new RpcError('ABORTED', 'The caller gave up the call.', { outcome });
}

function timedOut(outcome: 'rejected' | 'unknown'): RpcError {
  return new RpcError('TIMED_OUT', 'The call was not answered in time.', { outcome });
}
