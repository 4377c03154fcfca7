/**
 * The HTTP side of a process: health, metrics, and what operators ask. Plain `node:http` with what a server needs that
 * anybody may talk to: bounds on headers, bodies, time and connections, errors as `{error: {code, message}}`, and a close
 * that answers what was begun and does not wait for connections that are merely kept open.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { ALL_FIELDS, hasTooManyFields, takeAbsoluteForm, TOO_MANY_FIELDS } from '../../protocol/index.ts';
import type { Address, RpcTls } from '../../transport/index.ts';
import { admit, demandRole, type HttpRole } from './admission.ts';
import { readJson } from './body.ts';
import { Doorway } from './doorway.ts';
import { HttpError, type HttpErrorCode } from './errors.ts';
import { listenOn, refuseToRead } from './listening.ts';
import { withDescription } from './openapi.ts';
import { isPreflight, originHeaders, PREFLIGHT_HEADERS } from './origins.ts';
import { type HttpAnswer, neededRole, Routes, type Route } from './routes.ts';
import { sinkTo } from './sink.ts';

export interface HttpServerOptions {
  readonly address: Address;
  /** `/openapi.json` describes them. */
  readonly routes: readonly Route[];
  /** What the description is called. */
  readonly title?: string;
  /** What operators must show, unless the route is open. Asked anew for each request. */
  readonly token?: () => string | undefined;
  /** What viewers must show. */
  readonly viewerToken?: () => string | undefined;
  /** Pages of these origins may ask, too. */
  readonly origins?: ReadonlySet<string>;
  readonly tls?: RpcTls | undefined;
  readonly maxBodyBytes?: number;
  /** Something failed that is not the asker's fault. */
  readonly onError?: (error: unknown, path: string) => void;
  readonly onAnswer?: (status: number) => void;
  /** A connection of somebody who had shown nothing had to go for another. */
  readonly onCrowdedOut?: (address: string) => void;
}

const MAX_BODY_BYTES = 64 * 1024;
const LIMITS = {
  requestTimeout: 10_000,
  headersTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8 * 1024,
} as const;
/** Of people who were let in, and of those who have shown nothing so far. */
const MAX_CONNECTIONS = 256;
const MAX_STRANGERS = 256;
const CLOSE_MS = 2000;
const NO_ORIGINS: ReadonlySet<string> = new Set();

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #routes: Routes;
  readonly #server: Server | TlsServer;
  /** Answers that go on. */
  readonly #streams = new Set<ServerResponse>();
  readonly #doorway: Doorway;
  #isClosing = false;

  private constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#routes = new Routes(withDescription(options.title ?? 'Baton', options.routes));
    const respond = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#respond(request, response);
    };
    const { tls } = options;
    this.#server =
      tls === undefined
        ? createServer(LIMITS, respond)
        : createTlsServer({ ...LIMITS, handshakeTimeout: LIMITS.headersTimeout, ...secured(tls) }, respond);
    this.#doorway = new Doorway(this.#server, {
      seats: MAX_CONNECTIONS,
      strangers: MAX_STRANGERS,
      onCrowdedOut: options.onCrowdedOut,
    });
    this.#server.maxHeadersCount = ALL_FIELDS;
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuseToRead(socket, ...(REFUSALS[error.code ?? ''] ?? NO_REQUEST)),
    );
  }

  static async listen(options: HttpServerOptions): Promise<HttpServer> {
    const http = new HttpServer(options);
    await listenOn(http.#server, options.address, options.tls !== undefined);
    http.#server.on('error', (error) => options.onError?.(error, ''));
    return http;
  }

  /** With the port that it got. */
  get address(): Address {
    const { port } = this.#server.address() as AddressInfo;
    return { host: this.#options.address.host, port };
  }

  /** Certificates that were read again; for connections from now on. */
  set tls(tls: RpcTls) {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(secured(tls));
  }

  /** Answers what was begun, a while at most. Connections that are merely kept open end with `close`, and so do streams. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const server = this.#server;
    for (const response of this.#streams) sinkTo(response).end();
    const closed = new Promise((resolve) => server.close(resolve));
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy());
    takeAbsoluteForm(request);
    const path = (request.url ?? '').split('?', 1)[0]!;
    let answer: HttpAnswer;
    try {
      if (hasTooManyFields(request)) throw new HttpError(431, 'HEADER_TOO_LARGE', TOO_MANY_FIELDS);
      answer = isPreflight(request, this.#origins)
        ? { status: 204, text: '', type: 'text/plain', headers: PREFLIGHT_HEADERS }
        : await this.#answer(request, path);
    } catch (error) {
      answer = this.#failure(error, path);
    }
    this.#send(request, response, answer);
  }

  get #origins(): ReadonlySet<string> {
    return this.#options.origins ?? NO_ORIGINS;
  }

  async #answer(request: IncomingMessage, path: string): Promise<HttpAnswer> {
    const { maxBodyBytes = MAX_BODY_BYTES } = this.#options;
    const { route, params } = this.#routes.find(request.method ?? '', path);
    const role = route.isOpen === true ? undefined : this.#admit(request, neededRole(route));
    const body = route.method === 'POST' ? await readJson(request, maxBodyBytes) : undefined;
    const query = new URLSearchParams((request.url ?? '').slice(path.length + 1));
    const from = request.socket.remoteAddress ?? '';
    return route.handle({ params, query, body, role, from, headers: request.headers });
  }

  #admit(request: IncomingMessage, needed: HttpRole): HttpRole {
    const { token, viewerToken, tls } = this.#options;
    const role = admit(request, {
      operator: token?.(),
      viewer: viewerToken?.(),
      hasTls: tls !== undefined,
    });
    demandRole(role, needed);
    this.#doorway.seat(request.socket);
    return role;
  }

  #failure(error: unknown, path: string): HttpAnswer {
    if (error instanceof HttpError) {
      const { status, code, message } = error;
      return { status, json: { error: { code, message } } };
    }
    this.#options.onError?.(error, path);
    return {
      status: 500,
      json: { error: { code: 'INTERNAL', message: 'This failed here; the log says why.' } },
    };
  }

  #send(request: IncomingMessage, response: ServerResponse, answer: HttpAnswer): void {
    const { status = 200 } = answer;
    this.#options.onAnswer?.(status);
    if (response.destroyed) return;
    const text =
      'stream' in answer ? undefined : 'json' in answer ? `${JSON.stringify(answer.json)}\n` : answer.text;
    // What is left of a body that nobody read would be taken for the next request.
    const isLast = this.#isClosing || !request.complete;
    response.writeHead(status, {
      'content-type': 'json' in answer ? 'application/json' : answer.type,
      ...(text !== undefined && status !== 204 && { 'content-length': Buffer.byteLength(text) }),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
      ...(isLast && { connection: 'close' }),
      ...originHeaders(request, this.#origins),
      ...answer.headers,
    });
    if (request.method === 'HEAD' || !('stream' in answer)) {
      response.end(request.method === 'HEAD' ? undefined : text);
      return;
    }
    if (this.#isClosing) return void response.end();
    response.flushHeaders();
    this.#streams.add(response);
    response.once('close', () => this.#streams.delete(response));
    answer.stream(sinkTo(response));
  }
}

const NO_REQUEST = refusal('400 Bad Request', 'BAD_REQUEST', 'This is no request.');
const REFUSALS: Readonly<Record<string, typeof NO_REQUEST>> = {
  ERR_HTTP_REQUEST_TIMEOUT: refusal(
    '408 Request Timeout',
    'REQUEST_TIMEOUT',
    'The request did not come whole in time.',
  ),
  HPE_HEADER_OVERFLOW: refusal(
    '431 Request Header Fields Too Large',
    'HEADER_TOO_LARGE',
    `The header of the request has more than ${LIMITS.maxHeaderSize} bytes.`,
  ),
};

function refusal(status: string, code: HttpErrorCode, message: string): [status: string, json: string] {
  return [status, JSON.stringify({ error: { code, message } })];
}

/** A certificate is asked for, and who shows none may still ask what is open to all. */
function secured({ ca, cert, key }: RpcTls): object {
  return { ca, cert, key, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.3' };
}
