/**
 * The HTTP side of a process: health, metrics, and what operators ask. Plain `node:http` with what a server needs that
 * anybody may talk to: bounds on headers, bodies, time and connections, errors as `{error: {code, message}}`, and a close
 * that answers what was begun and does not wait for connections that are merely kept open.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Address, RpcTls } from '../../transport/index.ts';
import { isLoopback } from '../config/values.ts';
import { admit } from './admission.ts';
import { readJson } from './body.ts';
import { HttpError } from './errors.ts';
import { type HttpAnswer, Routes, type Route } from './routes.ts';

export interface HttpServerOptions {
  readonly address: Address;
  readonly routes: readonly Route[];
  /** What whoever asks must show, unless the route is open. Asked anew for each request. */
  readonly token?: () => string | undefined;
  readonly tls?: RpcTls | undefined;
  readonly maxBodyBytes?: number;
  /** Something failed that is not the asker's fault. */
  readonly onError?: (error: unknown, path: string) => void;
  readonly onAnswer?: (status: number) => void;
}

const MAX_BODY_BYTES = 64 * 1024;
const LIMITS = {
  requestTimeout: 10_000,
  headersTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
  maxHeaderSize: 8 * 1024,
} as const;
const MAX_CONNECTIONS = 256;
const CLOSE_MS = 2000;
const LINGER_MS = 500;

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #routes: Routes;
  readonly #server: Server | TlsServer;
  #isClosing = false;

  private constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#routes = new Routes(options.routes);
    const respond = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#respond(request, response);
    };
    const { tls } = options;
    this.#server =
      tls === undefined
        ? createServer(LIMITS, respond)
        : createTlsServer({ ...LIMITS, ...secured(tls) }, respond);
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on('clientError', (_, socket) => refuseToRead(socket));
  }

  static async listen(options: HttpServerOptions): Promise<HttpServer> {
    const { host, port } = options.address;
    if (options.tls === undefined && !isLoopback(host))
      throw new HttpError(
        500,
        'HTTP_LISTEN_REFUSED',
        `Refusing HTTP on ${host}: beyond loopback it needs TLS.`,
      );
    const http = new HttpServer(options);
    const server = http.#server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) => {
        const why = error.code === 'EADDRINUSE' ? 'the port is taken' : error.message;
        reject(
          new HttpError(500, 'HTTP_LISTEN_FAILED', `Cannot listen on ${host}:${port} for HTTP: ${why}.`),
        );
      });
      server.listen(port, host, resolve);
    });
    server.removeAllListeners('error');
    server.on('error', (error) => options.onError?.(error, ''));
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

  /** Answers what was begun, a while at most. Connections that are merely kept open end with `close`. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const server = this.#server;
    const closed = new Promise((resolve) => server.close(resolve));
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy());
    const path = (request.url ?? '').split('?', 1)[0]!;
    let answer: HttpAnswer;
    try {
      answer = await this.#answer(request, path);
    } catch (error) {
      answer = this.#failure(error, path);
    }
    this.#send(request, response, answer);
  }

  async #answer(request: IncomingMessage, path: string): Promise<HttpAnswer> {
    const { token, tls, maxBodyBytes = MAX_BODY_BYTES } = this.#options;
    const { route, params } = this.#routes.find(request.method ?? '', path);
    if (route.isOpen !== true) admit(request, { token: token?.(), hasTls: tls !== undefined });
    const body = route.method === 'POST' ? await readJson(request, maxBodyBytes) : undefined;
    const query = new URLSearchParams((request.url ?? '').slice(path.length + 1));
    return route.handle({ params, query, body });
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
    const status = answer.status ?? 200;
    this.#options.onAnswer?.(status);
    if (response.destroyed) return;
    const isJson = 'json' in answer;
    const text = isJson ? `${JSON.stringify(answer.json)}\n` : answer.text;
    // What is left of a body that nobody read would be taken for the next request.
    const isLast = this.#isClosing || !request.complete;
    response.writeHead(status, {
      'content-type': isJson ? 'application/json' : answer.type,
      'content-length': Buffer.byteLength(text),
      'cache-control': 'no-store',
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
      ...(isLast && { connection: 'close' }),
    });
    response.end(request.method === 'HEAD' ? undefined : text);
  }
}

/** What is no request is told so. The rest is drained unread, or the system would take the answer back with a reset. */
function refuseToRead(socket: Duplex): void {
  socket.on('error', () => socket.destroy());
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
  socket.removeAllListeners('data');
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

/** A certificate is asked for, and who shows none may still ask what is open to all. */
function secured({ ca, cert, key }: RpcTls): object {
  return { ca, cert, key, requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.3' };
}
