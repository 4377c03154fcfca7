/** Which request is answered by what. A path may have parts that stand for a name: `/v1/partition-sets/:name/history`. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ZodType } from 'zod';
import type { HttpRole } from './admission.ts';
import { HttpError } from './errors.ts';
import type { HttpSink } from './sink.ts';

export interface HttpRequest {
  /** What stands where the path has `:name`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Of a POST: what its JSON says. */
  readonly body: unknown;
  /** As what whoever asks was let in. Whoever asks what is open to all may be nobody. */
  readonly role: HttpRole | undefined;
  /** The address that it came from. */
  readonly from: string;
  readonly headers: IncomingHttpHeaders;
}

interface AnswerHead {
  readonly status?: number;
  /** Over the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type HttpAnswer = AnswerHead &
  (
    | { readonly json: unknown }
    | { readonly text: string | Uint8Array; readonly type: string }
    /** Goes on until one of both sides ends it. */
    | { readonly stream: (sink: HttpSink) => void; readonly type: string }
  );

/** What is asked and answered, for the description. */
export interface RouteForms {
  readonly body?: ZodType;
  /** Of the answer with status 200, and with the other statuses that the words of the route name, when it is JSON. */
  readonly answer?: ZodType;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Answered to whoever asks: health, metrics. */
  readonly isOpen?: boolean;
  /** Without it: viewers may ask for what is got, operators alone for what is posted. */
  readonly needs?: HttpRole;
  readonly forms?: RouteForms;
  readonly handle: (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;
}

export function neededRole({ method, needs }: Pick<Route, 'method' | 'needs'>): HttpRole {
  return needs ?? (method === 'GET' ? 'viewer' : 'operator');
}

export interface Match {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export class Routes {
  readonly #routes: readonly { readonly route: Route; readonly parts: readonly string[] }[];

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((route) => ({ route, parts: route.path.split('/') }));
  }

  /** Throws NOT_FOUND or METHOD_NOT_ALLOWED. */
  find(method: string, path: string): Match {
    const given = path.split('/');
    let isKnown = false;
    for (const { route, parts } of this.#routes) {
      const params = matched(parts, given);
      if (params === undefined) continue;
      isKnown = true;
      if (route.method === method || (route.method === 'GET' && method === 'HEAD')) return { route, params };
    }
    if (isKnown) throw new HttpError(405, 'METHOD_NOT_ALLOWED', 'This path is not asked that way.');
    throw new HttpError(404, 'NOT_FOUND', 'There is nothing at this path.');
  }
}

function matched(parts: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (parts.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of parts.entries()) {
    const text = given[at]!;
    if (!part.startsWith(':')) {
      if (part !== text) return undefined;
      continue;
    }
    const name = decoded(text);
    if (name === undefined || name === '') return undefined;
    params[part.slice(1)] = name;
  }
  return params;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
