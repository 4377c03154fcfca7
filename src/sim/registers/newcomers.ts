/**
 * Clients that come to an acceptor after it has forgotten something and that can be known: it was found to be an old copy, or tells another
 * line of memory. They may be later lives of those who were there, or processes that never were. None of them may be answered.
 */
import { type Acceptor, CasPaxosError, isLastingCode } from '../../caspaxos/index.ts';
import type { StoreServer } from './store-server.ts';

/** A client's use of an acceptor. */
interface Use {
  /** Who answers it now. */
  readonly server: () => StoreServer;
  readonly openedAt: number;
}

export class Newcomers {
  readonly misused: string[] = [];
  readonly #count: (what: string) => void;

  constructor(count: (what: string) => void) {
    this.#count = count;
  }

  watch(inner: Acceptor, { server, openedAt }: Use): Acceptor {
    const watched = async <R>(work: () => Promise<R>): Promise<R> => {
      const asked = server();
      const isNew = (): boolean => asked.uselessSince < openedAt;
      try {
        const result = await work();
        if (isNew() && server() === asked)
          this.misused.push(`${inner.url} answered a client that came when it had to refuse everybody`);
        return result;
      } catch (error) {
        const code = error instanceof CasPaxosError ? error.code : undefined;
        if (code !== undefined && isLastingCode(code) && isNew()) this.#count(`refused a newcomer: ${code}`);
        throw error;
      }
    };
    return {
      url: inner.url,
      concurrency: inner.concurrency,
      expect: (id, cluster) => inner.expect(id, cluster),
      describe: () => watched(() => inner.describe()),
      ...(inner.reserve && { reserve: (cluster: string) => inner.reserve!(cluster) }),
      install: (configuration) => inner.install(configuration),
      handle: (requests, index) => watched(() => inner.handle(requests, index)),
      list: (after, limit) => watched(() => inner.list(after, limit)),
      close: () => inner.close(),
    };
  }
}
