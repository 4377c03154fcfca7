/**
 * An acceptor that runs the role next to its disk: the real `StoreAcceptor` over the server's own disk, in the acceptor's process,
 * and what the real service's stream adds to it, at both ends.
 *
 * A connection begins with a greeting that says who is there and how far it has come, and lasts until that process ends or a call
 * goes unanswered. Requests belong to the cluster that the client has named, and are refused by an acceptor of another one. Rule 8
 * is kept at the client's end: who answers must be who it was, with a sequence number that never goes back. A client that has
 * seen the acceptor further on than it now says retires it: from then on it refuses everybody, in every later life.
 */
import {
  type Acceptor,
  type AcceptorDescription,
  CasPaxosError,
  checkServes,
  type Configuration,
  decodeIdentity,
  encodeIdentity,
  type IdentityDocument,
  type RegisterReply,
  type RegisterRequest,
  type Retirement,
  retirementAsOldCopy,
  retirementError,
  type Standing,
  StoreAcceptor,
} from '../../caspaxos/index.ts';
import type { SimProcess } from '../process.ts';
import { call, NEVER, type Route } from './remote.ts';
import { IDENTITY_KEY, type StoreServer } from './store-server.ts';

/** As the acceptor knows it: of which life it is, and what it was told in the greeting. */
interface Connection {
  readonly life: string;
  readonly told: Standing;
}

interface Greeting {
  readonly connection: Connection;
  readonly id: string;
  readonly retired: Retirement | undefined;
}

interface Call<R> {
  /** Of the cluster that the client has named, if it was asked about registers. */
  readonly ofRegisters?: { readonly cluster: string | undefined };
  readonly work: (acceptor: Acceptor) => Promise<R>;
}

/** The acceptor's end: the real acceptor over the server's own disk, one for each life of its process. */
export class AcceptorService {
  readonly #server: StoreServer;
  #process: SimProcess | undefined;
  #acceptor: StoreAcceptor | undefined;
  /** A connection to an earlier one is broken. */
  #life = '';
  /** As it was when it was read last; there was a greeting before anything else is asked. */
  #identity: IdentityDocument | undefined;
  /** In this life from the moment in which somebody finds out, whatever the disk says. */
  #retired: Retirement | undefined;

  constructor(server: StoreServer) {
    this.#server = server;
  }

  start(process: SimProcess): void {
    this.#process = process;
    this.#acceptor = new StoreAcceptor(this.#server, process);
    this.#life = process.randomId();
    this.#identity = undefined;
    this.#retired = undefined;
  }

  /** To a client that has seen so much of it. */
  async greet(seen: Standing): Promise<Greeting> {
    if (this.#server.oldCopy?.hidesFrom(seen) === true) return NEVER;
    const life = this.#life;
    // A new disk gets its identity when it is looked at for the first time.
    if ((await this.#read()) === undefined) await this.#acceptor!.describe();
    const { id, configuration } = (await this.#read())!;
    const told = { sequence: this.#server.sequence, set: configuration?.number ?? 0 };
    return { connection: { life, told }, id, retired: this.#retired };
  }

  async carryOut<R>(
    { life }: Connection,
    { ofRegisters, work }: Call<R>,
  ): Promise<{ readonly sequence: number; readonly result: R }> {
    this.#checkLife(life);
    if (this.#retired !== undefined) throw retirementError(this.#retired);
    if (ofRegisters !== undefined) checkServes(this.#server.url, this.#identity!, ofRegisters.cluster);
    const result = await work(this.#acceptor!);
    // It may have been told to whom it belongs.
    if (ofRegisters === undefined) await this.#read();
    return { sequence: this.#server.sequence, result };
  }

  /** Somebody has seen more of it than it told him in this connection. */
  async retire({ life, told }: Connection, id: string, seen: Standing): Promise<void> {
    this.#checkLife(life);
    if (this.#retired !== undefined) return;
    if (id !== this.#identity!.id) throw new CasPaxosError('PROTOCOL_MISMATCH', `This is not ${id}.`);
    this.#retired = retirementAsOldCopy(id, seen, told);
    const retired = { ...this.#retired, at: new Date(this.#process!.wallClock()).toISOString() };
    for (;;) {
      const [document] = await this.#server.read([IDENTITY_KEY]);
      const text = encodeIdentity({ ...identityIn(document)!, retired });
      const [result] = await this.#server.write([{ key: IDENTITY_KEY, text, expected: document?.version }]);
      if (result!.result === 'written') return;
    }
  }

  #checkLife(life: string): void {
    if (life !== this.#life) throw new Error('the stream is broken');
  }

  async #read(): Promise<IdentityDocument | undefined> {
    const [document] = await this.#server.read([IDENTITY_KEY]);
    this.#identity = identityIn(document);
    this.#retired ??= this.#identity?.retired;
    return this.#identity;
  }
}

function identityIn(document: { readonly text: string } | undefined): IdentityDocument | undefined {
  return document && decodeIdentity(document.text, 'The identity');
}

/** As long as somebody asks for an acceptor that could not be told that it is retired, it is told again. */
const RETIRE_AGAIN_MS = 1000;

/** The client's end. */
export class RemoteAcceptor implements Acceptor {
  readonly url: string;
  /** As the real service's client has it. */
  readonly concurrency = 4;
  readonly #route: Route;
  #connection: Promise<Connection> | undefined;
  #expectedId: string | undefined;
  #cluster: string | undefined;
  #seen: Standing = { sequence: 0, set: 0 };
  #lost: CasPaxosError | undefined;
  /** What it once told, and tells no more: it has to be retired. */
  #finding: Standing | undefined;
  #retiring: Promise<void> | undefined;
  #retiredAt = -Infinity;

  constructor(route: Route) {
    this.url = route.to().server.url;
    this.#route = route;
  }

  expect(id: string, cluster?: string): void {
    if (this.#expectedId !== undefined && this.#expectedId !== id) this.#lose('ACCEPTOR_FOREIGN', id);
    this.#expectedId = id;
    this.#cluster = cluster;
  }

  describe(): Promise<AcceptorDescription> {
    return this.#call({ work: (acceptor) => acceptor.describe() });
  }

  reserve(cluster: string): Promise<void> {
    return this.#call({ work: (acceptor) => acceptor.reserve!(cluster) });
  }

  async install(configuration: Configuration): Promise<void> {
    await this.#call({ work: (acceptor) => acceptor.install(configuration) });
    this.#saw({ sequence: 0, set: configuration.number });
  }

  handle(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]> {
    return this.#ofRegisters((acceptor) => acceptor.handle(requests, index));
  }

  list(after: string, limit: number): Promise<readonly string[]> {
    return this.#ofRegisters((acceptor) => acceptor.list(after, limit));
  }

  async close(): Promise<void> {}

  #ofRegisters<R>(work: (acceptor: Acceptor) => Promise<R>): Promise<R> {
    return this.#call({ ofRegisters: { cluster: this.#cluster }, work });
  }

  async #call<R>(asked: Call<R>): Promise<R> {
    if (this.#lost !== undefined) {
      this.#retireAgain();
      throw this.#lost;
    }
    const connecting = this.#connected();
    try {
      const connection = await connecting;
      // Connecting may have shown who is there; that is made lasting before anybody hears of it.
      await this.#retiring;
      if (this.#lost !== undefined) throw this.#lost;
      const answer = await call(this.#route, ({ service }) => service.carryOut(connection, asked));
      this.#saw({ sequence: answer.sequence, set: 0 });
      return answer.result;
    } catch (error) {
      this.#drop(connecting, error);
      throw error;
    }
  }

  #connected(): Promise<Connection> {
    this.#connection ??= this.#connect();
    return this.#connection;
  }

  /** An acceptor's refusal comes over a sound stream; anything else has broken it. */
  #drop(connection: Promise<Connection>, error: unknown): void {
    if (!(error instanceof CasPaxosError) && this.#connection === connection) this.#connection = undefined;
  }

  async #connect(): Promise<Connection> {
    // What was known when the question was asked: the greeting may come late.
    const seen = this.#seen;
    const { connection, id, retired } = await call(this.#route, ({ service }) => service.greet(seen));
    const { told } = connection;
    this.#expectedId ??= id;
    if (id !== this.#expectedId) this.#lose('ACCEPTOR_FOREIGN', `as ${id}`);
    if (told.set < seen.set || told.sequence < seen.sequence)
      this.#lose('ACCEPTOR_BEHIND', `at ${told.sequence}`);
    if (this.#lost?.code === 'ACCEPTOR_BEHIND') this.#finding = retired === undefined ? seen : undefined;
    else if (retired !== undefined && id === this.#expectedId) this.#lost = retirementError(retired);
    this.#saw(told);
    this.#retire(connection);
    return connection;
  }

  #saw({ sequence, set }: Standing): void {
    this.#seen = { sequence: Math.max(this.#seen.sequence, sequence), set: Math.max(this.#seen.set, set) };
  }

  #retire(connection: Connection): void {
    if (this.#finding === undefined || this.#retiring !== undefined) return;
    this.#retiredAt = this.#route.from.now();
    this.#retiring = this.#sayRetired(connection, this.#finding).finally(() => {
      this.#retiring = undefined;
    });
  }

  /** Never rejects. */
  async #sayRetired(connection: Connection, seen: Standing): Promise<void> {
    try {
      await call(this.#route, ({ service }) => service.retire(connection, this.#expectedId!, seen));
    } catch (error) {
      if (!(error instanceof CasPaxosError)) {
        this.#connection = undefined;
        return;
      }
    }
    this.#finding = undefined;
  }

  #retireAgain(): void {
    const { from } = this.#route;
    if (this.#finding === undefined || from.now() - this.#retiredAt < RETIRE_AGAIN_MS) return;
    this.#retiredAt = from.now();
    const connecting = this.#connected();
    connecting.then(
      (connection) => this.#retire(connection),
      (error: unknown) => this.#drop(connecting, error),
    );
  }

  #lose(code: 'ACCEPTOR_FOREIGN' | 'ACCEPTOR_BEHIND', as: string): void {
    this.#lost ??= new CasPaxosError(code, `Acceptor ${this.url} is not used any more: it came back ${as}.`);
  }
}
