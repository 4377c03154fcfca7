/**
 * One request to one node. It always ends, within its time, as one of three: an answer, a refusal that the node put into
 * words, or silence. Of silence it says whether the node can have heard the request: only one that it surely has not may be
 * sent to another node as if nothing had happened.
 */
import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import type { z } from 'zod';
import { errorAnswer, healthAnswer } from './shapes.ts';

export interface Credentials {
  readonly token?: string;
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string };
}

export interface Target {
  readonly host: string;
  readonly port: number;
}

export interface NodeRequest<T> {
  readonly method?: 'GET' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  readonly shape: z.ZodType<T>;
  readonly timeoutMs: number;
}

export interface Answered<T> {
  readonly kind: 'answer';
  readonly value: T;
  readonly rttMs: number;
  /** The node's clock, by its `Date` header: whole seconds. */
  readonly date?: number;
  /** When the certificate that it showed ends. */
  readonly certificateEnds?: string;
}

export type Outcome<T> =
  | Answered<T>
  | { readonly kind: 'refusal'; readonly status: number; readonly code: string; readonly message: string }
  | { readonly kind: 'silence'; readonly mayHaveHeard: boolean; readonly reason: string };

const MOST_BYTES = 64 * 1024 * 1024;

interface Raw {
  readonly status: number;
  readonly text: string;
  readonly date: string | undefined;
  readonly certificateEnds: string | undefined;
}

export async function ask<T>(
  target: Target,
  credentials: Credentials,
  { method = 'GET', path, body, shape, timeoutMs }: NodeRequest<T>,
): Promise<Outcome<T>> {
  const startedAt = performance.now();
  const sent = { is: false };
  let raw: Raw;
  try {
    raw = await exchange(target, credentials, { method, path, body, timeoutMs, sent });
  } catch (error) {
    return { kind: 'silence', mayHaveHeard: sent.is && method === 'POST', reason: reasonOf(error) };
  }
  const rttMs = performance.now() - startedAt;
  const value = parsed(raw.text);
  if (raw.status < 200 || raw.status > 299) return refusalOf(raw.status, value);
  const read = shape.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    const field = issue?.path.join('.') ?? '';
    return { kind: 'silence', mayHaveHeard: method === 'POST', reason: `not understood (${field || path})` };
  }
  const date = Date.parse(raw.date ?? '');
  return {
    kind: 'answer',
    value: read.data,
    rttMs,
    ...(!Number.isNaN(date) && { date }),
    ...(raw.certificateEnds !== undefined && { certificateEnds: raw.certificateEnds }),
  };
}

function refusalOf(status: number, value: unknown): Outcome<never> {
  const read = errorAnswer.safeParse(value);
  if (read.success) return { kind: 'refusal', status, ...read.data.error };
  const health = healthAnswer.safeParse(value);
  const message = health.success ? health.data.reasons.join(' ') : `The answer has HTTP status ${status}.`;
  return { kind: 'refusal', status, code: `HTTP_${status}`, message };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly timeoutMs: number;
  readonly sent: { is: boolean };
}

function exchange(
  { host, port }: Target,
  { token, tls }: Credentials,
  { method, path, body, timeoutMs, sent }: Exchange,
): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = {
      accept: 'application/json',
      connection: 'close',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(payload && { 'content-type': 'application/json', 'content-length': String(payload.length) }),
    };
    const options = { host, port, method, path, headers, agent: false } as const;
    const request = tls === undefined ? overHttp(options) : overHttps({ ...options, ...tls });
    const timer = setTimeout(() => request.destroy(new Error('timed out')), timeoutMs);
    const end = (finish: () => void): void => {
      clearTimeout(timer);
      finish();
    };
    request.once('socket', (socket) => {
      const ready = tls === undefined ? 'connect' : 'secureConnect';
      socket.once(ready, () => (sent.is = true));
    });
    request.once('error', (error) => end(() => reject(error)));
    request.once('response', (response) => {
      const certificateEnds = certificateEndOf(response);
      textOf(response).then(
        (text) =>
          end(() =>
            resolve({
              status: response.statusCode ?? 0,
              text,
              date: response.headers.date,
              certificateEnds,
            }),
          ),
        (error: Error) => {
          request.destroy();
          end(() => reject(error));
        },
      );
    });
    request.end(payload);
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MOST_BYTES) throw new Error('its answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function certificateEndOf({ socket }: IncomingMessage): string | undefined {
  const { getPeerCertificate } = socket as Partial<TLSSocket>;
  if (getPeerCertificate === undefined) return undefined;
  const ends = new Date((socket as TLSSocket).getPeerCertificate().valid_to);
  return Number.isNaN(ends.getTime()) ? undefined : ends.toISOString();
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'unknown host name',
  EPROTO: 'it does not speak TLS',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it requires a certificate of the operator',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is from another authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is from another authority',
};

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code === undefined ? undefined : (REASONS[code] ?? code)) ?? message;
}
