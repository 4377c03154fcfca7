/**
 * How the client of Cosmos DB sends its requests. Its own way of doing it would let it repeat reads whose connection broke,
 * ten times, a second apart; here a broken connection is an error that it does not know, and gives up on (rule 7).
 */
import type { CosmosClientOptions } from '@azure/cosmos';
import { type Agent, type IncomingHttpHeaders, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { StoreCalls } from './store-calls.ts';

type HttpClient = NonNullable<CosmosClientOptions['httpClient']>;
type Request = Parameters<HttpClient['sendRequest']>[0];
type Response = Awaited<ReturnType<HttpClient['sendRequest']>>;

const MOST_SOCKETS = 256;

/** The connection failed; `reason` is Node's code for it. */
export class BrokenConnection extends Error {
  override readonly name = 'BrokenConnection';
  readonly reason: string;

  constructor(error: NodeJS.ErrnoException) {
    super(error.message);
    this.reason = error.code ?? error.message;
  }
}

export class CosmosHttp implements HttpClient {
  readonly #agent: Agent;
  readonly #send: typeof httpRequest;
  #requests = 0;

  /** Without `tls` connections are plain. */
  constructor(tls: ConnectionOptions | undefined, calls: StoreCalls) {
    this.#agent = calls.agent(tls, { keepAlive: true, maxSockets: MOST_SOCKETS });
    this.#send = tls === undefined ? httpRequest : httpsRequest;
  }

  get requests(): number {
    return this.#requests;
  }

  close(): void {
    this.#agent.destroy();
  }

  sendRequest(asked: Request): Promise<Response> {
    const { url, method, headers, body, abortSignal } = asked;
    this.#requests += 1;
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException): void =>
        reject(error.name === 'AbortError' ? error : new BrokenConnection(error));
      const options = {
        method,
        headers: headers.toJSON({ preserveCase: true }),
        agent: this.#agent,
        signal: abortSignal as AbortSignal,
      };
      const request = this.#send(url, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () => {
          const status = response.statusCode ?? 0;
          // The package takes whatever is below 400 for done; a redirect did nothing.
          if (status >= 300 && status < 400) {
            fail(
              new Error(
                `it was answered with ${status}, which Cosmos DB does not do: something stands between`,
              ),
            );
            return;
          }
          resolve({
            request: asked,
            status,
            headers: new ResponseHeaders(response.headers),
            bodyAsText: Buffer.concat(chunks).toString('utf8'),
          });
        });
      });
      request.on('error', fail);
      request.end(body);
    });
  }
}

class ResponseHeaders implements Iterable<[string, string]> {
  readonly #values: Map<string, string>;

  constructor(headers: IncomingHttpHeaders) {
    const values = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
    this.#values = new Map(values);
  }

  get(name: string): string | undefined {
    return this.#values.get(name.toLowerCase());
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  set(name: string, value: string | number | boolean): void {
    this.#values.set(name.toLowerCase(), String(value));
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  toJSON(): Record<string, string> {
    return Object.fromEntries(this.#values);
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#values[Symbol.iterator]();
  }
}
