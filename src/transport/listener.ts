/**
 * Where connections come in. Of each caller the version, the cluster, the token and what the owner asks (`authorize`) are
 * checked before anything else of it is read. Of the connections of one link only the latest is kept: when it is
 * welcomed, nothing of an earlier one is delivered any more.
 *
 * Nodes have seats of their own, clients have others, and whoever has not been welcomed yet waits in a lobby (`lobby.ts`): so many
 * clients, or many strangers, lock no node out.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls';
import { type Host, Lobby } from '../protocol/index.ts';
import { Connection, type ConnectionHandlers, leave } from './connection.ts';
import type { Address } from './dial.ts';
import { reasonOf, RpcError } from './errors.ts';
import {
  chooseVersion,
  encodeRefusal,
  encodeWelcome,
  type Hello,
  type Identity,
  parseHello,
} from './handshake.ts';
import { type ConnectionLimits, DEFAULT_LIMITS } from './limits.ts';
import { openSocket, type Opening, writeFirstFrame } from './opening.ts';
import { certificateName, refuseOpenRpc, type RpcTls } from './tls.ts';
import { OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION } from './wire.ts';

export interface Caller extends Identity {
  readonly link: string;
  readonly epoch: number;
  /** The common name in its certificate; with mutual TLS only. */
  readonly certificate: string | undefined;
}

export interface ListenOptions {
  readonly host: Host;
  readonly address: Address;
  readonly self: Identity;
  /** What every caller must know; more is up to `authorize`. */
  readonly token?: string | undefined;
  readonly tls?: RpcTls | undefined;
  readonly limits?: Partial<ConnectionLimits> | undefined;
  /** Of clients: 4096. */
  readonly maxConnections?: number | undefined;
  /** Of nodes: 256. */
  readonly maxNodeConnections?: number | undefined;
  /** Connections before their handshake: 1024. When another comes, one of them ends. */
  readonly maxStrangers?: number | undefined;
  /** A sentence that says why this caller is not let in. Throwing refuses it too. `token` is what it showed, or ''. */
  readonly authorize?: ((caller: Caller, token: string) => string | undefined) | undefined;
  /** Called before anything but the handshake is read. */
  readonly onConnection: (connection: Connection, caller: Caller) => ConnectionHandlers;
  /** A caller that was not let in. */
  readonly onRefused?: ((error: RpcError, remoteAddress: string) => void) | undefined;
}

const DEFAULT_MAX_CONNECTIONS = 4096;
const DEFAULT_MAX_NODE_CONNECTIONS = 256;
const DEFAULT_MAX_STRANGERS = 1024;
const VERSIONS = { oldest: OLDEST_PROTOCOL_VERSION, newest: PROTOCOL_VERSION };

interface Seat {
  readonly connection: Connection;
  readonly incarnation: number;
  readonly epoch: number;
}

export class Listener {
  readonly #options: ListenOptions;
  readonly #limits: ConnectionLimits;
  readonly #server: Server | TlsServer;
  /** All of them: also those before their handshake, or before their TLS session. */
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Set<Connection>();
  /** How many of them are of whom. */
  readonly #taken: Record<Identity['role'], number> = { node: 0, client: 0 };
  readonly #links = new Map<string, Seat>();
  readonly #lobby: Lobby;
  #isClosing = false;

  private constructor(options: ListenOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    const { tls, maxStrangers: places = DEFAULT_MAX_STRANGERS } = options;
    this.#lobby = new Lobby({ places, onCrowdedOut: (from) => this.#onCrowdedOut(places, from) });
    this.#server =
      tls === undefined
        ? createServer({ noDelay: true }, (socket) => this.#onSocket(socket))
        : this.#createTlsServer(tls);
    this.#server.on('connection', (socket: Socket) => this.#admit(socket));
  }

  #createTlsServer(tls: RpcTls): TlsServer {
    const server = createTlsServer({
      ...contextOf(tls),
      ...(tls.ca !== undefined && { requestCert: true, rejectUnauthorized: true }),
      noDelay: true,
      handshakeTimeout: this.#limits.handshakeTimeoutMs,
    });
    server.on('secureConnection', (socket) => this.#onSocket(socket));
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => {
      this.#options.onRefused?.(tlsRefusal(error, socket), socket.remoteAddress ?? '');
      socket.destroy();
    });
    return server;
  }

  static async listen(options: ListenOptions): Promise<Listener> {
    const { host, port } = options.address;
    refuseOpenRpc(host, options.tls, options.token !== undefined);
    const listener = new Listener(options);
    const server = listener.#server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        const why = error.code === 'EADDRINUSE' ? 'the port is taken' : error.message;
        reject(new RpcError('LISTEN_FAILED', `Cannot listen on ${host}:${port}: ${why}.`));
      });
      server.listen(port, host, resolve);
    });
    server.removeAllListeners('error');
    // Such as too many open files: one caller is not let in, and the next may be.
    server.on('error', ({ message }) => {
      options.onRefused?.(new RpcError('UNREACHABLE', `A caller could not be let in: ${message}.`), '');
    });
    return listener;
  }

  /** With the port that it got. */
  get address(): Address {
    const { port } = this.#server.address() as AddressInfo;
    return { host: this.#options.address.host, port };
  }

  /**
   * Certificates that were read again, for connections from now on; those that are open stay. Throws when they are no pair,
   * and keeps the old ones. Whether callers must show one does not change.
   */
  set tls(tls: RpcTls) {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(contextOf(tls));
  }

  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  /** Lets nobody in any more, lets what was begun come to its end, and closes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await Promise.all([...this.#connections].map((connection) => connection.close('The node is stopping.')));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #admit(socket: Socket): void {
    if (this.#isClosing) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    this.#lobby.enter(socket);
  }

  #onCrowdedOut(places: number, from: string): void {
    const message = `More than ${places} callers are here that have not said who they are.`;
    this.#options.onRefused?.(new RpcError('TOO_MANY_CONNECTIONS', message), from);
  }

  #onSocket(socket: Socket): void {
    const { host } = this.#options;
    openSocket(socket, host, this.#limits.handshakeTimeoutMs, {
      onFirstFrame: (opening, bytes) => this.#onHello(opening, bytes),
      onFailed: (opening, error) => this.#refuse(opening, error),
    });
  }

  #onHello(opening: Opening, bytes: Buffer): void {
    const { host, self, onConnection } = this.#options;
    const { socket, reader } = opening;
    const limits = this.#limits;
    const hello = parseHello(bytes);
    const caller = callerOf(hello, socket);
    const { version, seat } = this.#check(hello, caller);
    opening.settle();
    this.#lobby.leave(socket);
    const { maxFrameBytes, maxRequests } = limits;
    writeFirstFrame(socket, encodeWelcome({ ...self, version, maxFrameBytes, maxRequests }));
    const connection = new Connection({ socket, reader, host, limits, version, peer: hello });
    this.#keep(connection, hello, seat);
    connection.handle(onConnection(connection, caller));
  }

  /** Throws the refusal. */
  #check(hello: Hello, caller: Caller): { version: number; seat: string } {
    const { self, token } = this.#options;
    if (this.#isClosing) throw new RpcError('CLOSED', 'The node is stopping.');
    const version = chooseVersion(VERSIONS, hello.versions);
    if (version === undefined) {
      const { oldest, newest } = hello.versions;
      const message = `The caller speaks versions ${oldest} to ${newest}, this node ${VERSIONS.oldest} to ${VERSIONS.newest}.`;
      throw new RpcError('VERSION_UNSUPPORTED', message);
    }
    if (token !== undefined && !isSame(token, hello.token))
      throw new RpcError('NOT_AUTHORIZED', 'The token is not the one that is asked for here.');
    if (hello.cluster !== self.cluster)
      throw new RpcError('CLUSTER_DIFFERENT', `This node belongs to cluster ${self.cluster}.`);
    this.#authorize(caller, hello.token);
    const seat = JSON.stringify([hello.role, hello.node, hello.link]);
    const earlier = hello.link === '' ? undefined : this.#links.get(seat);
    if (earlier !== undefined && !isLater(hello, earlier))
      throw new RpcError('SUPERSEDED', `A later connection of node ${hello.node} is here already.`);
    if (earlier === undefined) this.#demandSeat(hello);
    return { version, seat };
  }

  #demandSeat({ role }: Hello): void {
    const { maxConnections = DEFAULT_MAX_CONNECTIONS, maxNodeConnections = DEFAULT_MAX_NODE_CONNECTIONS } =
      this.#options;
    const seats = role === 'node' ? maxNodeConnections : maxConnections;
    if (this.#taken[role] < seats) return;
    const retryAfterMs = this.#limits.handshakeTimeoutMs;
    const message = `This node takes ${seats} connections of ${role}s.`;
    throw new RpcError('TOO_MANY_CONNECTIONS', message, { retryAfterMs });
  }

  #authorize(caller: Caller, token: string): void {
    let complaint: string | undefined;
    try {
      complaint = this.#options.authorize?.(caller, token);
    } catch (cause) {
      throw new RpcError('NOT_AUTHORIZED', 'Whether the caller may come in could not be found out.', {
        cause,
      });
    }
    if (complaint !== undefined) throw new RpcError('NOT_AUTHORIZED', complaint);
  }

  #keep(connection: Connection, { role, link, incarnation, epoch, node }: Hello, seat: string): void {
    this.#connections.add(connection);
    this.#taken[role] += 1;
    void connection.closed.then(() => this.#forget(connection, role));
    if (link === '') return;
    const earlier = this.#links.get(seat);
    this.#links.set(seat, { connection, incarnation, epoch });
    void connection.closed.then(() => this.#free(seat, connection));
    earlier?.connection.destroy(new RpcError('SUPERSEDED', `Node ${node} has made a later connection.`));
  }

  #forget(connection: Connection, role: Identity['role']): void {
    this.#connections.delete(connection);
    this.#taken[role] -= 1;
  }

  #free(seat: string, connection: Connection): void {
    if (this.#links.get(seat)?.connection === connection) this.#links.delete(seat);
  }

  #refuse({ socket }: Opening, error: RpcError): void {
    this.#options.onRefused?.(error, socket.remoteAddress ?? '');
    if (socket.destroyed) return;
    leave(socket, this.#options.host, () => {
      writeFirstFrame(socket, encodeRefusal({ versions: VERSIONS, error }));
      socket.end();
    });
  }
}

function tlsRefusal(error: NodeJS.ErrnoException, { authorizationError }: TLSSocket): RpcError {
  // Of a bad certificate Node says only that the connection was reset.
  const reason = (authorizationError as Error | string | undefined | null) ?? undefined;
  const message = `The TLS handshake failed: ${reason === undefined ? error.message : reasonOf(reason)}.`;
  // Whoever ended the connection before it had shown anything was not refused.
  const hasLeft = error.code === 'ECONNRESET' && reason === undefined;
  return new RpcError(hasLeft ? 'UNREACHABLE' : 'NOT_AUTHORIZED', message);
}

function contextOf({ ca, cert, key }: RpcTls): SecureContextOptions {
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { ca }),
    minVersion: 'TLSv1.3',
  };
}

function callerOf({ role, cluster, node, region, incarnation, link, epoch }: Hello, socket: Socket): Caller {
  return { role, cluster, node, region, incarnation, link, epoch, certificate: certificateName(socket) };
}

function isLater(hello: Hello, { incarnation, epoch }: Seat): boolean {
  return hello.incarnation > incarnation || (hello.incarnation === incarnation && hello.epoch > epoch);
}

/** Compared as digests: equal lengths, and no hint in the time it takes. */
function isSame(expected: string, given: string): boolean {
  return timingSafeEqual(digest(expected), digest(given));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
