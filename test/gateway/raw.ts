/** Requests as bytes on a socket, so that they may be anything, and answers as far as they came. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  /** Of the status line; 0 when the connection ended without one. */
  readonly status: number;
  readonly text: string;
  /** Whether the other side ended the connection. */
  readonly isClosed: boolean;
}

const WAIT_MS = 60_000;

/** Sends the bytes, and waits for an answer that is complete, for the end of the connection, or until the time is over. */
export function exchange(
  endpoint: string,
  bytes: string | Uint8Array,
  { waitMs = WAIT_MS, endAfter = false }: { readonly waitMs?: number; readonly endAfter?: boolean } = {},
): Promise<RawAnswer> {
  const socket = open(endpoint);
  const answer = answerOn(socket, waitMs);
  if (endAfter) socket.end(bytes);
  else socket.write(bytes);
  return answer;
}

/** Sends a piece every so often until the other side has had enough. */
export async function trickle(
  endpoint: string,
  pieces: Iterable<string>,
  everyMs: number,
  waitMs: number,
): Promise<RawAnswer> {
  const socket = open(endpoint);
  const source = pieces[Symbol.iterator]();
  const timer = setInterval(() => {
    const { value, done } = source.next();
    if (done !== true && !socket.destroyed) socket.write(value);
  }, everyMs);
  const answer = await answerOn(socket, waitMs);
  clearInterval(timer);
  return answer;
}

export function open(endpoint: string): Socket {
  const { hostname, port } = new URL(endpoint);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  return socket;
}

function answerOn(socket: Socket, waitMs: number): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = '';
    const finish = (isClosed: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0);
      resolve({ status, text, isClosed });
    };
    const timer = setTimeout(() => finish(false), waitMs);
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => {
      text += piece;
      if (isComplete(text)) finish(false);
    });
    socket.on('close', () => finish(true));
  });
}

function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const head = text.slice(0, end).toLowerCase();
  const length = /content-length: (\d+)/.exec(head)?.[1];
  if (length !== undefined) return text.length >= end + 4 + Number(length);
  return head.includes('transfer-encoding: chunked') && text.endsWith('0\r\n\r\n');
}

export function requestText(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body = '',
): string {
  const lines = Object.entries({
    host: 'localhost',
    ...(body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** In megabytes, of a process. */
export function residentOf(pid: number): number {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
