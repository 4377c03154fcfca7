/**
 * The HTTP of a gateway: it takes requests, sees who signed them, reads what they carry, and sends what the handlers answer. It
 * stands in the open, so everything that a client can make large or slow has a bound: headers, bodies, the time a request
 * takes to arrive, connections, requests under way, and how long an answer may wait for its reader.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  ALL_FIELDS,
  hasTooManyFields,
  type Host,
  takeAbsoluteForm,
  TOO_MANY_FIELDS,
} from '../../protocol/index.ts';
import type { Address, RpcTls } from '../../transport/index.ts';
import { Doorway, HttpError, listenOn, readBytes, refuseToRead } from '../http/index.ts';
import { authenticate, mayWithReadOnlyKey } from './auth.ts';
import type { GatewayAnswer, GatewayRequest } from './context.ts';
import {
  badRequest,
  forbidden,
  GATEWAY_CODES,
  GatewayError,
  headerTooLarge,
  methodNotAllowed,
  tooLarge,
  tooManyRequests,
  unavailable,
} from './errors.ts';
import type { AccountKeys } from './keys.ts';
import { type Resource, resourceOf } from './resources.ts';
import { answerOf, send } from './sending.ts';

export interface GatewayLimits {
  readonly headerBytes: number;
  readonly bodyBytes: number;
  /** A request must have come whole within this. */
  readonly arrivalMs: number;
  readonly idleMs: number;
  /** Of clients that have signed a request. */
  readonly connections: number;
  /** Connections that have not, so far. When another comes, the oldest of them ends. */
  readonly strangers: number;
  readonly inFlight: number;
  /** A client that takes nothing of its answer for so long is cut off. */
  readonly stallMs: number;
  /** What a request may take, from its first byte to its answer. */
  readonly requestMs: number;
}

export const GATEWAY_LIMITS: GatewayLimits = {
  headerBytes: 32 * 1024,
  bodyBytes: 2 * 1024 * 1024 + 256 * 1024,
  arrivalMs: 10_000,
  idleMs: 60_000,
  connections: 4096,
  strangers: 1024,
  inFlight: 2048,
  stallMs: 30_000,
  requestMs: 30_000,
};

/** Told what happens, for metrics. */
export interface GatewayObserver {
  ended(resource: string, method: string, status: number, ms: number): void;
  refusedSignature(): void;
}

export interface GatewayServerOptions {
  readonly address: Address;
  readonly tls?: RpcTls | undefined;
  readonly keys: () => AccountKeys;
  /** Rejects with a GatewayError, or with anything else, which is told to the log only. */
  readonly handle: (request: GatewayRequest) => Promise<GatewayAnswer>;
  /** Why requests cannot be served now: one sentence. */
  readonly notReady?: () => string | undefined;
  readonly host: Host;
  readonly observer?: GatewayObserver;
  readonly limits?: Partial<GatewayLimits>;
  readonly onError?: (error: unknown, activityId: string) => void;
  /** A connection without a signed request had to go for another. */
  readonly onCrowdedOut?: (address: string) => void;
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
const BUSY_MS = 250;
/** A connection ends a little later than clients are told, or one might use it just then. */
const IDLE_GRACE_MS = 5000;

export class GatewayServer {
  readonly #options: GatewayServerOptions;
  readonly #limits: GatewayLimits;
  readonly #server: Server | TlsServer;
  readonly #underWay = new Set<AbortController>();
  readonly #doorway: Doorway;
  #isStopping = false;

  private constructor(options: GatewayServerOptions) {
    this.#options = options;
    this.#limits = { ...GATEWAY_LIMITS, ...options.limits };
    const { headerBytes, arrivalMs, idleMs, connections, strangers } = this.#limits;
    const bounds = {
      maxHeaderSize: headerBytes,
      headersTimeout: arrivalMs,
      requestTimeout: arrivalMs,
      keepAliveTimeout: idleMs + IDLE_GRACE_MS,
      connectionsCheckingInterval: Math.min(1000, arrivalMs),
    };
    const respond = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#respond(request, response);
    };
    const { tls } = options;
    this.#server =
      tls === undefined
        ? createServer(bounds, respond)
        : createTlsServer({ ...bounds, handshakeTimeout: arrivalMs, ...secured(tls) }, respond);
    this.#doorway = new Doorway(this.#server, {
      seats: connections,
      strangers,
      onCrowdedOut: options.onCrowdedOut,
    });
    this.#server.maxHeadersCount = ALL_FIELDS;
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuseToRead(socket, ...(REFUSALS[error.code ?? ''] ?? NO_REQUEST)),
    );
  }

  static async listen(options: GatewayServerOptions): Promise<GatewayServer> {
    const gateway = new GatewayServer(options);
    await listenOn(gateway.#server, options.address, options.tls !== undefined);
    gateway.#server.on('error', (error) => options.onError?.(error, ''));
    return gateway;
  }

  /** With the port that it got. */
  get address(): Address {
    const { port } = this.#server.address() as AddressInfo;
    return { host: this.#options.address.host, port };
  }

  get inFlight(): number {
    return this.#underWay.size;
  }

  /** Certificates that were read again; for connections from now on. */
  set tls(tls: RpcTls) {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(secured(tls));
  }

  /** Lets what is under way end, for a while; then it is cut off. */
  async close(withinMs: number): Promise<void> {
    this.#isStopping = true;
    const server = this.#server;
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeIdleConnections();
    const timer = setTimeout(() => {
      for (const request of this.#underWay) request.abort();
      server.closeAllConnections();
    }, withinMs);
    await closed;
    clearTimeout(timer);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { host, observer, onError } = this.#options;
    const begunAt = host.now();
    const activityId = activityIdOf(request);
    const running = new AbortController();
    let resource: Resource | undefined;
    let answer: GatewayAnswer;
    let isLast = false;
    response.on('error', () => response.destroy());
    response.on('close', () => {
      if (!response.writableFinished) running.abort();
    });
    try {
      // Not before the parser has seen what came with the headers: whether there is more decides how it is answered.
      await Promise.resolve();
      takeAbsoluteForm(request);
      if (hasTooManyFields(request)) throw headerTooLarge(TOO_MANY_FIELDS);
      this.#admit();
      this.#underWay.add(running);
      resource = resourceOf(request.url ?? '/');
      const isReadOnlyKey = this.#authenticated(request, resource);
      isLast = !this.#doorway.seat(request.socket);
      answer = await this.#answer(request, resource, { running, begunAt, activityId, isReadOnlyKey });
    } catch (error) {
      answer = answerOf(this.#failure(error, activityId));
    }
    try {
      const { stallMs, idleMs } = this.#limits;
      isLast ||= this.#isStopping;
      await send(request, response, answer, { activityId, isLast, stallMs, idleMs });
    } catch (error) {
      response.destroy();
      onError?.(error, activityId);
    }
    this.#underWay.delete(running);
    observer?.ended(resource?.type ?? 'none', methodOf(request), answer.status, host.now() - begunAt);
  }

  /** Before anything is read of it: whether there is room for it here at all. */
  #admit(): void {
    if (this.#underWay.size >= this.#limits.inFlight)
      throw tooManyRequests(`This gateway has ${this.#limits.inFlight} requests under way.`, BUSY_MS);
    const why = this.#options.notReady?.();
    if (why !== undefined) throw unavailable(why);
  }

  async #answer(
    request: IncomingMessage,
    resource: Resource,
    { running, begunAt, activityId, isReadOnlyKey }: Begun,
  ): Promise<GatewayAnswer> {
    const { headers } = request;
    const method = request.method ?? '';
    const body = hasBody(request) ? await this.#bodyOf(request) : NOTHING;
    return this.#options.handle({
      method: method === 'HEAD' ? 'GET' : method,
      resource,
      headers,
      body,
      signal: running.signal,
      isReadOnlyKey,
      activityId,
      timeoutMs: Math.max(1, this.#limits.requestMs - (this.#options.host.now() - begunAt)),
    });
  }

  #authenticated(request: IncomingMessage, resource: Resource): boolean {
    const { keys, host, observer } = this.#options;
    const { headers } = request;
    const method = request.method ?? '';
    if (!METHODS.has(method)) throw methodNotAllowed('Nothing here is asked that way.');
    try {
      const { isReadOnly } = authenticate({ method, resource, headers }, keys(), host.wallClock());
      if (isReadOnly && !mayWithReadOnlyKey(method, headers))
        throw forbidden('This key may only read; the request needs one that may write.');
      return isReadOnly;
    } catch (error) {
      observer?.refusedSignature();
      throw error;
    }
  }

  async #bodyOf(request: IncomingMessage): Promise<Buffer> {
    try {
      return await readBytes(request, this.#limits.bodyBytes);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      throw error.status === 413 ? tooLarge(error.message) : badRequest(error.message);
    }
  }

  #failure(error: unknown, activityId: string): GatewayError {
    if (error instanceof GatewayError) return error;
    this.#options.onError?.(error, activityId);
    return new GatewayError(500, 0, 'InternalServerError', 'This failed here; the log says why.');
  }
}

interface Begun {
  readonly running: AbortController;
  readonly begunAt: number;
  readonly activityId: string;
  readonly isReadOnlyKey: boolean;
}

const NOTHING = Buffer.alloc(0);

const NO_REQUEST = refusal(400, 'Bad Request', 'This is no request.');
const REFUSALS: Readonly<Record<string, typeof NO_REQUEST>> = {
  ERR_HTTP_REQUEST_TIMEOUT: refusal(408, 'Request Timeout', 'The request did not come whole in time.'),
  HPE_HEADER_OVERFLOW: refusal(431, 'Request Header Fields Too Large', 'The headers are too large.'),
};

/** The status and the body: clients look for a message in every one. */
function refusal(status: 400 | 408 | 431, name: string, message: string): [status: string, body: string] {
  return [`${status} ${name}`, JSON.stringify({ code: GATEWAY_CODES[status], message })];
}

function hasBody({ headers }: IncomingMessage): boolean {
  return (
    headers['transfer-encoding'] !== undefined ||
    (headers['content-length'] !== undefined && headers['content-length'] !== '0')
  );
}

/** For metrics: what a client invents must not become a label. */
function methodOf({ method = '' }: IncomingMessage): string {
  return METHODS.has(method) ? method : 'other';
}

const ACTIVITY_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The client's own if it has one, so that both logs can be read side by side. */
function activityIdOf(request: IncomingMessage): string {
  const given = request.headers['x-ms-activity-id'];
  return typeof given === 'string' && ACTIVITY_ID.test(given) ? given : randomUUID();
}

/** Clients are known by their signatures: no certificate is asked of them. */
function secured({ cert, key }: RpcTls): object {
  return { cert, key, minVersion: 'TLSv1.2' };
}
