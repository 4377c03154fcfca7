/**
 * DNS over TCP: messages behind two bytes of length. What a stranger can hold is bounded: so many connections, so many
 * bytes of a question, so much time from one whole question to the next. When one connection too many comes, the one that
 * has been silent for longest makes room, so nobody can lock others out by holding connections. Who does not read the
 * answers is not read from either, and runs out of time.
 */
import type { Duplex } from 'node:stream';
import type { Host, Timer } from '../../protocol/index.ts';
import { LARGEST_QUERY } from './query.ts';

export interface TcpLimits {
  readonly maxConnections: number;
  readonly idleMs: number;
}

export interface TcpHandlers {
  /** Nothing for what is not answered. */
  answer(message: Buffer): Buffer | undefined;
  /** The server ended a connection. */
  onEnded(): void;
}

const LENGTH = 2;

export class TcpConnections {
  readonly #host: Host;
  readonly #limits: TcpLimits;
  readonly #handlers: TcpHandlers;
  /** In the order of their last whole question. */
  readonly #connections = new Set<TcpConnection>();

  constructor(host: Host, limits: TcpLimits, handlers: TcpHandlers) {
    this.#host = host;
    this.#limits = limits;
    this.#handlers = handlers;
  }

  get count(): number {
    return this.#connections.size;
  }

  add(socket: Duplex): void {
    const connection = new TcpConnection(socket, {
      onMessage: (message) => {
        this.#restart(connection);
        return this.#handlers.answer(message);
      },
      onBroken: () => this.#end(connection),
      onClosed: () => {
        this.#host.cancel(connection.timer);
        this.#connections.delete(connection);
      },
    });
    this.#restart(connection);
    const [oldest] = this.#connections;
    if (this.#connections.size > this.#limits.maxConnections && oldest !== undefined) this.#end(oldest);
  }

  destroyAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  #restart(connection: TcpConnection): void {
    this.#host.cancel(connection.timer);
    connection.timer = this.#host.after(this.#limits.idleMs, () => this.#end(connection));
    this.#connections.delete(connection);
    this.#connections.add(connection);
  }

  #end(connection: TcpConnection): void {
    if (!this.#connections.delete(connection)) return;
    this.#host.cancel(connection.timer);
    this.#handlers.onEnded();
    connection.destroy();
  }
}

interface ConnectionEvents {
  onMessage(message: Buffer): Buffer | undefined;
  onBroken(): void;
  onClosed(): void;
}

class TcpConnection {
  timer: Timer | undefined;
  readonly #socket: Duplex;
  readonly #events: ConnectionEvents;
  #unread: Buffer = Buffer.alloc(0);
  #isBlocked = false;

  constructor(socket: Duplex, events: ConnectionEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.on('data', (bytes: Buffer) => {
      this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
      this.#read();
    });
    socket.on('drain', () => {
      this.#isBlocked = false;
      this.#read();
      if (!this.#isBlocked) socket.resume();
    });
    // What a client does to its own connection is its own business; the close that follows is all there is to know.
    socket.on('error', () => {});
    socket.once('close', () => this.#events.onClosed());
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(): void {
    while (!this.#isBlocked && !this.#socket.destroyed && this.#unread.length >= LENGTH) {
      const length = this.#unread.readUInt16BE(0);
      if (length === 0 || length > LARGEST_QUERY) {
        this.#events.onBroken();
        return;
      }
      if (this.#unread.length < LENGTH + length) return;
      const message = this.#unread.subarray(LENGTH, LENGTH + length);
      this.#unread = this.#unread.subarray(LENGTH + length);
      const answer = this.#events.onMessage(message);
      if (answer !== undefined) this.#write(answer);
    }
  }

  #write(answer: Buffer): void {
    const length = Buffer.alloc(LENGTH);
    length.writeUInt16BE(answer.length);
    if (this.#socket.write(Buffer.concat([length, answer]))) return;
    this.#isBlocked = true;
    this.#socket.pause();
  }
}
