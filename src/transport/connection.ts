/**
 * One connection between two processes that have shaken hands. Both sides may
 *   - send one-way messages on a channel: in order, without an answer, lost with the connection;
 *   - make calls: many at once, each with a deadline, answered in any order.
 *
 * Back-pressure. `send` takes a message whole or not at all: `false` means that too much is unsent, and `onDrained` says
 * when to go on. Calls wait in line for a while and are then refused with BUSY. Requests that come in while too many are
 * under way, or while the other side does not read its answers, are answered BUSY before they are begun. A connection
 * never stops reading to slow down the other side, since two sides that did would wait for each other for ever; only the
 * owner of a stream of messages may do so, with `pauseReading`.
 *
 * Liveness. Each side pings, busy or not, and so hears from a live peer all the time; one that is silent too long, or that
 * takes nothing of what it is sent, is given up. Payloads are handed over, not copied: what was sent must not be changed,
 * and what is received stays valid but keeps alive the chunk that it came in.
 */
import type { Socket } from 'node:net';
import { assert, AssertionError, type Host, type Timer } from '../protocol/index.ts';
import { type CallOptions, CallTable } from './calls.ts';
import { reasonOf, RpcError } from './errors.ts';
import { FrameWriter } from './frame-writer.ts';
import { byteLength, type FrameReader, getU32, type Payload } from './frames.ts';
import type { Appetite, Identity } from './handshake.ts';
import type { ConnectionLimits } from './limits.ts';
import { type RequestHandler, RequestTable } from './requests.ts';
import {
  demand,
  ENVELOPE_BYTES,
  KIND,
  MAX_U16,
  MAX_U32,
  MESSAGE_BYTES,
  readFailure,
  readGoodbye,
  writeGoodbye,
  writeMessage,
  writeNumber,
} from './wire.ts';

export interface ConnectionHandlers {
  /** Throwing ends the connection: what the other side sends makes no sense here. */
  readonly onMessage?: ((channel: number, payload: Buffer) => void) | undefined;
  readonly onRequest?: RequestHandler | undefined;
  /** After a `send` was refused: there is room again. */
  readonly onDrained?: (() => void) | undefined;
  /** Once, whatever the cause; `reason.code` is CLOSED when one of the sides meant it. */
  readonly onClosed?: ((reason: RpcError) => void) | undefined;
  /** What a request handler threw that is not an RpcError. The caller is not told more than HANDLER_FAILED. */
  readonly onHandlerError?: ((error: unknown, method: number) => void) | undefined;
}

export interface ConnectionParts {
  readonly socket: Socket;
  readonly reader: FrameReader;
  readonly host: Host;
  readonly limits: ConnectionLimits;
  readonly version: number;
  readonly peer: Identity & Appetite;
}

/** How long the other side has to read why it is being left. */
const LINGER_MS = 1000;

export class Connection {
  readonly peer: Identity;
  /** Of the protocol. */
  readonly version: number;
  /** Resolves, with the reason, when it is over. */
  readonly closed: Promise<RpcError>;
  readonly #socket: Socket;
  readonly #reader: FrameReader;
  readonly #host: Host;
  readonly #limits: ConnectionLimits;
  readonly #peerMaxFrameBytes: number;
  readonly #writer: FrameWriter;
  readonly #calls: CallTable;
  readonly #requests: RequestTable;
  #handlers: ConnectionHandlers = {};
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** Why it ends, once one of the sides has said so. */
  #reason: RpcError | undefined;
  #resolveClosed!: (reason: RpcError) => void;
  #wasRefused = false;
  #isPaused = false;
  #lastHeardAt: number;
  #lastProgress = 0;
  /** Ticks since something was heard, and since something of what waits was taken. */
  #quietTicks = 0;
  #stuckTicks = 0;
  #rttMs: number | undefined;
  #pingNumber = 0;
  #pingSentAt = 0;
  #tickTimer: Timer | undefined;
  #closeTimer: Timer | undefined;

  constructor({ socket, reader, host, limits, version, peer }: ConnectionParts) {
    this.#socket = socket;
    this.#reader = reader;
    this.#host = host;
    this.#limits = limits;
    this.version = version;
    const { role, cluster, node, region, incarnation } = peer;
    this.peer = { role, cluster, node, region, incarnation };
    this.#peerMaxFrameBytes = peer.maxFrameBytes;
    this.#writer = new FrameWriter(socket, host, limits.highWaterBytes, () => this.#onRoom());
    this.#calls = new CallTable(host, this.#writer, limits, peer.maxRequests);
    this.#requests = new RequestTable(host, this.#writer, limits, peer.maxFrameBytes);
    this.#requests.onLateAnswer = () => this.#checkUnsent();
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.#lastHeardAt = host.now();
    reader.limit = limits.maxFrameBytes;
    reader.sink = {
      onFrame: (bytes, start, end) => this.#receive(bytes, start, end),
      onBroken: (error) => this.#break(error),
    };
    socket.on('data', () => {
      this.#lastHeardAt = host.now();
      this.#quietTicks = 0;
    });
    socket.on('error', (error) => {
      this.#reason ??= new RpcError('CONNECTION_LOST', `The connection broke: ${reasonOf(error)}.`);
    });
    socket.on('close', () => {
      this.#finish(this.#reason ?? new RpcError('CONNECTION_LOST', 'The other side ended the connection.'));
    });
    this.#tick();
  }

  get isOpen(): boolean {
    return this.#state === 'open' && this.#reason === undefined;
  }

  /** On the clock of this host. */
  get lastHeardAt(): number {
    return this.#lastHeardAt;
  }

  /** Of the latest ping that was answered. */
  get rttMs(): number | undefined {
    return this.#rttMs;
  }

  /** What was sent and has not left this process. */
  get queuedBytes(): number {
    return this.#writer.queuedBytes;
  }

  /** Own calls: on the wire and in line; requests of the other side that are under way. */
  get load(): { readonly onWire: number; readonly waiting: number; readonly requests: number } {
    return {
      onWire: this.#calls.onWire,
      waiting: this.#calls.waiting,
      requests: this.#requests.underWay,
    };
  }

  /** To be called in the turn in which the connection was got: what comes earlier than the handlers is lost. */
  handle(handlers: ConnectionHandlers): void {
    this.#handlers = handlers;
    this.#requests.handler = handlers.onRequest;
    this.#requests.onHandlerError = handlers.onHandlerError;
  }

  /** Whether it was taken. If not, nothing of it is sent, and `onDrained` follows unless the connection is ending. */
  send(channel: number, payload: Payload): boolean {
    assert(channel >= 0 && channel <= MAX_U16, `there is no channel ${channel}`);
    const bytes = MESSAGE_BYTES + byteLength(payload);
    if (bytes > this.#peerMaxFrameBytes) throw this.#tooLarge(bytes);
    if (!this.isOpen) return false;
    if (!this.#writer.hasRoom()) {
      this.#wasRefused = true;
      return false;
    }
    writeMessage(this.#writer, channel, payload);
    return true;
  }

  /** Rejects with an RpcError whose `outcome` says whether the request may have been carried out. */
  call(method: number, payload: Payload, options: CallOptions): Promise<Buffer> {
    assert(method >= 0 && method <= MAX_U16, `there is no method ${method}`);
    const bytes = ENVELOPE_BYTES + byteLength(payload);
    if (bytes > this.#peerMaxFrameBytes) return Promise.reject(this.#tooLarge(bytes));
    return this.#calls.call(method, payload, options);
  }

  /** Reads nothing more: the other side's `send` refuses after a while. Calls of this side get no answers meanwhile. */
  pauseReading(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resumeReading(): void {
    this.#quietTicks = 0;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /** Begins nothing new, lets what was begun come to its end on both sides, and closes. */
  async close(why = 'This side is closing.'): Promise<void> {
    if (this.#state === 'open') {
      this.#state = 'closing';
      this.#reason ??= new RpcError('CLOSED', why);
      this.resumeReading();
      writeGoodbye(this.#writer, this.#reason);
      this.#closeTimer = this.#host.after(this.#limits.closeTimeoutMs, () => this.#socket.destroy());
      this.#calls.onIdle = () => this.#endWhenIdle();
      this.#requests.onIdle = () => this.#endWhenIdle();
      this.#calls.refuse(this.#reason);
      this.#requests.refuse(this.#reason);
    }
    await this.closed;
  }

  /** Ends it at once. */
  destroy(reason = new RpcError('CLOSED', 'This side has closed the connection.')): void {
    this.#finish(reason);
    this.#socket.destroy();
  }

  #endWhenIdle(): void {
    if (this.#calls.onWire === 0 && this.#requests.underWay === 0) this.#writer.end();
  }

  #receive(bytes: Buffer, start: number, end: number): void {
    demand(end > start, 'an empty message');
    const kind = bytes[start];
    if (kind === KIND.MESSAGE) {
      demand(end - start >= MESSAGE_BYTES, 'a message that is cut off');
      this.#deliver((bytes[start + 1]! << 8) | bytes[start + 2]!, bytes.subarray(start + MESSAGE_BYTES, end));
      return;
    }
    if (kind === KIND.GOODBYE) {
      this.#onGoodbye(readGoodbye(bytes, start, end));
      return;
    }
    demand(end - start >= 5, 'a message that is cut off');
    const number = getU32(bytes, start + 1);
    switch (kind) {
      case KIND.REQUEST:
        this.#requests.receive(bytes, start, end);
        this.#checkUnsent();
        break;
      case KIND.ANSWER:
        this.#calls.answered(number, bytes.subarray(start + 5, end));
        break;
      case KIND.FAILURE:
        this.#calls.failed(number, readFailure(bytes, start, end));
        break;
      case KIND.CANCEL:
        this.#requests.cancel(number);
        break;
      case KIND.PING:
        writeNumber(this.#writer, KIND.PONG, number);
        this.#checkUnsent();
        break;
      case KIND.PONG:
        if (number === this.#pingNumber) this.#rttMs = this.#host.now() - this.#pingSentAt;
        break;
      default:
        demand(false, `a message of the unknown kind ${kind}`);
    }
  }

  #deliver(channel: number, payload: Buffer): void {
    try {
      this.#handlers.onMessage?.(channel, payload);
    } catch (error) {
      if (error instanceof AssertionError) throw error;
      throw new RpcError('HANDLER_FAILED', `A message on channel ${channel} could not be taken.`, {
        cause: error,
      });
    }
  }

  #onGoodbye(error: RpcError): void {
    this.#reason ??= error;
    this.#calls.refuse(error);
  }

  #onRoom(): void {
    this.#calls.proceed();
    if (!this.#wasRefused || !this.isOpen || !this.#writer.hasRoom()) return;
    this.#wasRefused = false;
    this.#handlers.onDrained?.();
  }

  /**
   * Silence is counted in ticks, not read from a clock: a process that slept itself has missed ticks, and hears what came
   * meanwhile before it has made up enough of them to judge the other side. The first of them may have come at once.
   */
  readonly #tick = (): void => {
    const { pingEveryMs, silentAfterMs, stalledAfterMs } = this.#limits;
    const isStuck = this.#writer.queuedBytes > 0 && this.#writer.progress === this.#lastProgress;
    this.#lastProgress = this.#writer.progress;
    this.#stuckTicks = isStuck ? this.#stuckTicks + 1 : 0;
    this.#quietTicks = this.#isPaused ? 0 : this.#quietTicks + 1;
    if ((this.#stuckTicks - 1) * pingEveryMs >= stalledAfterMs) {
      this.#stalled();
      return;
    }
    if ((this.#quietTicks - 1) * pingEveryMs >= silentAfterMs) {
      this.destroy(
        new RpcError('PEER_SILENT', `Nothing was heard from ${this.#name()} for ${silentAfterMs} ms.`),
      );
      return;
    }
    this.#pingNumber = this.#pingNumber === MAX_U32 ? 1 : this.#pingNumber + 1;
    this.#pingSentAt = this.#host.now();
    writeNumber(this.#writer, KIND.PING, this.#pingNumber);
    this.#tickTimer = this.#host.after(pingEveryMs, this.#tick);
  };

  #checkUnsent(): void {
    if (this.#writer.queuedBytes > this.#limits.maxUnsentBytes) this.#stalled();
  }

  #stalled(): void {
    this.destroy(new RpcError('PEER_STALLED', `${this.#name()} does not read what it is sent.`));
  }

  /** What the other side sent cannot be read on: tell it why, and leave. */
  #break(error: unknown): void {
    const reason =
      error instanceof RpcError
        ? error
        : new RpcError('HANDLER_FAILED', 'What was sent could not be taken.', { cause: error });
    writeGoodbye(this.#writer, reason);
    this.#finish(reason);
    leave(this.#socket, this.#host, () => this.#writer.end());
    if (error instanceof AssertionError) throw error;
  }

  #finish(reason: RpcError): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#reason = reason;
    this.#reader.stop();
    this.#host.cancel(this.#tickTimer);
    this.#host.cancel(this.#closeTimer);
    this.#calls.onIdle = undefined;
    this.#requests.onIdle = undefined;
    this.#calls.lose(reason);
    this.#requests.lose(reason);
    this.#handlers.onClosed?.(reason);
    this.#resolveClosed(reason);
  }

  #name(): string {
    return `${this.peer.role} ${this.peer.node}`;
  }

  #tooLarge(bytes: number): RpcError {
    const message = `A message of ${bytes} bytes is more than the ${this.#peerMaxFrameBytes} that ${this.#name()} takes.`;
    return new RpcError('FRAME_TOO_LARGE', message);
  }
}

/**
 * Ends a socket so that the other side gets to read the last words: its own are drained unread, because a socket that is
 * closed with something unread in it resets the connection, and takes the last words back.
 */
export function leave(socket: Socket, host: Host, end: () => void): void {
  socket.removeAllListeners('data');
  end();
  socket.resume();
  const timer = host.after(LINGER_MS, () => socket.destroy());
  socket.once('close', () => host.cancel(timer));
}
