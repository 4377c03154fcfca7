/**
 * A node's link to one other node: one connection that is kept alive, and made again with growing, jittered pauses.
 *
 * Each side dials for what it sends itself, so two nodes that talk to each other have two connections, one each way. One
 * shared connection would need a rule for both sides dialling at once, and each side could believe in another one of the
 * two while they are being replaced. This way who sends owns the connection: it alone decides when it is made anew, and
 * the order of its messages and its epochs have one author. Answers to calls come back on the same connection.
 *
 * An epoch is the number of the dial that succeeded; it only grows. Within one epoch messages arrive in order and without
 * a gap up to the point where the link goes down; nothing crosses into the next. The listener sees the same number, and
 * delivers nothing of an earlier epoch once it has welcomed a later one. So a protocol above starts a new session in
 * `onUp`, and forgets the old one in `onDown`.
 */
import type { Timer } from '../protocol/index.ts';
import type { CallOptions } from './calls.ts';
import type { Connection } from './connection.ts';
import { type Address, dial, type DialOptions } from './dial.ts';
import { RpcError } from './errors.ts';
import type { Payload } from './frames.ts';

export interface PeerLinkOptions extends Pick<DialOptions, 'host' | 'self' | 'token' | 'tls' | 'limits'> {
  /** The node at the other end. Whoever else answers is hung up on. */
  readonly node: string;
  /** Asked before each dial. */
  readonly address: () => Address;
  /** Tells several links to one node apart. */
  readonly name?: string | undefined;
  readonly backoff?: Backoff | undefined;
  readonly onUp?: ((epoch: number) => void) | undefined;
  readonly onDown?: ((epoch: number, reason: RpcError) => void) | undefined;
  /** After a `send` that said `full`. */
  readonly onDrained?: ((epoch: number) => void) | undefined;
  /** The other end may send on this connection too, if it likes. */
  readonly onMessage?: ((channel: number, payload: Buffer) => void) | undefined;
  /** A dial that failed; the next follows. */
  readonly onFailure?: ((reason: RpcError) => void) | undefined;
}

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** `full`: not sent; wait for `onDrained`. `down`: not sent, and dropped. */
export type SendResult = 'sent' | 'full' | 'down';

const DEFAULT_BACKOFF: Backoff = { firstMs: 50, maxMs: 2000 };

export class PeerLink {
  readonly node: string;
  readonly #options: PeerLinkOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  #connection: Connection | undefined;
  #dialling: Promise<void> | undefined;
  #dials = 0;
  #epoch = 0;
  /** Dials in a row that failed, or that led to a connection which did not last. */
  #failures = 0;
  #upAt = 0;
  #timer: Timer | undefined;

  constructor(options: PeerLinkOptions) {
    this.#options = options;
    this.node = options.node;
    this.#backoff = options.backoff ?? DEFAULT_BACKOFF;
    this.#dial();
  }

  get isUp(): boolean {
    return this.#connection?.isOpen === true;
  }

  /** Of the connection that is up, or was up last; 0 before the first. */
  get epoch(): number {
    return this.#epoch;
  }

  /** For its round-trip time, load, and when it was last heard from. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  send(channel: number, payload: Payload): SendResult {
    const connection = this.#connection;
    if (connection === undefined || !connection.isOpen) return 'down';
    return connection.send(channel, payload) ? 'sent' : 'full';
  }

  call(method: number, payload: Payload, options: CallOptions): Promise<Buffer> {
    const connection = this.#connection;
    if (connection !== undefined) return connection.call(method, payload, options);
    return Promise.reject(new RpcError('UNREACHABLE', `There is no connection to node ${this.node} now.`));
  }

  /** There is news that the other node lives: dials at once instead of waiting out its pause. */
  wake(): void {
    if (this.#timer === undefined) return;
    this.#options.host.cancel(this.#timer);
    this.#timer = undefined;
    this.#failures = 0;
    this.#dial();
  }

  /** Lets what was begun come to its end, and dials no more. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#options.host.cancel(this.#timer);
    this.#timer = undefined;
    await this.#dialling;
    await this.#connection?.close();
  }

  #dial(): void {
    if (this.#stop.signal.aborted) return;
    const { host, self, token, tls, limits, name = 'peer' } = this.#options;
    this.#dials += 1;
    const epoch = this.#dials;
    this.#dialling = dial({
      host,
      self,
      token,
      tls,
      limits,
      address: this.#options.address(),
      expectNode: this.node,
      link: { name, epoch },
      signal: this.#stop.signal,
      handlers: (connection) => {
        this.#up(connection, epoch);
        return {
          onMessage: this.#options.onMessage,
          onDrained: () => this.#options.onDrained?.(epoch),
          onClosed: (reason) => this.#down(epoch, reason),
        };
      },
    }).then(
      () => undefined,
      (error: unknown) => this.#failed(error),
    );
  }

  #up(connection: Connection, epoch: number): void {
    this.#connection = connection;
    this.#epoch = epoch;
    this.#upAt = this.#options.host.now();
    try {
      this.#options.onUp?.(epoch);
    } catch (error) {
      // A defect of the owner must not look like a defect of the connection.
      this.#options.host.soon(() => {
        throw error;
      });
    }
  }

  #down(epoch: number, reason: RpcError): void {
    this.#connection = undefined;
    const lasted = this.#options.host.now() - this.#upAt;
    this.#failures = lasted >= this.#backoff.maxMs ? 0 : this.#failures + 1;
    this.#options.onDown?.(epoch, reason);
    this.#dialLater(reason.retryAfterMs);
  }

  #failed(error: unknown): void {
    if (!(error instanceof RpcError)) throw error;
    if (this.#stop.signal.aborted) return;
    this.#failures += 1;
    this.#options.onFailure?.(error);
    this.#dialLater(error.retryAfterMs);
  }

  /** Half of the pause is fixed, half is chance: those who lost the same node do not all come back at once. */
  #dialLater(atLeastMs: number): void {
    if (this.#stop.signal.aborted) return;
    const { firstMs, maxMs } = this.#backoff;
    const pause = Math.min(maxMs, firstMs * 2 ** Math.max(0, Math.min(20, this.#failures - 1)));
    const { host } = this.#options;
    this.#timer = host.after(Math.max(atLeastMs, pause * (0.5 + host.random() / 2)), () => {
      this.#timer = undefined;
      this.#dial();
    });
  }
}
