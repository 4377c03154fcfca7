/**
 * How other processes of the same person ask the one that runs the cluster: HTTP on loopback, with a token that stands in
 * `cluster.json`, which nobody else can read. Only the parent of a process may signal it without fear of hitting another
 * one with its number, and only it can start one again: so every order goes through here.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ALL_FIELDS, hasTooManyFields, takeAbsoluteForm, TOO_MANY_FIELDS } from '../../protocol/index.ts';
import { Doorway } from '../http/index.ts';
import { type ClusterState, isUp, readState } from './directory.ts';
import { LOCAL_ERRORS, LocalClusterError, type LocalErrorCode } from './errors.ts';
import type { LoadState } from './load-figures.ts';
import { ANY_ORDER, type AnyOrder, MOST_PER_SECOND, type Obeyed } from './orders.ts';
import type { ProcessState, Role } from './role-process.ts';

const MOST_BYTES = 16 * 1024;
const LONGEST_MS = 60_000;
/** Connections of those who have not shown the token, and of those who have. */
const MOST_STRANGERS = 64;
const MOST_SEATS = 64;
const NO_ORDER = `The order is not valid; a load has at most ${MOST_PER_SECOND} writes per second.`;

/** What the page shows of a local cluster: `GET /v1/local`. */
export interface LocalState {
  readonly processes: readonly {
    readonly name: string;
    readonly role: Role;
    readonly region?: string;
    readonly state: ProcessState;
  }[];
  readonly load: LoadState;
  /** Links can be cut: every region has a network of its own. */
  readonly canCut: boolean;
}

/** Whoever runs the cluster. */
export interface Controlled {
  readonly obey: (order: AnyOrder) => Promise<Obeyed>;
  readonly state: () => LocalState;
}

export class ControlServer {
  readonly token = randomBytes(24).toString('base64url');
  readonly #server: Server;
  readonly #doorway: Doorway;
  readonly #cluster: Controlled;

  constructor(cluster: Controlled) {
    this.#cluster = cluster;
    this.#server = createServer({ requestTimeout: 5000, headersTimeout: 5000 }, (incoming, response) => {
      void this.#answer(incoming, response);
    });
    this.#server.maxHeadersCount = ALL_FIELDS;
    this.#doorway = new Doorway(this.#server, { strangers: MOST_STRANGERS, seats: MOST_SEATS });
  }

  /** Beyond loopback only where the nodes are in networks of their own, on this machine. */
  async listen(host: string = '127.0.0.1'): Promise<{ readonly url: string; readonly token: string }> {
    await once(this.#server.listen(0, host), 'listening');
    const { port } = this.#server.address() as AddressInfo;
    return { url: `http://${host}:${port}`, token: this.token };
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
    takeAbsoluteForm(incoming);
    try {
      if (hasTooManyFields(incoming)) {
        reply(431, { error: { code: 'CONTROL_REFUSED', message: TOO_MANY_FIELDS } });
        return;
      }
      if (!this.#mayAsk(incoming)) {
        reply(401, { error: { code: 'CONTROL_REFUSED', message: 'The token is missing or wrong.' } });
        return;
      }
      this.#doorway.seat(incoming.socket);
      if (incoming.method === 'GET' && incoming.url === '/v1/local') {
        reply(200, this.#cluster.state());
      } else if (incoming.method === 'POST' && incoming.url === '/v1/orders') {
        const order = ANY_ORDER.safeParse(JSON.parse(await bodyOf(incoming)));
        if (order.success) reply(200, await this.#cluster.obey(order.data));
        else reply(400, { error: { code: 'CONTROL_REFUSED', message: NO_ORDER } });
      } else {
        const message = 'Orders go to POST /v1/orders, questions to GET /v1/local.';
        reply(404, { error: { code: 'CONTROL_REFUSED', message } });
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
export async function sendOrder(directory: string, order: AnyOrder): Promise<Obeyed> {
  const state = await readState(directory);
  if (!isUp(state))
    throw new LocalClusterError(
      'CLUSTER_NOT_RUNNING',
      `No cluster is running in ${directory}; start one with \`baton up\`, or name another directory with --data.`,
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
  order: AnyOrder,
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(
        new LocalClusterError(
          'CONTROL_REFUSED',
          `The process that runs the cluster does not answer: ${error.message}.`,
        ),
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
