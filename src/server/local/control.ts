/**
 * How other processes of the same person ask the one that runs the cluster: HTTP on loopback, with a token that stands in
 * `cluster.json`, which nobody else can read. Only the parent of a process may signal it without fear of hitting another
 * one with its number, and only it can start one again: so every order goes through here.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClusterState, isUp, readState } from './directory.ts';
import { LOCAL_ERRORS, LocalClusterError, type LocalErrorCode } from './errors.ts';
import { type Obeyed, type Order, ORDER } from './orders.ts';

const MOST_BYTES = 16 * 1024;
const LONGEST_MS = 60_000;

export class ControlServer {
  readonly token = randomBytes(24).toString('base64url');
  readonly #server: Server;
  readonly #obey: (order: Order) => Promise<Obeyed>;

  constructor(obey: (order: Order) => Promise<Obeyed>) {
    this.#obey = obey;
    this.#server = createServer({ requestTimeout: 5000, headersTimeout: 5000 }, (incoming, response) => {
      void this.#answer(incoming, response);
    });
  }

  async listen(): Promise<{ readonly url: string; readonly token: string }> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    const { port } = this.#server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, token: this.token };
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify(body));
    };
    try {
      if (!this.#mayAsk(incoming)) {
        reply(401, { error: { code: 'CONTROL_REFUSED', message: 'The token is missing or wrong.' } });
      } else if (incoming.method !== 'POST' || incoming.url !== '/v1/orders') {
        reply(404, { error: { code: 'CONTROL_REFUSED', message: 'Orders go to POST /v1/orders.' } });
      } else {
        const order = ORDER.safeParse(JSON.parse(await bodyOf(incoming)));
        if (order.success) reply(200, await this.#obey(order.data));
        else reply(400, { error: { code: 'CONTROL_REFUSED', message: 'That is no order.' } });
      }
    } catch (error) {
      if (error instanceof LocalClusterError)
        reply(409, { error: { code: error.code, message: error.message } });
      else reply(400, { error: { code: 'CONTROL_REFUSED', message: (error as Error).message } });
    }
  }

  #mayAsk({ headers }: IncomingMessage): boolean {
    const given = Buffer.from(headers.authorization ?? '');
    const wanted = Buffer.from(`Bearer ${this.token}`);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MOST_BYTES) throw new Error('The order is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Asks the process that runs the cluster of a directory. */
export async function sendOrder(directory: string, order: Order): Promise<Obeyed> {
  const state = await readState(directory);
  if (!isUp(state))
    throw new LocalClusterError(
      'CLUSTER_NOT_RUNNING',
      `No cluster runs in ${directory}; \`baton up\` starts one, --data names another directory.`,
    );
  const { status, body } = await post(state.control, order);
  if (status === 200) return body as Obeyed;
  const { code, message } = (body as { error: { code: string; message: string } }).error;
  throw new LocalClusterError(isKnown(code) ? code : 'CONTROL_REFUSED', message);
}

function isKnown(code: string): code is LocalErrorCode {
  return Object.hasOwn(LOCAL_ERRORS, code);
}

function post(
  { url, token }: NonNullable<ClusterState['control']>,
  order: Order,
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(
        new LocalClusterError('CONTROL_REFUSED', `The process that runs the cluster: ${error.message}.`),
      );
    const outgoing = request(`${url}/v1/orders`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(LONGEST_MS),
    });
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      const body = bodyOf(response).then((text) => JSON.parse(text) as unknown);
      body.then((value) => resolve({ status: response.statusCode ?? 0, body: value })).catch(fail);
    });
    outgoing.end(JSON.stringify(order));
  });
}
