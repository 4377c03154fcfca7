/**
 * The stores among the acceptors of a run: real servers on loopback, started by the run itself and ended with it. One of them
 * at a time is killed or stopped, as the servers of other people are, and comes back with what it has on disk.
 */
import { startEtcd } from '../stores/servers/etcd.ts';
import { startPostgres } from '../stores/servers/postgres.ts';
import { startRedis } from '../stores/servers/redis.ts';
import type { StoreServer } from '../stores/servers/server.ts';
import { findProgram, type LackingProgram } from '../support/programs.ts';
import type { StoreKind, StoreLoss } from './schedule.ts';

const KITS: Readonly<
  Record<StoreKind, { readonly program: string; readonly start: () => Promise<StoreServer> }>
> = {
  postgres: { program: 'postgres', start: startPostgres },
  redis: { program: 'redis-server', start: startRedis },
  etcd: { program: 'etcd', start: startEtcd },
};

const PLACE = 'chaos';

/** Programs of these stores that this machine does not have. */
export function lackingPrograms(stores: readonly StoreKind[]): readonly LackingProgram[] {
  return stores.flatMap((kind) => {
    const program = findProgram(KITS[kind].program);
    return program.path === undefined ? [program] : [];
  });
}

/** A defect to be found: this store says that it wrote, and has nothing on its disk when it comes back. */
export interface StoresOptions {
  readonly forgetful?: StoreKind | undefined;
}

export class Stores {
  readonly kinds: readonly StoreKind[];
  readonly #servers: ReadonlyMap<StoreKind, StoreServer>;
  readonly #forgetful: StoreKind | undefined;
  #away: StoreLoss | undefined;

  private constructor(servers: ReadonlyMap<StoreKind, StoreServer>, forgetful: StoreKind | undefined) {
    this.kinds = [...servers.keys()];
    this.#servers = servers;
    this.#forgetful = forgetful;
    process.once('exit', this.#atExit);
  }

  static async start(kinds: readonly StoreKind[], { forgetful }: StoresOptions = {}): Promise<Stores> {
    const started = await Promise.allSettled(kinds.map((kind) => KITS[kind].start()));
    const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = started.find((one) => one.status === 'rejected');
    if (failed !== undefined) {
      await Promise.all(servers.map((server) => server.close()));
      throw failed.reason as Error;
    }
    return new Stores(new Map(kinds.map((kind, at) => [kind, servers[at]!])), forgetful);
  }

  /** Of their acceptors, in the order of the kinds. */
  get urls(): readonly string[] {
    return [...this.#servers.values()].map((server) => server.urlOf(PLACE));
  }

  urlOf(kind: StoreKind): string {
    return this.#servers.get(kind)!.urlOf(PLACE);
  }

  async takeAway(loss: StoreLoss): Promise<void> {
    if (this.#away !== undefined) throw new Error(`${this.#away.store} is away already`);
    this.#away = loss;
    const server = this.#servers.get(loss.store)!;
    if (loss.how === 'kill') await server.kill();
    else server.pause();
  }

  /** The one that is away, if any. */
  async bringBack(): Promise<void> {
    if (this.#away === undefined) return;
    const { store, how } = this.#away;
    const server = this.#servers.get(store)!;
    if (store === this.#forgetful) await server.empty();
    else if (how === 'kill') await server.start();
    else server.resume();
    this.#away = undefined;
  }

  async close(): Promise<void> {
    process.off('exit', this.#atExit);
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  /** Their signals are sent at once; what they have written stays behind. */
  readonly #atExit = (): void => {
    for (const server of this.#servers.values()) void server.close();
  };
}
