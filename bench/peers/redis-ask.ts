/** Connections to Redis and its sentinels that break when they break: whoever uses one decides what comes next. */
import { createClient } from 'redis';
import { within } from './waiting.ts';

const ASK_MS = 1000;

export type Connection = ReturnType<typeof connectionTo>;

function connectionTo(port: number) {
  const client = createClient({
    socket: { host: '127.0.0.1', port, reconnectStrategy: false, connectTimeout: ASK_MS },
    disableOfflineQueue: true,
  });
  client.on('error', () => {});
  return client;
}

export async function connect(port: number): Promise<Connection> {
  const client = connectionTo(port);
  try {
    await within(ASK_MS, 'connecting to Redis', client.connect());
    return client;
  } catch (error) {
    drop(client);
    throw error;
  }
}

/** Without waiting for what is under way on it. */
export function drop(client: Connection): void {
  try {
    client.destroy();
  } catch {
    // It was not connected any more.
  }
}

/** One question on a connection of its own. */
export async function ask(port: number, ...command: readonly string[]): Promise<unknown> {
  const client = await connect(port);
  try {
    return await within(ASK_MS, command.join(' '), client.sendCommand([...command]));
  } finally {
    drop(client);
  }
}

/** What Redis answers as a list of names and values. */
export function fieldsOf(answer: unknown): Readonly<Record<string, string>> {
  if (!Array.isArray(answer)) return { ...(answer as Record<string, string>) };
  const flat = answer as readonly string[];
  return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1]!]] : [])));
}
