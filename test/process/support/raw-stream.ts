/** A client of the acceptor service that does not behave: it may read nothing, never close, or send what it likes. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pack } from 'msgpackr';

export async function rawConnection(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** An open stream whose greeting has been read, and nothing is read after that. */
export async function rawStream(url: string): Promise<Socket> {
  const socket = await rawConnection(url);
  socket.write(
    'GET /v1/stream HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: baton-acceptor/1\r\n\r\n',
  );
  await once(socket, 'data');
  socket.pause();
  return socket;
}

/** A call that does not exist, named so that the answer, which repeats the name, is long. */
export function callWithLongAnswer(id: number, bytes: number): Buffer {
  return frame(pack([id, 'x'.repeat(bytes), null]));
}

export function frame(payload: Uint8Array): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(payload.length);
  return Buffer.concat([header, payload]);
}
