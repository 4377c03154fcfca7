/**
 * A store as a client process reaches it over the simulated network: the real `StoreAcceptor` runs in the client's process, and its
 * store is a server far away. Every read and conditional write is a message, which may be lost, late or doubled, and is answered
 * with the server's line of memory. (The other kind of acceptor, which runs the role next to its disk, is in `service.ts`.)
 */
import {
  type AcceptorStore,
  type ConditionalWrite,
  Lineage,
  type StoredDocument,
  type WriteResult,
} from '../../caspaxos/index.ts';
import type { SimProcess } from '../process.ts';
import type { World } from '../world.ts';
import type { Phases } from './phases.ts';
import { IDENTITY_KEY, type StoreServer } from './store-server.ts';

/** From which process to which, and how long to wait for an answer. */
export interface Route {
  readonly world: World;
  readonly from: SimProcess;
  readonly to: SimProcess;
  readonly timeoutMs: number;
}

export class RemoteStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency: number;
  readonly lineage = new Lineage();
  readonly #route: Route;
  readonly #server: StoreServer;
  readonly #phases: Phases;

  constructor(route: Route, server: StoreServer, phases: Phases) {
    this.url = server.url;
    this.concurrency = server.concurrency;
    this.#route = route;
    this.#server = server;
    this.#phases = phases;
  }

  read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    const { from, to } = this.#route;
    const ask = () => this.#call(() => this.#server.read(keys));
    const isIdentity = keys.length === 1 && keys[0] === IDENTITY_KEY;
    return isIdentity ? this.#phases.during(from.index, [to.index], ['identity read'], ask) : ask();
  }

  write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    return this.#call(() => this.#server.write(writes));
  }

  list(after: string, limit: number): Promise<readonly string[]> {
    return this.#call(() => this.#server.list(after, limit));
  }

  async close(): Promise<void> {}

  /** The answer carries the server's line of memory. */
  async #call<R>(carryOut: () => Promise<R>): Promise<R> {
    const answer = await call(this.#route, async () => {
      const { line } = this.#server;
      return { line, result: await carryOut() };
    });
    this.lineage.saw(answer.line);
    return answer.result;
  }
}

export function call<R>({ world, from, to, timeoutMs }: Route, carryOut: () => Promise<R>): Promise<R> {
  return world.call(from, to, timeoutMs, carryOut);
}
