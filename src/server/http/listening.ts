/** What every HTTP server of a process does alike: it begins to listen, and it refuses what is no request. */
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Address } from '../../transport/index.ts';
import { isLoopback } from '../config/values.ts';
import { HttpError } from './errors.ts';

const LINGER_MS = 500;

/** Throws HTTP_LISTEN_REFUSED or HTTP_LISTEN_FAILED. */
export async function listenOn(server: Server, { host, port }: Address, hasTls: boolean): Promise<void> {
  if (!hasTls && !isLoopback(host))
    throw new HttpError(
      500,
      'HTTP_LISTEN_REFUSED',
      `Refusing HTTP on ${host}: beyond loopback it needs TLS.`,
    );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'the port is taken' : error.message;
      reject(new HttpError(500, 'HTTP_LISTEN_FAILED', `Cannot listen on ${host}:${port} for HTTP: ${why}.`));
    });
    server.listen(port, host, resolve);
  });
  server.removeAllListeners('error');
}

/** What is no request is told so. The rest is drained unread, or the system would take the answer back with a reset. */
export function refuseToRead(socket: Duplex, status: string, json = ''): void {
  socket.on('error', () => socket.destroy());
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const type = json === '' ? '' : 'Content-Type: application/json\r\n';
  const length = `Content-Length: ${Buffer.byteLength(json)}\r\n`;
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n${type}${length}\r\n${json}`);
  socket.removeAllListeners('data');
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
