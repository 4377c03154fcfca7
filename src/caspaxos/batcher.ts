/**
 * The way to one acceptor: messages of many registers share a request (rule 10). What is sent during one turn of the
 * event loop goes out together, or, when nobody waits for this acceptor (`urgency.ts`), during a millisecond; while as
 * many batches are under way as the acceptor can use, the next one grows. Every
 * message is answered exactly once, if only with `failed`: a proposer never waits for an acceptor that is gone.
 */
import type { Host } from '../protocol/index.ts';
import type { Acceptor } from './acceptors.ts';
import type { FailedReply, RegisterReply, RegisterRequest } from './core/index.ts';
import { asCasPaxosError, CasPaxosError } from './errors.ts';

/** Takes the reply of the acceptor with that index. */
export type ReplySink = (index: number, reply: RegisterReply) => void;

export type Asked = Pick<Acceptor, 'url' | 'concurrency' | 'handle'>;

export interface BatcherOptions {
  readonly host: Host;
  readonly timeoutMs: number;
  /** Beyond this many messages waiting, further ones fail at once. */
  readonly maxWaiting: number;
  /** Whether others wait for this acceptor, or may go on without it. */
  readonly isUrgent: () => boolean;
  readonly onBatch: (messages: number) => void;
  readonly onFailure: (error: CasPaxosError) => void;
  readonly onSuccess: (ms: number) => void;
}

const MAX_BATCH_MESSAGES = 2000;
/** In UTF-16 units; at three bytes each still below the service's limit for a request. */
const MAX_BATCH_LENGTH = 1024 * 1024;
const MESSAGE_OVERHEAD = 64;
const PATIENCE_MS = 1;

const NO_REPLY = new CasPaxosError('PROTOCOL_MISMATCH', 'The acceptor left out an answer.');

export class Batcher {
  readonly acceptor: Asked;
  readonly #index: number;
  readonly #options: BatcherOptions;
  #requests: RegisterRequest[] = [];
  #callbacks: ReplySink[] = [];
  #underWay = 0;
  #scheduled = false;

  constructor(acceptor: Asked, index: number, options: BatcherOptions) {
    this.acceptor = acceptor;
    this.#index = index;
    this.#options = options;
  }

  /** Whether it is one of those who answer fastest, just enough of them to be a quorum. */
  get isUrgent(): boolean {
    return this.#options.isUrgent();
  }

  send(request: RegisterRequest, callback: ReplySink): void {
    if (this.#requests.length >= this.#options.maxWaiting) {
      const error = new CasPaxosError(
        'OVERLOADED',
        `Too many messages wait for acceptor ${this.acceptor.url}.`,
      );
      queueMicrotask(() => callback(this.#index, this.#failed(error)));
      return;
    }
    this.#requests.push(request);
    this.#callbacks.push(callback);
    if (this.#scheduled) return;
    this.#scheduled = true;
    const { host } = this.#options;
    if (this.isUrgent) host.soon(this.#onTurn);
    else host.after(PATIENCE_MS, this.#onTurn);
  }

  readonly #onTurn = (): void => {
    this.#scheduled = false;
    this.#flush();
  };

  #flush(): void {
    while (this.#requests.length > 0 && this.#underWay < this.acceptor.concurrency) {
      const size = this.#nextBatchSize();
      const requests = size === this.#requests.length ? this.#requests : this.#requests.slice(0, size);
      const callbacks = size === this.#callbacks.length ? this.#callbacks : this.#callbacks.slice(0, size);
      this.#requests = size === this.#requests.length ? [] : this.#requests.slice(size);
      this.#callbacks = size === this.#callbacks.length ? [] : this.#callbacks.slice(size);
      this.#underWay += 1;
      this.#options.onBatch(size);
      void this.#send(requests, callbacks);
    }
  }

  async #send(requests: readonly RegisterRequest[], callbacks: readonly ReplySink[]): Promise<void> {
    let replies: readonly RegisterReply[];
    const { host } = this.#options;
    const startedAt = host.now();
    try {
      replies = await this.#withTimeout(this.acceptor.handle(requests, this.#index));
      if (replies.length !== requests.length)
        throw new CasPaxosError('PROTOCOL_MISMATCH', `Acceptor ${this.acceptor.url} answered another batch.`);
      this.#options.onSuccess(host.now() - startedAt);
    } catch (error) {
      const failure = asCasPaxosError(error, 'UNREACHABLE', `Acceptor ${this.acceptor.url}`);
      this.#options.onFailure(failure);
      const failed = this.#failed(failure);
      replies = requests.map(() => failed);
    }
    this.#underWay -= 1;
    for (let at = 0; at < callbacks.length; at += 1)
      callbacks[at]!(this.#index, replies[at] ?? this.#failed(NO_REPLY));
    // What came meanwhile goes out with what those answers bring about.
    if (this.#requests.length > 0 && !this.#scheduled) this.#flush();
  }

  #withTimeout<T>(work: Promise<T>): Promise<T> {
    const { host, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = host.after(timeoutMs, () => {
        reject(
          new CasPaxosError(
            'TIMED_OUT',
            `Acceptor ${this.acceptor.url} did not answer within ${timeoutMs} ms.`,
          ),
        );
      });
      work.then(resolve, reject).finally(() => host.cancel(timer));
    });
  }

  #nextBatchSize(): number {
    let length = 0;
    const most = Math.min(this.#requests.length, MAX_BATCH_MESSAGES);
    for (let at = 0; at < most; at += 1) {
      const { key, message } = this.#requests[at]!;
      length += MESSAGE_OVERHEAD + key.length + (message.type === '2a' ? message.value.length : 0);
      if (length > MAX_BATCH_LENGTH && at > 0) return at;
    }
    return most;
  }

  #failed({ code, message }: CasPaxosError): FailedReply {
    return { type: 'failed', acceptor: this.#index, code, message };
  }
}
