/** Making a connection: TCP or TLS, then the handshake, within one deadline for all of it. */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Host } from '../protocol/index.ts';
import { Connection, type ConnectionHandlers } from './connection.ts';
import { RpcError } from './errors.ts';
import { encodeHello, type Identity, parseReply, type Welcome } from './handshake.ts';
import { type ConnectionLimits, DEFAULT_LIMITS } from './limits.ts';
import { openSocket, type Opening, writeFirstFrame } from './opening.ts';
import type { RpcTls } from './tls.ts';
import { OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION } from './wire.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface DialOptions {
  readonly host: Host;
  readonly address: Address;
  readonly self: Identity;
  readonly token?: string | undefined;
  readonly tls?: RpcTls | undefined;
  readonly limits?: Partial<ConnectionLimits> | undefined;
  /** The node that must answer. */
  readonly expectNode?: string | undefined;
  /** See `Hello.link`. */
  readonly link?: { readonly name: string; readonly epoch: number } | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before anything of the other side is read. */
  readonly handlers?: ((connection: Connection) => ConnectionHandlers) | undefined;
}

/** Rejects with an RpcError: UNREACHABLE, HANDSHAKE_TIMED_OUT, ABORTED, or the code with which it was refused. */
export function dial(options: DialOptions): Promise<Connection> {
  const { host, signal } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(aborted());
      return;
    }
    const socket = openRaw(options);
    const fail = (opening: Opening, error: RpcError): void => {
      opening.settle();
      signal?.removeEventListener('abort', onAbort);
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(opening, aborted());
    const opening = openSocket(socket, host, limits.handshakeTimeoutMs, {
      onFailed: (_, error) => fail(opening, at(options, error)),
      onFirstFrame: (_, bytes) => {
        const welcome = parseWelcome(bytes, options);
        opening.settle();
        signal?.removeEventListener('abort', onAbort);
        const { reader } = opening;
        const connection = new Connection({
          socket,
          reader,
          host,
          limits,
          version: welcome.version,
          peer: welcome,
        });
        resolve(connection);
        connection.handle(options.handlers?.(connection) ?? {});
      },
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    socket.once(options.tls === undefined ? 'connect' : 'secureConnect', () => {
      writeFirstFrame(socket, hello(options, limits));
    });
  });
}

function openRaw({ address, tls }: DialOptions): Socket {
  const socket =
    tls === undefined
      ? connect({ ...address, noDelay: true })
      : connectTls({
          ...address,
          ...(tls.ca !== undefined && { ca: tls.ca }),
          ...(tls.cert !== undefined && { cert: tls.cert }),
          ...(tls.key !== undefined && { key: tls.key }),
          ...servername(address, tls),
          minVersion: 'TLSv1.3',
        });
  socket.setNoDelay(true);
  return socket;
}

function servername(address: Address, { servername: name }: RpcTls): { servername?: string } {
  if (name !== undefined) return { servername: name };
  return isIP(address.host) === 0 ? { servername: address.host } : {};
}

function hello({ self, token, link }: DialOptions, limits: ConnectionLimits): Buffer {
  return encodeHello({
    ...self,
    versions: { oldest: OLDEST_PROTOCOL_VERSION, newest: PROTOCOL_VERSION },
    maxFrameBytes: limits.maxFrameBytes,
    maxRequests: limits.maxRequests,
    link: link?.name ?? '',
    epoch: link?.epoch ?? 0,
    token: token ?? '',
  });
}

function parseWelcome(bytes: Buffer, { self, expectNode }: DialOptions): Welcome {
  const reply = parseReply(bytes);
  if ('error' in reply) throw reply.error;
  if (reply.version < OLDEST_PROTOCOL_VERSION || reply.version > PROTOCOL_VERSION)
    throw new RpcError('VERSION_UNSUPPORTED', `It chose version ${reply.version} of the protocol.`);
  if (reply.cluster !== self.cluster)
    throw new RpcError('CLUSTER_DIFFERENT', `It belongs to cluster ${reply.cluster}, not ${self.cluster}.`);
  if (expectNode !== undefined && reply.node !== expectNode)
    throw new RpcError('NODE_DIFFERENT', `It is node ${reply.node}, not ${expectNode}.`);
  return reply;
}

function at({ address }: DialOptions, error: RpcError): RpcError {
  const { retryAfterMs } = error;
  return new RpcError(error.code, `${address.host}:${address.port}: ${error.message}`, {
    retryAfterMs,
    cause: error,
  });
}

function aborted(): RpcError {
  return new RpcError('ABORTED', 'The caller gave up the connection.');
}
