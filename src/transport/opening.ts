/** A socket before it is a connection: waits for the first frame, for a while, and takes no large one. */
import type { Socket } from 'node:net';
import type { Host } from '../protocol/index.ts';
import { RpcError } from './errors.ts';
import { FrameReader, LENGTH_BYTES, putU32 } from './frames.ts';
import { MAX_HANDSHAKE_BYTES } from './handshake.ts';

export interface Opening {
  readonly socket: Socket;
  readonly reader: FrameReader;
  /** Waits no more, because the first frame is there and was found good, or because this has failed. */
  settle(): void;
}

export interface OpeningHandlers {
  readonly onFirstFrame: (opening: Opening, bytes: Buffer) => void;
  readonly onFailed: (opening: Opening, error: RpcError) => void;
}

export function openSocket(
  socket: Socket,
  host: Host,
  timeoutMs: number,
  { onFirstFrame, onFailed }: OpeningHandlers,
): Opening {
  let isSettled = false;
  const fail = (error: RpcError): void => {
    if (isSettled) return;
    opening.settle();
    reader.stop();
    onFailed(opening, error);
  };
  const reader = new FrameReader(MAX_HANDSHAKE_BYTES, {
    onFrame: (bytes, start, end) => onFirstFrame(opening, bytes.subarray(start, end)),
    onBroken: (error) => fail(asHandshakeError(error)),
  });
  const onClose = (): void => fail(new RpcError('UNREACHABLE', 'The other side ended the connection.'));
  const onError = ({ message }: Error): void =>
    fail(new RpcError('UNREACHABLE', `No connection: ${message}.`));
  const timer = host.after(timeoutMs, () => {
    fail(new RpcError('HANDSHAKE_TIMED_OUT', `The handshake took longer than ${timeoutMs} ms.`));
  });
  const opening: Opening = {
    socket,
    reader,
    settle: () => {
      isSettled = true;
      host.cancel(timer);
      socket.off('close', onClose);
    },
  };
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  socket.on('close', onClose);
  // Stays: a socket whose errors nobody hears stops the process.
  socket.on('error', onError);
  return opening;
}

/** The handshake is written around the writer of the connection, which does not exist yet. */
export function writeFirstFrame(socket: Socket, payload: Buffer): void {
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  putU32(length, 0, payload.length);
  socket.write(Buffer.concat([length, payload]));
}

function asHandshakeError(error: unknown): RpcError {
  if (!(error instanceof RpcError)) throw error;
  if (error.code !== 'FRAME_TOO_LARGE') return error;
  return new RpcError(
    'HANDSHAKE_INVALID',
    'The handshake cannot be read: it is too long, or of another protocol.',
  );
}
