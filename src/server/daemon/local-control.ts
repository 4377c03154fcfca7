/**
 * Whoever runs a cluster on one machine (`baton up`), as its nodes see it: an address on loopback and a token, both from the
 * environment that it started them with. The page sends its orders to a node, and the node passes them on: only the parent of
 * a process may signal it, and can start it again (`local/control.ts`).
 */
import { request as httpRequest } from 'node:http';
import { z } from 'zod';
import { HttpError } from '../http/index.ts';
import { LOAD_ORDER, ORDER } from '../local/orders.ts';
import { LOAD, LOCAL_STATE, type LocalState } from './events/schemas.ts';

const who = z.string().min(1).max(64).optional();

/** What the page may order: the orders of `baton chaos`, and the load. */
export const LOCAL_ORDER = z.union([
  z.strictObject({ ...LOAD_ORDER.shape, who }),
  z.strictObject({ ...ORDER.shape, who }),
]);
export type LocalOrder = z.infer<typeof LOCAL_ORDER>;

/** The processes that were acted upon; after an order about the load, how that is. */
export const OBEYED = z.object({ processes: z.array(z.string()).readonly(), load: LOAD.optional() });
export type LocalObeyed = z.infer<typeof OBEYED>;

export interface ControlClient {
  /** Throws an HttpError: what the other side answered, or LOCAL_AWAY. */
  readonly look: () => Promise<LocalState>;
  readonly order: (order: LocalOrder) => Promise<LocalObeyed>;
}

const LOOK_MS = 2000;
const ORDER_MS = 60_000;
const MOST_BYTES = 4 * 1024 * 1024;
const REFUSAL = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Undefined: this is no local cluster. */
export function controlIn(env: Readonly<Record<string, string | undefined>>): ControlClient | undefined {
  const { BATON_LOCAL_CONTROL: url, BATON_LOCAL_CONTROL_TOKEN: token } = env;
  if (url === undefined || url === '') return undefined;
  const ask = asker(url, token ?? '');
  return {
    look: async () => understood(LOCAL_STATE, await ask('GET', '/v1/local', LOOK_MS)),
    order: async (given) => {
      const { who: _, ...order } = given;
      return understood(OBEYED, await ask('POST', '/v1/orders', ORDER_MS, order));
    },
  };
}

function understood<T>(form: z.ZodType<T>, answer: unknown): T {
  const read = form.safeParse(answer);
  if (read.success) return read.data;
  throw away('its answer is not valid');
}

type Ask = (method: 'GET' | 'POST', path: string, withinMs: number, body?: object) => Promise<unknown>;

function asker(url: string, token: string): Ask {
  return async (method, path, withinMs, body) => {
    const { status, json } = await asked(`${url}${path}`, { method, token, withinMs, body });
    if (status === 200) return json;
    const read = REFUSAL.safeParse(json);
    if (!read.success || status === 401) throw away(`it answered with status ${status}`);
    const { code, message } = read.data.error;
    throw new HttpError(status === 400 ? 400 : 409, code, message);
  };
}

interface Asked {
  readonly method: string;
  readonly token: string;
  readonly withinMs: number;
  readonly body: object | undefined;
}

function asked(
  url: string,
  { method, token, withinMs, body }: Asked,
): Promise<{ readonly status: number; readonly json: unknown }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(away(error.message));
    const outgoing = httpRequest(url, {
      method,
      agent: false,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(withinMs),
    });
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > MOST_BYTES) outgoing.destroy(new Error('its answer is too long'));
      });
      response.on('error', fail);
      response.on('end', () => {
        try {
          const json: unknown = JSON.parse(Buffer.concat(chunks).toString());
          resolve({ status: response.statusCode ?? 0, json });
        } catch (error) {
          fail(error as Error);
        }
      });
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function away(why: string): HttpError {
  return new HttpError(503, 'LOCAL_AWAY', `The process that runs this cluster does not answer: ${why}.`);
}
