/**
 * A few connections to one server, made when they are needed. A connection works on one statement at a time; calls go to
 * the one that has least to do. When a call runs out of time its connection is torn down, and with it whatever else waits
 * there: a server that hangs must not collect calls. The next call connects anew; but after a failure to connect, calls fail
 * at once for a moment instead of each trying again.
 */
import { Socket } from 'node:net';
import type { Client, ClientConfig } from 'pg';
import { CasPaxosError } from '../errors.ts';
import type { Lineage } from './lineage.ts';
import { loadPeer } from './peer.ts';
import { lineOf } from './postgres-line.ts';
import { type Circumstances, complaintAbout, LOOK_AROUND } from './postgres-safety.ts';
import type { PostgresTable, Statement } from './postgres-statements.ts';
import { SafetyWatch } from './safety-watch.ts';
import type { StoreCalls } from './store-calls.ts';
import type { StoreUrl } from './store-url.ts';

export interface ConnectionsOptions {
  readonly timeoutMs: number;
  readonly ca: string | undefined;
  readonly most: number;
  /** Is told of which line of memory each connection is. */
  readonly lineage: Lineage;
  readonly calls: StoreCalls;
}

const RECONNECT_AFTER_MS = 100;
const GOODBYE_MS = 250;

/** One place for a connection, whether it is made, in the making, or broken. */
interface Lane {
  connection: Promise<Client> | undefined;
  socket: Socket | undefined;
  isReady: boolean;
  calls: number;
  /** Ends with the call before: a client takes one statement at a time. */
  turn: Promise<void>;
}

export class PostgresConnections {
  readonly #target: StoreUrl;
  readonly #table: PostgresTable;
  readonly #options: ConnectionsOptions;
  readonly #watch: SafetyWatch;
  readonly #lanes: readonly Lane[];
  #failure: unknown;
  #failedAt = -Infinity;
  #isClosed = false;
  #requests = 0;

  constructor(target: StoreUrl, table: PostgresTable, options: ConnectionsOptions) {
    this.#target = target;
    this.#table = table;
    this.#options = options;
    this.#watch = new SafetyWatch(options.lineage);
    this.#lanes = Array.from({ length: options.most }, () => ({
      connection: undefined,
      socket: undefined,
      isReady: false,
      calls: 0,
      turn: Promise.resolve(),
    }));
  }

  get requests(): number {
    return this.#requests;
  }

  get life(): string | undefined {
    return this.#watch.life;
  }

  async ask<R>(statement: Statement, values: readonly unknown[], signal: AbortSignal): Promise<readonly R[]> {
    return this.#inTurn(signal, async (client) => {
      this.#requests += 1;
      const { rows } = await client.query({ ...statement, values: [...values] });
      return rows as R[];
    });
  }

  /** Whether the server still keeps what it answers. If it does not, all connections end: whoever connects is told why. */
  async look(signal: AbortSignal): Promise<void> {
    try {
      await this.#inTurn(signal, (client) => this.#lookAround(client));
    } catch (error) {
      if (error instanceof CasPaxosError && error.code === 'STORE_FAILED') this.#lanes.forEach(drop);
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#lanes.map(leave));
  }

  async #inTurn<T>(signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    const lane = this.#lanes.reduce((best, other) => (isBetter(other, best) ? other : best));
    const giveUp = (): void => this.#giveUp(lane, signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    lane.calls += 1;
    let endTurn = (): void => {};
    const before = lane.turn;
    lane.turn = new Promise((resolve) => {
      endTurn = resolve;
    });
    try {
      await before;
      signal.throwIfAborted();
      return await work(await this.#connect(lane));
    } finally {
      endTurn();
      lane.calls -= 1;
      signal.removeEventListener('abort', giveUp);
    }
  }

  #connect(lane: Lane): Promise<Client> {
    if (this.#isClosed)
      throw new CasPaxosError('CLOSED', `The connection to ${this.#target.place} is closed.`);
    if (lane.connection !== undefined) return lane.connection;
    if (performance.now() - this.#failedAt < RECONNECT_AFTER_MS) throw this.#failure;
    const connection = this.#open(lane).catch((error: unknown) => {
      if (lane.connection === connection) this.#failed(lane, error);
      throw error;
    });
    lane.connection = connection;
    return connection;
  }

  async #open(lane: Lane): Promise<Client> {
    const socket = new Socket();
    lane.socket = socket;
    const { Client: NewClient } = (await loadPeer('postgres', 'pg', () => import('pg'))).default;
    // Given up meanwhile: nobody would close what is opened now.
    if (lane.socket !== socket) throw new Error('the connection was given up');
    const client = new NewClient(this.#config(socket));
    const broken = (): void => {
      socket.destroy();
      // Before it is ready, whoever makes it hears of it.
      if (lane.socket === socket && lane.isReady) drop(lane);
    };
    client.on('error', broken);
    client.on('end', broken);
    this.#meter(client, lane);
    await client.connect();
    await this.#lookAround(client);
    lane.isReady = lane.socket === socket;
    return client;
  }

  /** With TLS, what counts is what comes out of it. */
  #meter({ connection }: Client, lane: Lane): void {
    const meter = (): void => this.#options.calls.meter(connection.stream, () => lane.calls > 0);
    if (this.#target.tls === undefined) meter();
    else connection.once('sslconnect', meter);
  }

  #config(socket: Socket): ClientConfig {
    const { hosts, path, user, password, tls } = this.#target;
    const { host, port } = hosts[0]!;
    const { ca } = this.#options;
    return {
      host,
      port,
      database: path[0]!,
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password }),
      // As a name of its own in the server's list of connections.
      application_name: 'baton',
      // Said either way: else the client would look for it in the environment.
      ssl: tls === undefined ? false : { host, ...(ca && { ca }), ...tls, rejectUnauthorized: true },
      keepAlive: true,
      stream: () => socket,
    };
  }

  /**
   * Refuses a server that would lose what it answered, and tells it how long statements may take. Behind a pooler a connection may lead to
   * another server than before, so the line of memory is asked for each time.
   */
  async #lookAround(client: Client): Promise<void> {
    const values = [this.#table.name, String(this.#options.timeoutMs)];
    this.#requests += 1;
    const { rows } = await client.query<Circumstances>(LOOK_AROUND, values);
    const found = rows[0]!;
    const complaint = complaintAbout(found, this.#table);
    if (complaint === undefined) {
      this.#requests += 1;
      this.#watch.line(await lineOf(client));
      this.#watch.safe(found.life);
      return;
    }
    if (complaint.forgets) this.#watch.unsafe(found.life, complaint.what);
    throw new CasPaxosError('STORE_FAILED', `Acceptor ${this.#target.place} ${complaint.what}.`);
  }

  #failed(lane: Lane, error: unknown): void {
    drop(lane);
    this.#failure = error;
    this.#failedAt = performance.now();
  }

  /** The call on this lane is out of time. Connections that nobody uses may be as dead as this one. */
  #giveUp(late: Lane, reason: unknown): void {
    if (!late.isReady) this.#failed(late, reason);
    for (const lane of this.#lanes) if (lane === late || lane.calls === 0) drop(lane);
  }
}

/** Fewer calls; among idle ones, a connection that is there. */
function isBetter(lane: Lane, than: Lane): boolean {
  if (lane.calls !== than.calls) return lane.calls < than.calls;
  return lane.connection !== undefined && than.connection === undefined;
}

function drop(lane: Lane): void {
  lane.socket?.destroy();
  lane.socket = undefined;
  lane.connection = undefined;
  lane.isReady = false;
}

/** Says goodbye, so that the server does not take it for a failure; but not to a server that does not listen. */
async function leave(lane: Lane): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise((resolve) => {
    timer = setTimeout(resolve, GOODBYE_MS);
  });
  const goodbye = lane.connection?.then((client) => client.end()).catch(() => {});
  if (goodbye !== undefined) await Promise.race([goodbye, enough]);
  clearTimeout(timer);
  drop(lane);
}
