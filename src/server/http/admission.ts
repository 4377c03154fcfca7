/**
 * Who may ask. With a token, whoever shows it. Without one but with TLS, whoever shows a certificate of the authority.
 * Without both the server is on loopback, where everybody who is on this machine may ask; but not a page in somebody's
 * browser: a page can send requests to 127.0.0.1 under a host name of its own, so only the names of this machine are taken,
 * and a body must be called JSON, which a browser does not do for a page of another origin without asking first.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { TLSSocket } from 'node:tls';
import { HttpError } from './errors.ts';

export interface AdmissionOptions {
  /** The bearer token, if one is asked for. */
  readonly token: string | undefined;
  readonly hasTls: boolean;
}

/** Throws NOT_AUTHORIZED or HOST_REFUSED. */
export function admit(request: IncomingMessage, { token, hasTls }: AdmissionOptions): void {
  if (token !== undefined) {
    if (isSame(request.headers.authorization ?? '', `Bearer ${token}`)) return;
    throw new HttpError(401, 'NOT_AUTHORIZED', 'This needs the bearer token of operators.');
  }
  if (hasTls) {
    if (request.socket instanceof TLSSocket && request.socket.authorized) return;
    throw new HttpError(401, 'NOT_AUTHORIZED', 'This needs a certificate of the authority, or a token.');
  }
  refuseForeignHost(request.headers.host);
}

function refuseForeignHost(host: string | undefined): void {
  const name = (host ?? 'localhost').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (name === 'localhost' || isIP(name) !== 0) return;
  throw new HttpError(
    403,
    'HOST_REFUSED',
    'Ask by an address of this machine, or set a token for operators.',
  );
}

/** Compared as digests: equal lengths, and no hint in the time it takes. */
export function isSame(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
