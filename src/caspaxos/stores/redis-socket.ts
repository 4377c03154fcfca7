/**
 * Counts what arrives from a Redis server (`store-calls.ts`). The client makes its sockets itself and shows them to nobody, so a plain
 * one is taken from Node's own announcement of it, which comes while the client connects. Of one with TLS there is no announcement: the
 * client is given the connection under it.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect as connectSocket, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { StoreCalls } from './store-calls.ts';
import type { StoreHost } from './store-url.ts';

const NEW_SOCKET = 'net.client.socket';

/** What `connect` opens before it returns is counted. */
export function countingSockets<T>(calls: StoreCalls, connect: () => T): T {
  const count = (message: unknown): void => calls.meter((message as { readonly socket: Duplex }).socket);
  subscribe(NEW_SOCKET, count);
  try {
    return connect();
  } finally {
    unsubscribe(NEW_SOCKET, count);
  }
}

/** For TLS to run over. */
export class CountedConnection extends Duplex {
  readonly #socket: Socket;

  constructor(calls: StoreCalls, { host, port }: StoreHost) {
    super();
    this.#socket = connectSocket({ host, port, noDelay: true, keepAlive: true });
    calls.meter(this.#socket);
    this.#socket.on('data', (piece) => {
      if (!this.push(piece)) this.#socket.pause();
    });
    this.#socket.on('end', () => this.push(null));
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('close', () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(piece: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(piece, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}
