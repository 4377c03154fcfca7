/** Acceptors in memory that can be lost, for all processes that a test opens here; and processes that die after a message. */
import { type Acceptor, type Cluster, type ClusterOptions, StoreAcceptor } from 'baton/caspaxos';
import { handling, openFor, storeOf } from './clusters.ts';

/** Far beyond what a busy machine needs: nothing here ends because of it. */
export const PATIENT = { timeoutMs: 120_000 };

/** Of one process: its messages are counted, and the one at which it ends still arrives, but nobody hears the answer. */
export class Life {
  readonly ended: Promise<void>;
  #left = Infinity;
  #end: () => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get isOver(): boolean {
    return this.#left < 0;
  }

  /** So many messages from now on. */
  endAfter(messages: number): void {
    this.#left = messages;
  }

  async send<T>(deliver: () => Promise<T>): Promise<T> {
    this.#check();
    this.#left -= 1;
    try {
      return await deliver();
    } finally {
      this.#check();
    }
  }

  #check(): void {
    if (this.#left > 0) return;
    this.#left = -1;
    this.#end();
    throw new Error('the process is dead');
  }
}

export class Ground {
  readonly #lost = new Set<string>();
  /** Called before an acceptor is told of a configuration. */
  onInstall: (url: string, number: number) => void = () => {};
  onAccept: (url: string, key: string) => void = () => {};
  onList: () => Promise<void> = () => Promise.resolve();

  lose(urls: readonly string[]): void {
    for (const url of urls) this.#lost.add(url);
  }

  bringBack(): void {
    this.#lost.clear();
  }

  isLost(url: string): boolean {
    return this.#lost.has(url);
  }

  open(
    acceptors: readonly string[],
    options: Partial<ClusterOptions> = {},
    life = new Life(),
  ): Promise<Cluster> {
    return openFor({
      ...PATIENT,
      ...options,
      acceptors,
      openAcceptor: (url) => this.acceptor(url, life),
    });
  }

  /** As that process reaches it. */
  acceptor(url: string, life = new Life()): Acceptor {
    const acceptor = new StoreAcceptor(storeOf(url));
    const reach = (): void => {
      if (this.#lost.has(url)) throw new Error('it is lost');
    };
    const send = <T>(deliver: () => Promise<T>): Promise<T> =>
      life.send(async () => {
        reach();
        return deliver();
      });
    return {
      ...handling(acceptor, (requests, index) =>
        send(async () => {
          for (const { key, message } of requests) if (message.type === '2a') this.onAccept(url, key);
          reach();
          return acceptor.handle(requests, index);
        }),
      ),
      describe: () => send(() => acceptor.describe()),
      reserve: (cluster) => send(() => acceptor.reserve(cluster)),
      list: (after, limit) =>
        send(async () => {
          await this.onList();
          reach();
          return acceptor.list(after, limit);
        }),
      install: (configuration) =>
        send(async () => {
          this.onInstall(url, configuration.number);
          reach();
          return acceptor.install(configuration);
        }),
    };
  }
}
