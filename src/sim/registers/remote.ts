/**
 * An acceptor as a client process reaches it over the simulated network, in the two kinds that there are.
 *
 * `store`: the real `StoreAcceptor` runs in the client's process, and its store is a server far away: every read and
 * conditional write is a message, which may be lost, late or doubled, and is answered with the server's line of memory.
 *
 * `service`: the real `StoreAcceptor` runs in the acceptor's process, next to the disk. What the client has of it is
 * modelled on the real service's stream: a connection begins with a greeting that says who is there and how far it has
 * come, lasts until that process ends or a call goes unanswered, and is where rule 8 is kept: who answers must be who it
 * was, with a sequence number that never goes back.
 */
import {
  type Acceptor,
  type AcceptorDescription,
  type AcceptorStore,
  CasPaxosError,
  type Configuration,
  type ConditionalWrite,
  Lineage,
  type RegisterReply,
  type RegisterRequest,
  StoreAcceptor,
  type StoredDocument,
  type WriteResult,
} from '../../caspaxos/index.ts';
import type { SimProcess } from '../process.ts';
import type { World } from '../world.ts';
import type { Phases } from './phases.ts';
import type { StoreServer } from './store-server.ts';

/** From which process to which, and how long to wait for an answer. */
export interface Route {
  readonly world: World;
  readonly from: SimProcess;
  readonly to: SimProcess;
  readonly timeoutMs: number;
}

const IDENTITY_KEY = 'identity';

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

interface Greeting {
  readonly connection: string;
  readonly id: string;
  readonly sequence: number;
  readonly set: number;
}

/** The acceptor's end: the real acceptor over the server's own disk, one for each life of its process. */
export class AcceptorService {
  readonly #server: StoreServer;
  #acceptor: StoreAcceptor | undefined;
  /** Of this life: a connection to an earlier one is broken. */
  #connection = '';

  constructor(server: StoreServer) {
    this.#server = server;
  }

  start(process: SimProcess): void {
    this.#acceptor = new StoreAcceptor(this.#server, process);
    this.#connection = process.randomId();
  }

  async greet(): Promise<Greeting> {
    const connection = this.#connection;
    const { id, configuration } = await this.#acceptor!.describe();
    return { connection, id, sequence: this.#server.sequence, set: configuration?.number ?? 0 };
  }

  async carryOut<R>(
    connection: string,
    work: (acceptor: Acceptor) => Promise<R>,
  ): Promise<{ readonly sequence: number; readonly result: R }> {
    if (connection !== this.#connection) throw new Error('the stream is broken');
    const result = await work(this.#acceptor!);
    return { sequence: this.#server.sequence, result };
  }
}

/** The client's end. */
export class RemoteAcceptor implements Acceptor {
  readonly url: string;
  /** As the real service's client has it. */
  readonly concurrency = 4;
  readonly #route: Route;
  readonly #service: AcceptorService;
  #connection: Promise<string> | undefined;
  #expectedId: string | undefined;
  #sequence = 0;
  #set = 0;
  #lost: CasPaxosError | undefined;

  constructor(route: Route, url: string, service: AcceptorService) {
    this.url = url;
    this.#route = route;
    this.#service = service;
  }

  expect(id: string): void {
    if (this.#expectedId !== undefined && this.#expectedId !== id) this.#lose('ACCEPTOR_FOREIGN', id);
    this.#expectedId = id;
  }

  describe(): Promise<AcceptorDescription> {
    return this.#call((acceptor) => acceptor.describe());
  }

  reserve(cluster: string): Promise<void> {
    return this.#call((acceptor) => acceptor.reserve!(cluster));
  }

  async install(configuration: Configuration): Promise<void> {
    await this.#call((acceptor) => acceptor.install(configuration));
    this.#set = Math.max(this.#set, configuration.number);
  }

  handle(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]> {
    return this.#call((acceptor) => acceptor.handle(requests, index));
  }

  list(after: string, limit: number): Promise<readonly string[]> {
    return this.#call((acceptor) => acceptor.list(after, limit));
  }

  async close(): Promise<void> {}

  async #call<R>(work: (acceptor: Acceptor) => Promise<R>): Promise<R> {
    if (this.#lost !== undefined) throw this.#lost;
    this.#connection ??= this.#connect();
    const connecting = this.#connection;
    try {
      const connection = await connecting;
      if (this.#lost !== undefined) throw this.#lost;
      const answer = await call(this.#route, () => this.#service.carryOut(connection, work));
      this.#sequence = Math.max(this.#sequence, answer.sequence);
      return answer.result;
    } catch (error) {
      // An acceptor's refusal comes over a sound stream; anything else has broken it.
      if (!(error instanceof CasPaxosError) && this.#connection === connecting) this.#connection = undefined;
      throw error;
    }
  }

  async #connect(): Promise<string> {
    // What was known when the question was asked: the greeting may come late.
    const known = { sequence: this.#sequence, set: this.#set };
    const { connection, id, sequence, set } = await call(this.#route, () => this.#service.greet());
    this.#expectedId ??= id;
    if (id !== this.#expectedId) this.#lose('ACCEPTOR_FOREIGN', `as ${id}`);
    if (set < known.set || sequence < known.sequence) this.#lose('ACCEPTOR_BEHIND', `at ${sequence}`);
    this.#sequence = Math.max(this.#sequence, sequence);
    this.#set = Math.max(this.#set, set);
    return connection;
  }

  #lose(code: 'ACCEPTOR_FOREIGN' | 'ACCEPTOR_BEHIND', as: string): void {
    this.#lost ??= new CasPaxosError(code, `Acceptor ${this.url} is not used any more: it came back ${as}.`);
  }
}

function call<R>({ world, from, to, timeoutMs }: Route, carryOut: () => Promise<R>): Promise<R> {
  return world.call(from, to, timeoutMs, carryOut);
}
