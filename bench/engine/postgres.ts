/**
 * PostgreSQL: one primary and one synchronous standby, streaming; a commit is answered when both have it on disk
 * (`synchronous_commit = on`). Set up for its best here: memory for the whole table, checkpoints outside of the run, room
 * in each page for the next version of a document. The column is `json`: it is stored as it came, as in the other systems;
 * neither `jsonb` nor a `commit_delay` made a difference that stood out of the noise.
 */
import { join } from 'node:path';
import { freePort } from 'baton/server';
import { beside, lackOf, runnable } from '../support/programs.ts';
import { postgresIdentity, Servers } from '../support/servers.ts';
import { PostgresConnection } from './postgres-connection.ts';
import type { System, SystemKind } from './system.ts';

const SETTINGS = [
  'fsync=on',
  'full_page_writes=on',
  'synchronous_commit=on',
  'shared_buffers=512MB',
  'max_connections=300',
  'wal_level=replica',
  'max_wal_size=8GB',
  'checkpoint_timeout=30min',
] as const;
const TABLE = 'create table documents (key text primary key, body json not null) with (fillfactor = 50)';

export const postgres: SystemKind = {
  setting: 'a primary and a synchronous standby, json column, prepared upserts, reads from the primary',
  lacks: () => lackOf(['postgres'], postgresIdentity()),
  create: () => new Postgres(),
};

class Postgres implements System {
  readonly name = 'postgres';
  readonly #servers = new Servers('postgres', postgresIdentity());
  #port = 0;

  async start(): Promise<void> {
    const server = runnable('postgres');
    const directory = this.#servers.directory();
    const primary = join(directory, 'primary');
    const standby = join(directory, 'standby');
    const log = join(directory, 'log');
    this.#port = await freePort();
    const initial = ['-A', 'trust', '-U', 'postgres', '--no-locale', '-E', 'UTF8', '--no-sync'];
    await this.#servers.run(beside(server, 'initdb'), ['-D', primary, ...initial], log);
    const named = ['-c', 'synchronous_standby_names=standby'];
    this.#servers.start(server, [...flags(primary, directory, this.#port), ...named], log, 'SIGINT');
    await this.#servers.until('starting the primary', log, () => this.#ask('select 1', '1'));
    const source = `host=127.0.0.1 port=${this.#port} user=postgres application_name=standby`;
    await this.#servers.run(
      beside(server, 'pg_basebackup'),
      ['-D', standby, '-d', source, '-R', '-X', 'stream', '-c', 'fast'],
      log,
    );
    this.#servers.start(server, flags(standby, directory, await freePort()), log, 'SIGINT');
    const state = 'select sync_state from pg_stat_replication';
    await this.#servers.until('starting the standby', log, () => this.#ask(state, 'sync'));
    await this.#ask(TABLE);
  }

  stop(): Promise<void> {
    return this.#servers.stop();
  }

  clientArgs(): readonly string[] {
    return [`127.0.0.1:${this.#port}`];
  }

  async #ask(sql: string, expected?: string): Promise<boolean> {
    const connection = await PostgresConnection.open(this.clientArgs()[0]!);
    try {
      return (await connection.query(sql))?.toString() === expected;
    } finally {
      connection.close();
    }
  }
}

function flags(data: string, sockets: string, port: number): readonly string[] {
  const settings = SETTINGS.flatMap((setting) => ['-c', setting]);
  return ['-D', data, '-h', '127.0.0.1', '-p', `${port}`, '-k', sockets, ...settings];
}
