/**
 * Writes: commits of different connections share a sync and a round to the standby, so each operation in flight has a
 * connection of its own, up to 256; beyond that they are sent ahead on those. (Of 64, 128 and 256 this was the fastest at
 * 1,024 in flight, by a margin near the noise of a busy machine.) Reads wait for nothing, so a connection (a process on the
 * server) more than there are cores only costs switches: over four of them they were three times as fast as over 64.
 * Either way every operation is a transaction of its own.
 */
import { PostgresConnection } from './postgres-connection.ts';
import type { Store, Use } from './system.ts';

const WRITERS = 256;
const READERS = 4;

const NAME = 'operation';
const UPSERT =
  'insert into documents (key, body) values ($1, $2) on conflict (key) do update set body = excluded.body';
const SELECT = 'select body from documents where key = $1';

export async function openPostgres(addresses: readonly string[], { mode, inFlight }: Use): Promise<Store> {
  const reads = mode === 'read';
  const count = Math.min(inFlight, reads ? READERS : WRITERS);
  const pool = await Pool.open(addresses[0]!, reads ? SELECT : UPSERT, count);
  return {
    put: async (key, document) => {
      await pool.execute([Buffer.from(key), document]);
    },
    get: (key) => pool.execute([Buffer.from(key)]),
    close: () => pool.close(),
  };
}

/** Connections with one prepared statement; the next operation goes where the fewest are under way. */
class Pool {
  readonly #name = Buffer.from(NAME);
  readonly #connections: readonly PostgresConnection[];

  static async open(address: string, statement: string, count: number): Promise<Pool> {
    const connections: PostgresConnection[] = [];
    for (let index = 0; index < count; index += 1) {
      const connection = await PostgresConnection.open(address);
      await connection.prepare(NAME, statement);
      connections.push(connection);
    }
    return new Pool(connections);
  }

  private constructor(connections: readonly PostgresConnection[]) {
    this.#connections = connections;
  }

  execute(parameters: readonly Buffer[]): Promise<Buffer | undefined> {
    let best = this.#connections[0]!;
    for (const connection of this.#connections) if (connection.pending < best.pending) best = connection;
    return best.execute(this.#name, parameters);
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}
