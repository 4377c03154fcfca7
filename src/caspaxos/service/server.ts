/**
 * The acceptor service: one acceptor behind HTTP. `/health` and `/metrics` are for people and their tools; proposers
 * upgrade to a stream of frames (`wire.ts`), because one round trip a phase is the point of this process.
 *
 * It never buffers without bound: a client that does not read its answers is no longer read from, and a request over
 * the limit ends its stream. A stop finishes what was begun, then closes.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { CasPaxosError } from '../errors.ts';
import type { DiskAcceptor } from './disk-acceptor.ts';
import type { ServiceMetrics } from './metrics.ts';
import { AcceptorStream } from './stream.ts';
import { DEFAULT_MAX_REQUEST_BYTES, STREAM_PATH, STREAM_PROTOCOL } from './wire.ts';

export interface AcceptorServerOptions {
  readonly host: string;
  readonly port: number;
  /** Without one, everybody who can connect may use the acceptor: allowed on the loopback interface only. */
  readonly token?: string | undefined;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly maxRequestBytes?: number | undefined;
}

export class AcceptorServer {
  readonly #acceptor: DiskAcceptor;
  readonly #server: HttpServer | HttpsServer;
  readonly #streams = new Set<AcceptorStream>();
  /** Made when somebody asks: what collects them takes longer to load than all the rest of an acceptor. */
  #metrics: Promise<ServiceMetrics> | undefined;
  #options: AcceptorServerOptions;
  #stopping = false;

  private constructor(acceptor: DiskAcceptor, options: AcceptorServerOptions) {
    this.#acceptor = acceptor;
    this.#options = options;
    const limits = { requestTimeout: 10_000, headersTimeout: 10_000, maxHeaderSize: 16 * 1024 };
    const respond = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#respond(request, response);
    };
    this.#server = options.tls
      ? createHttpsServer({ ...limits, ...options.tls }, respond)
      : createHttpServer(limits, respond);
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  static async listen(acceptor: DiskAcceptor, options: AcceptorServerOptions): Promise<AcceptorServer> {
    refuseToListenOpenly(options);
    const server = new AcceptorServer(acceptor, options);
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', (error: NodeJS.ErrnoException) => {
        const why = error.code === 'EADDRINUSE' ? 'the port is taken' : error.message;
        reject(
          new CasPaxosError('LISTEN_FAILED', `Cannot listen on ${options.host}:${options.port}: ${why}.`),
        );
      });
      server.#server.listen(options.port, options.host, resolve);
    });
    return server;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    const host = isIP(this.#options.host) === 6 ? `[${this.#options.host}]` : this.#options.host;
    return `${this.#options.tls ? 'https' : 'http'}://${host}:${port}`;
  }

  /**
   * A token and a certificate that were read again, for callers from now on; streams that are open stay. Throws when they are
   * not good, and keeps the old ones.
   */
  renew({ token, tls }: Pick<AcceptorServerOptions, 'token' | 'tls'>): void {
    const options = { ...this.#options, token, tls };
    refuseToListenOpenly(options);
    const isSecure = 'setSecureContext' in this.#server;
    if (isSecure !== (tls !== undefined))
      throw new CasPaxosError('LISTEN_REFUSED', 'Speaking TLS or not is decided when an acceptor starts.');
    if (tls !== undefined && 'setSecureContext' in this.#server) this.#server.setSecureContext(tls);
    this.#options = options;
  }

  /** Takes no new work, answers what was begun, and closes. The acceptor stays open: it is the caller's. */
  async close(): Promise<void> {
    this.#stopping = true;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    await Promise.all([...this.#streams].map((stream) => stream.drain()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?', 1)[0];
    if (request.method !== 'GET') return reply(response, 405, 'Only GET is answered here.\n');
    if (path === '/health') return this.#respondHealth(response);
    if (path === STREAM_PATH)
      return reply(response, 426, `Upgrade to ${STREAM_PROTOCOL} to use the acceptor.\n`);
    if (path !== '/metrics') return reply(response, 404, 'Here are /health and /metrics.\n');
    if (!this.#isAuthorized(request)) return reply(response, 401, 'A bearer token is needed.\n');
    const text = await (await this.#serviceMetrics()).text();
    return reply(response, 200, text, 'text/plain; version=0.0.4; charset=utf-8');
  }

  #serviceMetrics(): Promise<ServiceMetrics> {
    this.#metrics ??= import('./metrics.ts').then(
      ({ ServiceMetrics: Metrics }) => new Metrics(this.#acceptor, () => this.#streams.size),
    );
    return this.#metrics;
  }

  #respondHealth(response: ServerResponse): void {
    const status = this.#stopping ? 'stopping' : this.#acceptor.isBroken ? 'failed' : 'ok';
    const body = JSON.stringify({ status, id: this.#acceptor.id, sequence: this.#acceptor.sequence });
    reply(response, status === 'ok' ? 200 : 503, `${body}\n`, 'application/json');
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (head.length > 0) socket.unshift(head);
    socket.on('error', () => socket.destroy());
    const refuse = (line: string): void => {
      socket.end(`HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    };
    if (this.#stopping) return refuse('503 Service Unavailable');
    if (request.url !== STREAM_PATH || request.headers.upgrade !== STREAM_PROTOCOL)
      return refuse('404 Not Found');
    if (!this.#isAuthorized(request)) return refuse('401 Unauthorized');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${STREAM_PROTOCOL}\r\n\r\n`,
    );
    (socket as Socket).setNoDelay?.(true);
    const limit = this.#options.maxRequestBytes ?? DEFAULT_MAX_REQUEST_BYTES;
    const stream = new AcceptorStream(socket, this.#acceptor, limit, () => this.#streams.delete(stream));
    this.#streams.add(stream);
  }

  #isAuthorized(request: IncomingMessage): boolean {
    const { token } = this.#options;
    if (token === undefined) return true;
    const given = request.headers.authorization ?? '';
    // Compared as digests: equal lengths, and no hint in the time it takes.
    return timingSafeEqual(digest(given), digest(`Bearer ${token}`));
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function reply(response: ServerResponse, status: number, body: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** Secure by default: beyond this machine only with TLS and a token. */
export function refuseToListenOpenly({ host, token, tls }: AcceptorServerOptions): void {
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return;
  if (tls !== undefined && token !== undefined) return;
  throw new CasPaxosError(
    'LISTEN_REFUSED',
    `Refusing to listen on ${host}: beyond loopback an acceptor needs both a TLS certificate and a token.`,
  );
}
