/**
 * Who may ask. A request is signed with a key of the account: an HMAC over the verb, the resource and the date, not over the
 * body. So a signature that somebody overheard can be used again, for the same verb on the same resource, until its date is
 * too far from the clock here; there is nothing in it that would tell a second use from a second request of the same second.
 * TLS keeps it from being overheard.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { forbidden, unauthorized } from './errors.ts';
import { saysItIsAQuery } from './headers.ts';
import type { AccountKeys } from './keys.ts';
import type { Resource } from './resources.ts';

/** How far the date of a request may be from the clock here. */
export const DATE_WINDOW_MS = 15 * 60_000;

const SIGNATURE_BYTES = 32;

export interface SignedRequest {
  readonly method: string;
  readonly resource: Resource;
  readonly headers: IncomingHttpHeaders;
}

/** Throws 401 if no key made the signature, 403 if its date is too far away. */
export function authenticate(
  { method, resource, headers }: SignedRequest,
  keys: AccountKeys,
  nowMs: number,
): { readonly isReadOnly: boolean } {
  const given = signatureIn(headers.authorization);
  const dates = datesIn(headers);
  const texts = [resource.link, ...resource.otherLinks].flatMap((link) =>
    dates.lines.map((lines) => `${method.toLowerCase()}\n${resource.signedType}\n${link}\n${lines}`),
  );
  for (const key of keys) {
    if (!texts.some((text) => isSignedWith(key.secret, text, given))) continue;
    if (Math.abs(dates.atMs - nowMs) > DATE_WINDOW_MS)
      throw forbidden('The date of the request is more than 15 minutes from the clock of this server.');
    return { isReadOnly: key.isReadOnly };
  }
  throw unauthorized(
    'The signature of the request is not one that a key of this account makes for this verb, resource and date.',
  );
}

function isSignedWith(secret: Uint8Array, text: string, given: Buffer): boolean {
  return timingSafeEqual(createHmac('sha256', secret).update(text).digest(), given);
}

/** The whole is sent percent-encoded, by most; some send it plain. */
function signatureIn(header: string | undefined): Buffer {
  if (header === undefined) throw unauthorized('The request has no authorization header.');
  const fields = new Map<string, string>();
  for (const part of plain(header).split('&')) {
    const at = part.indexOf('=');
    if (at > 0) fields.set(part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim());
  }
  const type = fields.get('type')?.toLowerCase();
  if (type !== undefined && type !== 'master')
    throw unauthorized('Only signatures with a key of the account are taken: type=master.');
  const version = fields.get('ver');
  if (type === undefined || (version !== '1.0' && version !== '1'))
    throw unauthorized('The authorization header must be type=master&ver=1.0&sig=..., percent-encoded.');
  const signature = Buffer.from(fields.get('sig') ?? '', 'base64');
  return signature.length === SIGNATURE_BYTES ? signature : Buffer.alloc(SIGNATURE_BYTES);
}

function plain(header: string): string {
  if (!header.includes('%')) return header;
  try {
    return decodeURIComponent(header);
  } catch {
    throw unauthorized('The authorization header is not encoded well.');
  }
}

interface Dates {
  readonly atMs: number;
  /** The end of the text that is signed, in the ways there are. */
  readonly lines: readonly string[];
}

/** `x-ms-date` counts; who cannot set it sends `date`, which some sign on the line after it. */
function datesIn(headers: IncomingHttpHeaders): Dates {
  const own = headers['x-ms-date'];
  const text = typeof own === 'string' ? own : headers.date;
  if (text === undefined) throw unauthorized('The request has no x-ms-date header.');
  const small = text.toLowerCase();
  const atMs = small.endsWith('gmt') ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw unauthorized(
      'The date of the request cannot be read; it looks like "Tue, 01 Jan 2030 00:00:00 GMT".',
    );
  return { atMs, lines: typeof own === 'string' ? [`${small}\n\n`] : [`${small}\n\n`, `\n${small}\n`] };
}

/** A read-only key may read and ask, and nothing else. */
export function mayWithReadOnlyKey(method: string, headers: IncomingHttpHeaders): boolean {
  return method === 'GET' || method === 'HEAD' || (method === 'POST' && saysItIsAQuery(headers));
}
