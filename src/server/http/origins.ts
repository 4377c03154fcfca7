/**
 * Which pages may ask. The page of one node talks to all nodes of its cluster, which are other origins to a browser; so each
 * node lets in the origins of the cluster's own nodes, and no other. A browser asks first (a preflight) before it sends a
 * token or JSON to another origin; that question carries no token, and is answered to pages of these origins only.
 */
import type { IncomingMessage } from 'node:http';
import type { Address } from '../../transport/index.ts';

const ONE_HOUR_S = 3600;

/** As a browser writes it: without the port that the scheme has anyway. */
export function originOf({ host, port }: Address, isSecure: boolean): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return new URL(`${isSecure ? 'https' : 'http'}://${name}:${port}`).origin;
}

/** Headers for an answer to that page; none if it is not one that may ask. Caches must tell the answers apart. */
export function originHeaders(
  { headers: { origin } }: IncomingMessage,
  allowed: ReadonlySet<string>,
): Record<string, string> {
  if (allowed.size === 0) return {};
  if (origin === undefined || !allowed.has(origin)) return { vary: 'origin' };
  return { vary: 'origin', 'access-control-allow-origin': origin };
}

/** Whether this is a browser's question on behalf of a page that may ask. */
export function isPreflight({ method, headers }: IncomingMessage, allowed: ReadonlySet<string>): boolean {
  const isAsked = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
  return isAsked && headers.origin !== undefined && allowed.has(headers.origin);
}

export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'authorization, content-type',
  'access-control-max-age': String(ONE_HOUR_S),
};
