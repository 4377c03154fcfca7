/**
 * The client's connection to one node. It is made when somebody needs it, shared by all, and kept; pings notice a node that has
 * died. When it is lost the next who needs it dials again; after dials that failed there is a pause, longer each time, in which whoever
 * comes hears at once that the node cannot be reached, and goes elsewhere.
 */
import type { Host } from '../../protocol/index.ts';
import {
  type Address,
  type Connection,
  type ConnectionLimits,
  dial,
  type Identity,
  type Payload,
  RpcError,
  type RpcTls,
} from '../../transport/index.ts';
import { formatAddress } from '../discovery/index.ts';

export interface NodeLinkOptions {
  readonly host: Host;
  readonly self: Identity;
  readonly token?: string | undefined;
  readonly tls?: RpcTls | undefined;
}

export interface NodeCall {
  /** How long its answer is of use. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** It is about to be given to the connection: from here on it may be carried out. What it throws, `call` rejects with. */
  readonly onSending: () => void;
}

const LIMITS: Partial<ConnectionLimits> = {
  handshakeTimeoutMs: 2000,
  pingEveryMs: 500,
  silentAfterMs: 2000,
  closeTimeoutMs: 500,
};
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
/** What has to be left of a call's time when its connection is there: otherwise it is not sent, and certainly not carried out. */
const LEAST_LEFT_MS = 5;
const LEAST_LEFT_SHARE = 0.1;

export class NodeLink {
  readonly #options: NodeLinkOptions;
  readonly #address: Address;
  readonly #stop = new AbortController();
  #connection: Connection | undefined;
  #dialling: Promise<Connection> | undefined;
  #failures = 0;
  #failure: RpcError | undefined;
  #pauseUntil = -Infinity;

  constructor(address: Address, options: NodeLinkOptions) {
    this.#address = address;
    this.#options = options;
  }

  /** As the node introduced itself. */
  get node(): string | undefined {
    return this.#connection?.peer.node;
  }

  get isUp(): boolean {
    return this.#connection?.isOpen === true;
  }

  /** Rejects with an RpcError; its outcome is `rejected` for certain if `onSending` was not called. */
  async call(method: number, payload: Payload, { timeoutMs, signal, onSending }: NodeCall): Promise<Buffer> {
    const begunAt = this.#options.host.now();
    const limitMs = timeoutMs - Math.max(LEAST_LEFT_MS, timeoutMs * LEAST_LEFT_SHARE);
    const connection = this.#ready() ?? (await this.#within(limitMs, signal));
    const leftMs = timeoutMs - (this.#options.host.now() - begunAt);
    onSending();
    return connection.call(method, payload, { timeoutMs: leftMs, signal });
  }

  #ready(): Connection | undefined {
    return this.isUp ? this.#connection : undefined;
  }

  /** Whoever waits may leave; the dial goes on for the others. */
  #within(limitMs: number, signal: AbortSignal): Promise<Connection> {
    const { host } = this.#options;
    return new Promise((resolve, reject) => {
      if (limitMs <= 0) {
        reject(this.#unreachable('There is no time left to make a connection'));
        return;
      }
      const settle = (): void => {
        host.cancel(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => {
        settle();
        reject(new RpcError('ABORTED', 'The caller gave up the call.'));
      };
      const timer = host.after(limitMs, () => {
        settle();
        reject(this.#unreachable('No connection was made in time'));
      });
      signal.addEventListener('abort', onAbort, { once: true });
      this.#dialled().then(resolve, reject).finally(settle);
    });
  }

  #dialled(): Promise<Connection> {
    const { host } = this.#options;
    if (this.#dialling !== undefined) return this.#dialling;
    if (host.now() < this.#pauseUntil) return Promise.reject(this.#failure!);
    this.#dialling = this.#dial().finally(() => {
      this.#dialling = undefined;
    });
    return this.#dialling;
  }

  async #dial(): Promise<Connection> {
    const { host, self, token, tls } = this.#options;
    try {
      const connection = await dial({
        host,
        address: this.#address,
        self,
        token,
        tls,
        limits: LIMITS,
        signal: this.#stop.signal,
        handlers: (made) => {
          this.#connection = made;
          return { onClosed: () => this.#lost(made) };
        },
      });
      this.#failures = 0;
      return connection;
    } catch (error) {
      const failure = error instanceof RpcError ? error : this.#unreachable(String(error));
      this.#failures += 1;
      const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(10, this.#failures - 1));
      this.#failure = failure;
      this.#pauseUntil = host.now() + pause * (0.5 + host.random() / 2);
      throw failure;
    }
  }

  #lost(connection: Connection): void {
    if (this.#connection === connection) this.#connection = undefined;
  }

  #unreachable(why: string): RpcError {
    return new RpcError('UNREACHABLE', `${why} to ${formatAddress(this.#address)}.`);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#dialling?.catch(() => {});
    await this.#connection?.close('The client is closing.');
  }
}
