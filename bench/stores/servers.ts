/**
 * One server of each kind, for one acceptor, on the disk that `tmpdir()` is on. They are set as their makers ship them, but
 * for what an acceptor demands: the servers of the tests keep their data in memory and have small buffers, which is
 * right for tests and wrong for figures.
 */
import { statfsSync } from 'node:fs';
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from 'baton/server';
import { startAcceptors } from '../support/acceptors.ts';
import { beside, runnable } from '../support/programs.ts';
import { type Identity, NODE, postgresIdentity, Servers } from '../support/servers.ts';

/** A running server. */
export interface Place {
  /** Of the acceptor in it. */
  readonly url: string;
  /** Nothing is left of it. */
  stop(): Promise<void>;
}

const TMPFS = 0x01021994;
const AZURITE_ACCOUNT = 'batonbench';
const AZURITE_KEY = Buffer.from('a key for this machine').toString('base64');

/** Where the data of all servers is. */
export function dataPlace(): { readonly directory: string; readonly isInMemory: boolean } {
  return { directory: tmpdir(), isInMemory: statfsSync(tmpdir()).type === TMPFS };
}

/** A directory is all that an embedded store needs. */
export async function startNothing(scheme: string): Promise<Place> {
  const servers = new Servers(scheme);
  return { url: `${scheme}:${servers.directory()}`, stop: () => servers.stop() };
}

export function startService(): Promise<Place> {
  return started('acceptor', undefined, async ({ servers }) => (await startAcceptors(servers, 1))[0]!);
}

export function startPostgres(): Promise<Place> {
  return started('postgres', postgresIdentity(), async ({ servers, directory, log, port }) => {
    const program = runnable('postgres');
    const data = join(directory, 'data');
    const initial = ['-D', data, '-A', 'trust', '-U', 'postgres', '--no-locale', '-E', 'UTF8', '--no-sync'];
    await servers.run(beside(program, 'initdb'), initial, log);
    const flags = ['-D', data, '-h', '127.0.0.1', '-p', `${port}`, '-c', 'unix_socket_directories='];
    servers.start(program, flags, log, 'SIGINT');
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await servers.until('starting', log, () => answersQueries(url));
    return `${url}?table=bench`;
  });
}

export function startRedis(): Promise<Place> {
  return started('redis', undefined, async ({ servers, directory, log, port }) => {
    const where = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory];
    const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
    servers.start(runnable('redis-server'), [...where, ...durable], log);
    await servers.until('starting', log, () => accepts(port));
    return `redis://127.0.0.1:${port}?prefix=bench`;
  });
}

export function startEtcd(): Promise<Place> {
  return started('etcd', undefined, async ({ servers, directory, log, port }) => {
    const client = `http://127.0.0.1:${port}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    const flags = flagsOf({
      name: 'default',
      'data-dir': join(directory, 'data'),
      logger: 'zap',
      'log-level': 'error',
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `default=${peer}`,
    });
    servers.start(runnable('etcd'), flags, log);
    await servers.until('electing itself', log, async () => {
      const question = { method: 'POST', body: JSON.stringify({ key: 'AA==' }) };
      return (await fetch(`${client}/v3/kv/range`, question)).ok;
    });
    return `etcd://127.0.0.1:${port}?prefix=${encodeURIComponent('bench/')}`;
  });
}

export function startAzurite(): Promise<Place> {
  return started('azurite', undefined, async ({ servers, directory, log, port }) => {
    const where = flagsOf({
      blobHost: '127.0.0.1',
      blobPort: `${port}`,
      location: join(directory, 'data'),
    });
    const flags = [...where, '--silent', '--skipApiVersionCheck', '--disableTelemetry'];
    const env = { AZURITE_ACCOUNTS: `${AZURITE_ACCOUNT}:${AZURITE_KEY}` };
    servers.start({ ...NODE, env }, [runnable('azurite').path, ...flags], log);
    await servers.until('starting', log, () => accepts(port));
    const at = `:${encodeURIComponent(AZURITE_KEY)}@127.0.0.1:${port}`;
    return `azure-blob://${at}/${AZURITE_ACCOUNT}/acceptors?prefix=${encodeURIComponent('bench/')}`;
  });
}

export function startDynalite(): Promise<Place> {
  return started('dynalite', undefined, async ({ servers, directory, log, port }) => {
    const where = ['--host', '127.0.0.1', '--port', `${port}`, '--path', join(directory, 'data')];
    servers.start(NODE, [runnable('dynalite').path, ...where, '--createTableMs', '0'], log);
    await servers.until('starting', log, () => accepts(port));
    const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`);
    return `dynamodb://keyid:secret@eu-central-1/baton?endpoint=${endpoint}&prefix=bench`;
  });
}

interface Ground {
  readonly servers: Servers;
  readonly directory: string;
  readonly log: string;
  readonly port: number;
}

async function started(
  name: string,
  identity: Identity | undefined,
  start: (ground: Ground) => Promise<string>,
): Promise<Place> {
  const servers = new Servers(name, identity);
  try {
    const directory = servers.directory();
    const url = await start({ servers, directory, log: join(directory, 'log'), port: await freePort() });
    return { url, stop: () => servers.stop() };
  } catch (error) {
    await servers.stop();
    throw error;
  }
}

function flagsOf(flags: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
}

async function accepts(port: number): Promise<boolean> {
  const socket = createConnection({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}

async function answersQueries(connectionString: string): Promise<boolean> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString, ssl: false, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } finally {
    await client.end().catch(() => {});
  }
}
