/**
 * Bounds what one store may cost this process, whatever the store's client thinks of it: each call ends after its time limit, and as soon as
 * the server has sent more than a call may receive. So a server that hangs, or that sends without end, is the trouble of its own calls and
 * not of the memory that all partition-sets of the process share.
 *
 * Bytes are counted where they arrive, at the socket, because each client collects an answer in a way of its own, and because a call may
 * keep many answers until it ends. Which of the calls under way an answer belongs to cannot be told there. So every call counts
 * everything that arrives while it is under way: whatever a call can have in memory has arrived by then. A call ended wrongly,
 * because it hung while others received that much, would have been of no use to anybody.
 */
import { setMaxListeners } from 'node:events';
import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { CasPaxosError } from '../errors.ts';

/**
 * Parsed, an answer may take some twenty times its size: this much still fits into a small heap. Two thousand registers, the most in
 * one batch, may have 32 kB each.
 */
export const MOST_RECEIVED_BYTES = 64 * 1024 * 1024;

interface Call {
  received: number;
  readonly end: (error: CasPaxosError) => void;
}

export class StoreCalls {
  readonly #url: string;
  readonly #timeoutMs: number;
  readonly #underWay = new Set<Call>();

  constructor(url: string, timeoutMs: number) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
  }

  /** A call that ends after the time limit, and when too much arrives. */
  async limited<T>(call: (signal: AbortSignal) => Promise<T>, timeoutMs = this.#timeoutMs): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    try {
      return await this.#endable((signal, end) => {
        timer = setTimeout(() => end(this.late), timeoutMs);
        return call(signal);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** A call whose parts have time limits of their own: ends when too much arrives. */
  bounded<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#endable(call);
  }

  get late(): CasPaxosError {
    return new CasPaxosError(
      'TIMED_OUT',
      `Acceptor ${this.#url} did not answer within ${this.#timeoutMs} ms.`,
    );
  }

  /** Counts what arrives on a connection to the store. `isAsked`: whether anybody waits for something on it. */
  meter(socket: Duplex, isAsked = (): boolean => this.#underWay.size > 0): void {
    let unasked = 0;
    socket.on('data', ({ length }: Uint8Array) => {
      unasked = isAsked() ? 0 : unasked + length;
      if (unasked > MOST_RECEIVED_BYTES) socket.destroy(this.#tooMuch());
      this.#received(length);
    });
  }

  /** For clients that speak HTTP: an agent whose connections are counted. Without `tls` they are plain. */
  agent(tls: ConnectionOptions | undefined, kept: AgentOptions): HttpAgent {
    const agent = tls === undefined ? new HttpAgent(kept) : new HttpsAgent({ ...kept, ...tls });
    const connect = agent.createConnection.bind(agent);
    agent.createConnection = (options, callback) => {
      const socket = connect(options, callback);
      if (socket) this.meter(socket);
      return socket;
    };
    return agent;
  }

  async #endable<T>(
    call: (signal: AbortSignal, end: (error: CasPaxosError) => void) => Promise<T>,
  ): Promise<T> {
    const abort = new AbortController();
    // A batch may be many requests, and each listens.
    setMaxListeners(0, abort.signal);
    let end: (error: CasPaxosError) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = (error) => {
        reject(error);
        abort.abort(error);
      };
    });
    const underWay: Call = { received: 0, end };
    this.#underWay.add(underWay);
    try {
      return await Promise.race([call(abort.signal, end), ended]);
    } catch (error) {
      // What it has begun is of no use any more: an answer that nobody reads would keep its connection.
      abort.abort(error);
      throw error;
    } finally {
      this.#underWay.delete(underWay);
    }
  }

  #received(bytes: number): void {
    for (const call of this.#underWay) {
      call.received += bytes;
      if (call.received <= MOST_RECEIVED_BYTES) continue;
      this.#underWay.delete(call);
      call.end(this.#tooMuch());
    }
  }

  #tooMuch(): CasPaxosError {
    const most = `${MOST_RECEIVED_BYTES / 1024 / 1024} MiB`;
    const message = `Acceptor ${this.#url} sent more than ${most} during one call: look at what answers at its address.`;
    return new CasPaxosError('STORE_FAILED', message);
  }
}
