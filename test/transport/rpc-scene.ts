/** Listeners, connections and raw sockets for tests of the transport: on loopback, and gone when their test is over. */
import { connect, type Socket } from 'node:net';
import { NODE_HOST } from 'baton/caspaxos';
import type { Host, Timer } from 'baton/protocol';
import { freePort } from 'baton/server';
import {
  type Connection,
  type ConnectionHandlers,
  dial,
  type DialOptions,
  type Identity,
  Listener,
  type ListenOptions,
  RpcError,
} from 'baton/transport';
import { onTestFinished } from 'vitest';

/** The tests of the transport get it from here: its room lies above theirs. */
export { NODE_HOST };

export function identity(node: string, more: Partial<Identity> = {}): Identity {
  return { role: 'node', cluster: 'test', node, region: `region-of-${node}`, incarnation: 1, ...more };
}

/** The real host, which knows what timers are set. */
export class CountingHost implements Host {
  readonly timers = new Set<Timer>();
  readonly now = () => NODE_HOST.now();
  readonly wallClock = () => NODE_HOST.wallClock();
  readonly soon = (run: () => void) => NODE_HOST.soon(run);
  readonly random = () => NODE_HOST.random();
  readonly randomInteger = (bound: number) => NODE_HOST.randomInteger(bound);
  readonly randomId = () => NODE_HOST.randomId();

  after(ms: number, run: () => void): Timer {
    const timer = NODE_HOST.after(ms, () => {
      this.timers.delete(timer);
      run();
    });
    this.timers.add(timer);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    if (timer !== undefined) this.timers.delete(timer);
    NODE_HOST.cancel(timer);
  }
}

export interface ListenScene {
  readonly listener: Listener;
  /** The listener's ends, in the order in which they were welcomed. */
  readonly accepted: Connection[];
  readonly refused: RpcError[];
}

export async function listen(
  handlers: ConnectionHandlers | ((connection: Connection) => ConnectionHandlers) = {},
  options: Partial<ListenOptions> = {},
): Promise<ListenScene> {
  const accepted: Connection[] = [];
  const refused: RpcError[] = [];
  const listener = await Listener.listen({
    host: NODE_HOST,
    address: { host: '127.0.0.1', port: await freePort() },
    self: identity('server'),
    onConnection: (connection) => {
      accepted.push(connection);
      return typeof handlers === 'function' ? handlers(connection) : handlers;
    },
    onRefused: (error) => refused.push(error),
    ...options,
  });
  onTestFinished(async () => {
    for (const connection of accepted) connection.destroy();
    await listener.close();
  });
  return { listener, accepted, refused };
}

export async function dialTo(
  { listener }: ListenScene,
  handlers: ConnectionHandlers = {},
  options: Partial<DialOptions> = {},
): Promise<Connection> {
  const connection = await dial({
    host: NODE_HOST,
    address: listener.address,
    self: identity('dialler'),
    handlers: () => handlers,
    ...options,
  });
  onTestFinished(() => connection.destroy());
  return connection;
}

/** Both ends of a new connection. */
export async function pair(
  handlers: { readonly server?: ConnectionHandlers; readonly client?: ConnectionHandlers } = {},
  limits: { readonly server?: ListenOptions['limits']; readonly client?: DialOptions['limits'] } = {},
): Promise<{ client: Connection; server: Connection }> {
  const scene = await listen(handlers.server, { limits: limits.server });
  const client = await dialTo(scene, handlers.client, { limits: limits.client });
  return { client, server: scene.accepted[0]! };
}

/** A socket that speaks no protocol: what it has got so far is in `received`. */
export class RawSocket {
  readonly socket: Socket;
  received = Buffer.alloc(0);
  readonly closed: Promise<void>;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.received = Buffer.concat([this.received, chunk]);
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => resolve());
    });
    onTestFinished(() => {
      socket.destroy();
    });
  }

  static async connect({ listener }: ListenScene): Promise<RawSocket> {
    const socket = connect(listener.address);
    await new Promise((resolve) => {
      socket.once('connect', resolve);
    });
    return new RawSocket(socket);
  }
}

export async function rpcErrorOf(promise: Promise<unknown>): Promise<RpcError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}
