/**
 * The acceptor service: one acceptor behind HTTP. `/health` and `/metrics` are for people and their tools; proposers
 * upgrade to a stream of frames (`wire.ts`), because one round trip a phase is the point of this process.
 *
 * It never buffers without bound: a client that does not read its answers is no longer read from, and a request over
 * the limit ends its stream. A stop finishes what was begun, then closes. Whoever has not shown the token waits in a lobby (`lobby.ts`),
 * and takes no stream's place.
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
import { TLSSocket } from 'node:tls';
import {
  ALL_FIELDS,
  hasTooManyFields,
  Lobby,
  takeAbsoluteForm,
  TOO_MANY_FIELDS,
} from '../../protocol/index.ts';
import { CasPaxosError } from '../errors.ts';
import type { DiskAcceptor } from './disk-acceptor.ts';
import type { ServiceMetrics } from './metrics.ts';
import { AcceptorStream } from './stream.ts';
import { DEFAULT_MAX_REQUEST_BYTES, NO_CERTIFICATE, STREAM_PATH, STREAM_PROTOCOL } from './wire.ts';

export interface AcceptorServerOptions {
  readonly host: string;
  readonly port: number;
  /** Without one, everybody who can connect may use the acceptor: allowed on the loopback interface only. */
  readonly token?: string | undefined;
  readonly tls?: AcceptorTls | undefined;
  readonly maxRequestBytes?: number | undefined;
  /** Streams at a time: 1024. */
  readonly maxStreams?: number | undefined;
  /** Connections at a time that have no stream: 256. When another comes, the oldest of them ends. */
  readonly maxStrangers?: number | undefined;
  /** Somebody was not let in. `kind` is one of REFUSALS. */
  readonly onRefused?: ((kind: AcceptorRefusal, reason: string, from: string) => void) | undefined;
}

/** PEM. With `ca` proposers must show a certificate of that authority. */
export interface AcceptorTls {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
}

export const ACCEPTOR_REFUSALS = ['token', 'certificate', 'crowded', 'streams'] as const;
export type AcceptorRefusal = (typeof ACCEPTOR_REFUSALS)[number];

const LIMITS = {
  requestTimeout: 10_000,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 16 * 1024,
} as const;
/** Nothing sent and nothing taken for so long: whoever it is, it ends. Streams have times of their own. */
const IDLE_MS = 30_000;
/** How long somebody who was refused has to read why. */
const LINGER_MS = 1000;
const MAX_STREAMS = 1024;
const MAX_STRANGERS = 256;

export class AcceptorServer {
  readonly #acceptor: DiskAcceptor;
  readonly #server: HttpServer | HttpsServer;
  readonly #streams = new Set<AcceptorStream>();
  /** Made when somebody asks: what collects them takes longer to load than all the rest of an acceptor. */
  #metrics: Promise<ServiceMetrics> | undefined;
  readonly #refused = new Map<AcceptorRefusal, number>(ACCEPTOR_REFUSALS.map((kind) => [kind, 0]));
  readonly #lobby: Lobby;
  #options: AcceptorServerOptions;
  #stopping = false;

  private constructor(acceptor: DiskAcceptor, options: AcceptorServerOptions) {
    this.#acceptor = acceptor;
    this.#options = options;
    const { tls, maxStrangers: places = MAX_STRANGERS } = options;
    this.#lobby = new Lobby({
      places,
      onCrowdedOut: (from) =>
        this.#onRefused('crowded', `${places} connections without a stream are here`, from),
    });
    const respond = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#respond(request, response);
    };
    this.#server = tls
      ? createHttpsServer({ ...LIMITS, handshakeTimeout: LIMITS.headersTimeout, ...secured(tls) }, respond)
      : createHttpServer(LIMITS, respond);
    this.#server.timeout = IDLE_MS;
    this.#server.maxHeadersCount = ALL_FIELDS;
    this.#server.on('connection', (socket: Socket) => this.#lobby.enter(socket));
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
    const isMutual = this.#options.tls?.ca !== undefined;
    if (isSecure !== (tls !== undefined) || isMutual !== (tls?.ca !== undefined))
      throw new CasPaxosError(
        'LISTEN_REFUSED',
        'Whether an acceptor speaks TLS and wants certificates is decided when it starts.',
      );
    if (tls !== undefined && 'setSecureContext' in this.#server) this.#server.setSecureContext(secured(tls));
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
    takeAbsoluteForm(request);
    if (hasTooManyFields(request)) return reply(response, 431, `${TOO_MANY_FIELDS}\n`);
    const path = (request.url ?? '').split('?', 1)[0];
    if (request.method !== 'GET') return reply(response, 405, 'Only GET is answered here.\n');
    if (path === '/health') return this.#respondHealth(response);
    if (path === STREAM_PATH)
      return reply(response, 426, `Upgrade to ${STREAM_PROTOCOL} to use the acceptor.\n`);
    if (path !== '/metrics') return reply(response, 404, 'Here are /health and /metrics.\n');
    if (!this.#hasToken(request)) {
      this.#onRefused('token', 'the token is not the right one', addressOf(request));
      return reply(response, 401, 'A bearer token is needed.\n');
    }
    const text = await (await this.#serviceMetrics()).text();
    return reply(response, 200, text, 'text/plain; version=0.0.4; charset=utf-8');
  }

  #serviceMetrics(): Promise<ServiceMetrics> {
    this.#metrics ??= import('./metrics.ts').then(
      ({ ServiceMetrics: Metrics }) =>
        new Metrics(this.#acceptor, { streams: () => this.#streams.size, refused: this.#refused }),
    );
    return this.#metrics;
  }

  #respondHealth(response: ServerResponse): void {
    const status = this.#status;
    const { id, sequence, retired } = this.#acceptor;
    const body = JSON.stringify({ status, id, sequence, ...(retired && { why: retired.why }) });
    reply(response, status === 'ok' ? 200 : 503, `${body}\n`, 'application/json');
  }

  get #status(): 'ok' | 'stopping' | 'failed' | 'retired' | 'full' {
    if (this.#stopping) return 'stopping';
    if (this.#acceptor.isBroken) return 'failed';
    if (this.#acceptor.retired !== undefined) return 'retired';
    return this.#acceptor.isFull ? 'full' : 'ok';
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (head.length > 0) socket.unshift(head);
    socket.on('error', () => socket.destroy());
    const refuse = (line: string): void => {
      socket.end(`HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      // Whoever does not end the connection in return would keep it half open for ever.
      socket.resume();
      const timer = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.once('close', () => clearTimeout(timer));
    };
    takeAbsoluteForm(request);
    if (hasTooManyFields(request)) return refuse('431 Request Header Fields Too Large');
    if (this.#stopping) return refuse('503 Service Unavailable');
    if (request.url !== STREAM_PATH || request.headers.upgrade !== STREAM_PROTOCOL)
      return refuse('404 Not Found');
    const complaint = this.#complaintAbout(request);
    if (complaint !== undefined) {
      const { kind, reason, line } = complaint;
      this.#onRefused(kind, reason, addressOf(request));
      return refuse(line);
    }
    this.#lobby.leave(request.socket);
    request.socket.setTimeout(0);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${STREAM_PROTOCOL}\r\n\r\n`,
    );
    (socket as Socket).setNoDelay?.(true);
    const limit = this.#options.maxRequestBytes ?? DEFAULT_MAX_REQUEST_BYTES;
    const stream = new AcceptorStream(socket, this.#acceptor, limit, () => this.#streams.delete(stream));
    this.#streams.add(stream);
  }

  /** Why this caller gets no stream. */
  #complaintAbout(request: IncomingMessage): Complaint | undefined {
    const { tls, maxStreams = MAX_STREAMS } = this.#options;
    const { socket } = request;
    if (tls?.ca !== undefined && !(socket instanceof TLSSocket && socket.authorized)) {
      const why = wrongCertificate(socket);
      return { kind: 'certificate', reason: `the certificate is not accepted: ${why}`, line: `403 ${why}` };
    }
    if (!this.#hasToken(request))
      return { kind: 'token', reason: 'the token is not the right one', line: '401 Unauthorized' };
    if (this.#streams.size < maxStreams) return undefined;
    return { kind: 'streams', reason: `${maxStreams} streams are here`, line: '503 Too Many Streams' };
  }

  #onRefused(kind: AcceptorRefusal, reason: string, from: string): void {
    this.#refused.set(kind, this.#refused.get(kind)! + 1);
    this.#options.onRefused?.(kind, reason, from);
  }

  #hasToken(request: IncomingMessage): boolean {
    const { token } = this.#options;
    if (token === undefined) return true;
    const given = request.headers.authorization ?? '';
    // Compared as digests: equal lengths, and no hint in the time it takes.
    return timingSafeEqual(digest(given), digest(`Bearer ${token}`));
  }
}

interface Complaint {
  readonly kind: AcceptorRefusal;
  readonly reason: string;
  /** The status of the answer. */
  readonly line: string;
}

/** Whoever shows no certificate, or a bad one, may still ask what is open to all, and is told what is wrong with it. */
function secured({ ca, cert, key }: AcceptorTls): object {
  return {
    cert,
    key,
    ...(ca !== undefined && { ca, requestCert: true, rejectUnauthorized: false }),
    minVersion: 'TLSv1.3',
  };
}

/** A code, such as CERT_HAS_EXPIRED. */
function wrongCertificate(socket: Socket): string {
  if (!(socket instanceof TLSSocket) || Object.keys(socket.getPeerCertificate()).length === 0)
    return NO_CERTIFICATE;
  return String(socket.authorizationError).replaceAll(/[^A-Z0-9_]/g, '');
}

function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
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
