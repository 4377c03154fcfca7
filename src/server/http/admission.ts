/**
 * Who may ask, and what for. A viewer may look; an operator may act too. With tokens, it is who shows one of them. Without an
 * operators' token but with TLS, whoever shows a certificate of the authority is an operator. Without any of it the server is on
 * loopback, where everybody who is on this machine may act; but not a page in somebody's browser: a page can send requests to
 * 127.0.0.1 under a host name of its own, so only the names of this machine are taken, and a body must be called JSON, which a
 * browser does not do for a page of another origin without asking first.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import { HttpError } from './errors.ts';

export const HTTP_ROLES = ['viewer', 'operator'] as const;
export type HttpRole = (typeof HTTP_ROLES)[number];

export interface AdmissionOptions {
  /** The bearer tokens, as far as there are any. */
  readonly operator: string | undefined;
  readonly viewer?: string | undefined;
  readonly hasTls: boolean;
}

/** Throws NOT_AUTHORIZED or HOST_REFUSED. */
export function admit(request: IncomingMessage, { operator, viewer, hasTls }: AdmissionOptions): HttpRole {
  const shown = request.headers.authorization ?? '';
  if (operator !== undefined && isSame(shown, `Bearer ${operator}`)) return 'operator';
  if (viewer !== undefined && isSame(shown, `Bearer ${viewer}`)) return 'viewer';
  if (operator !== undefined)
    throw new HttpError(401, 'NOT_AUTHORIZED', 'A valid operator or viewer token is required.');
  if (hasTls) {
    if (request.socket instanceof TLSSocket && request.socket.authorized) return 'operator';
    throw new HttpError(
      401,
      'NOT_AUTHORIZED',
      'A client certificate of the cluster authority, or a valid token, is required.',
    );
  }
  if (viewer !== undefined) throw new HttpError(401, 'NOT_AUTHORIZED', 'A valid viewer token is required.');
  refuseForeignHost(request.headers.host);
  return 'operator';
}

/** Throws ROLE_TOO_WEAK. */
export function demandRole(role: HttpRole, needed: HttpRole): void {
  if (HTTP_ROLES.indexOf(role) >= HTTP_ROLES.indexOf(needed)) return;
  throw new HttpError(403, 'ROLE_TOO_WEAK', 'The operator token is required; the viewer token is read-only.');
}

function refuseForeignHost(host: string | undefined): void {
  const name = (host ?? 'localhost').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (name === 'localhost' || isIP(name) !== 0) return;
  throw new HttpError(
    403,
    'HOST_REFUSED',
    'Without an operator token, the request must name this machine: localhost or an IP address.',
  );
}

/** Compared as digests: equal lengths, and no hint in the time it takes. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
