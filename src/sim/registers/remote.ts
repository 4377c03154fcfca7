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
import type { Question } from './old-copy.ts';
import type { Phases } from './phases.ts';
import type { AcceptorService } from './service.ts';
import { IDENTITY_KEY, type StoreServer } from './store-server.ts';

/** An acceptor's process, and what runs in it. */
export interface AcceptorPlace {
  readonly process: SimProcess;
  readonly server: StoreServer;
  readonly service: AcceptorService;
}

/** From which process to which, and how long to wait for an answer. */
export interface Route {
  readonly world: World;
  readonly from: SimProcess;
  /** Who is behind the address now: it may be a copy of the one that was there. */
  readonly to: () => AcceptorPlace;
  readonly timeoutMs: number;
}

/** A question that must not arrive is not answered. */
export const NEVER = new Promise<never>(() => {});

export class RemoteStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency: number;
  readonly lineage = new Lineage();
  readonly #route: Route;
  readonly #phases: Phases;
  readonly #openedAt: number;
  /** The text of each document as it was told last. */
  readonly #told = new Map<string, string>();

  constructor(route: Route, phases: Phases) {
    const { url, concurrency } = route.to().server;
    this.url = url;
    this.concurrency = concurrency;
    this.#route = route;
    this.#phases = phases;
    this.#openedAt = route.world.now;
  }

  read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    const { from, to } = this.#route;
    const ask = () => this.#read(keys);
    const isIdentity = keys.length === 1 && keys[0] === IDENTITY_KEY;
    return isIdentity ? this.#phases.during(from.index, [to().process.index], ['identity read'], ask) : ask();
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    const question = this.#question(
      true,
      writes.map(({ key }) => key),
    );
    const results = await this.#call((server) => server.write(writes), question);
    for (const [at, { key, text }] of writes.entries())
      if (results[at]!.result === 'written') this.#told.set(key, text);
    return results;
  }

  list(after: string, limit: number): Promise<readonly string[]> {
    return this.#call((server) => server.list(after, limit), this.#question(false, []));
  }

  async close(): Promise<void> {}

  async #read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    const documents = await this.#call((server) => server.read(keys), this.#question(false, keys));
    for (const [at, key] of keys.entries()) {
      const text = documents[at]?.text;
      if (text !== undefined) this.#told.set(key, text);
    }
    return documents;
  }

  #question(isWrite: boolean, keys: readonly string[]): Question {
    const told = new Map(keys.flatMap((key) => (this.#told.has(key) ? [[key, this.#told.get(key)!]] : [])));
    return { isWrite, keys, told, sentAt: this.#route.world.now, openedAt: this.#openedAt };
  }

  /** The answer carries the server's line of memory. */
  async #call<R>(carryOut: (server: StoreServer) => Promise<R>, question: Question): Promise<R> {
    const answer = await call(this.#route, async ({ server }) => {
      const { line, oldCopy } = server;
      if (oldCopy?.hides(question) === true) return NEVER;
      return { line, result: await carryOut(server) };
    });
    if (answer.line !== undefined) this.lineage.saw(answer.line);
    return answer.result;
  }
}

export function call<R>(
  { world, from, to, timeoutMs }: Route,
  carryOut: (place: AcceptorPlace) => Promise<R>,
): Promise<R> {
  const place = to();
  return world.call(from, place.process, timeoutMs, () => carryOut(place));
}
