/**
 * A client of PostgreSQL that knows all members and takes the one that is writable, as libpq does with
 * `target_session_attrs=read-write`. When a connection breaks, or the member has become a standby, it looks again.
 */
import pg from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PeerClient } from './peer.ts';
import { within } from './waiting.ts';

const TRY_MS = 2000;
const CONNECT_MS = 1000;
const PAUSE_MS = 20;
const LOOK_AGAIN_MS = 50;
const CONNECTIONS = 8;
const TABLE = 'create table if not exists writes (id text primary key)';

export class PostgresPool implements PeerClient {
  readonly #ports: readonly number[];
  #pool: Promise<pg.Pool> | undefined;

  constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  async prepare(): Promise<void> {
    await (await this.#findPool()).query(TABLE);
  }

  async write(id: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const pool = this.#findPool();
      try {
        const insert = (await pool).query('insert into writes values ($1) on conflict do nothing', [id]);
        await within(TRY_MS, 'an insert', insert);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        this.#leave(pool);
        await sleep(PAUSE_MS);
      }
    }
  }

  async countMissing(ids: readonly string[]): Promise<number> {
    const sql =
      'select count(*) as n from unnest($1::text[]) as t(id) where id not in (select id from writes)';
    const { rows } = await (await this.#findPool()).query<{ n: string }>(sql, [ids]);
    return Number(rows[0]!.n);
  }

  async close(): Promise<void> {
    if (this.#pool !== undefined) this.#leave(this.#pool);
    await sleep(PAUSE_MS);
  }

  #findPool(): Promise<pg.Pool> {
    this.#pool ??= this.#open();
    return this.#pool;
  }

  #leave(pool: Promise<pg.Pool>): void {
    if (this.#pool !== pool) return;
    this.#pool = undefined;
    pool.then(
      (left) => left.end(),
      () => {},
    );
  }

  async #open(): Promise<pg.Pool> {
    const port = await Promise.any(this.#ports.map((one) => writable(one))).catch(async (error: unknown) => {
      await sleep(LOOK_AGAIN_MS);
      throw error;
    });
    const pool = new pg.Pool({ ...options(port), max: CONNECTIONS });
    pool.on('error', () => {});
    return pool;
  }
}

function options(port: number): pg.ClientConfig {
  return {
    host: '127.0.0.1',
    port,
    user: 'postgres',
    database: 'postgres',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: TRY_MS,
  };
}

/** The port, when who is there takes writes. */
async function writable(port: number): Promise<number> {
  const client = new pg.Client(options(port));
  client.on('error', () => {});
  try {
    await within(CONNECT_MS, 'connecting', client.connect());
    const { rows } = await client.query<{ off: boolean }>(
      "select pg_is_in_recovery() or current_setting('default_transaction_read_only')::bool as off",
    );
    if (rows[0]?.off !== false) throw new Error(`${port} is a standby`);
    return port;
  } finally {
    client.end().catch(() => {});
  }
}
