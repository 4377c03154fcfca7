/**
 * Clients that come to an acceptor after it was found to be an old copy: later lives of those who were there, and processes that never
 * were. Nothing that they have seen tells them what it is, and none of them may be answered.
 */
import { type Acceptor, CasPaxosError } from '../../caspaxos/index.ts';
import type { StoreServer } from './store-server.ts';

export class Newcomers {
  readonly misused: string[] = [];
  readonly #count: (what: string) => void;

  constructor(count: (what: string) => void) {
    this.#count = count;
  }

  /** The acceptor, as a client uses it that opened it at that time. */
  watch(inner: Acceptor, server: StoreServer, openedAt: number): Acceptor {
    const isNew = (): boolean => (server.oldCopy?.retiredAt ?? Infinity) < openedAt;
    const watched = async <R>(work: () => Promise<R>): Promise<R> => {
      try {
        const result = await work();
        if (isNew()) this.misused.push(`${inner.url} answered a client that came when it was retired`);
        return result;
      } catch (error) {
        const isRefusal = error instanceof CasPaxosError && error.code === 'ACCEPTOR_BEHIND';
        if (isRefusal && isNew()) this.#count('restored: refused a newcomer');
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
