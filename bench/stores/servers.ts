/**
 * One server of each kind, for one acceptor, on the disk that `tmpdir()` is on. They are set as their makers ship them, but
 * for what an acceptor demands: the servers of the tests keep their data in memory and have small buffers, which is
 * right for tests and wrong for figures.
 */
import { realpathSync, statfsSync } from 'node:fs';
import { createConnection } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from 'baton/server';
import { findProgram, type FoundProgram } from '../../test/support/programs.ts';
import { type Identity, otherThanRoot, Servers } from '../support/servers.ts';

/** A running server. */
export interface Place {
  /** Of the acceptor in it. */
  readonly url: string;
  /** Nothing is left of it. */
  stop(): Promise<void>;
}

const CLI = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
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
  return started('acceptor', undefined, async ({ servers, directory, log, port }) => {
    const data = ['--data', join(directory, 'data'), '--listen', `127.0.0.1:${port}`];
    servers.start(process.execPath, [CLI, 'acceptor', ...data], log);
    await servers.until('starting', log, () => accepts(port));
    return `http://127.0.0.1:${port}`;
  });
}

export function startPostgres(): Promise<Place> {
  const identity = otherThanRoot('/var/lib/postgresql');
  return started('postgres', identity, async ({ servers, directory, log, port }) => {
    const program = demand('postgres');
    const data = join(directory, 'data');
    const initial = ['-D', data, '-A', 'trust', '-U', 'postgres', '--no-locale', '-E', 'UTF8', '--no-sync'];
    const initdb = { ...program, path: join(dirname(realpathSync(program.path)), 'initdb') };
    await servers.run(...command(initdb, initial), log);
    const flags = ['-D', data, '-h', '127.0.0.1', '-p', `${port}`, '-c', 'unix_socket_directories='];
    servers.start(...command(program, flags), log, 'SIGINT');
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await servers.until('starting', log, () => answersQueries(url));
    return `${url}?table=bench`;
  });
}

export function startRedis(): Promise<Place> {
  return started('redis', undefined, async ({ servers, directory, log, port }) => {
    const where = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory];
    const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
    servers.start(...command(demand('redis-server'), [...where, ...durable]), log);
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
    servers.start(...command(demand('etcd'), flags), log);
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
    servers.start(...command(script(demand('azurite'), env), flags), log);
    await servers.until('starting', log, () => accepts(port));
    const at = `:${encodeURIComponent(AZURITE_KEY)}@127.0.0.1:${port}`;
    return `azure-blob://${at}/${AZURITE_ACCOUNT}/acceptors?prefix=${encodeURIComponent('bench/')}`;
  });
}

export function startDynalite(): Promise<Place> {
  return started('dynalite', undefined, async ({ servers, directory, log, port }) => {
    const where = ['--host', '127.0.0.1', '--port', `${port}`, '--path', join(directory, 'data')];
    servers.start(...command(script(demand('dynalite')), [...where, '--createTableMs', '0']), log);
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

function demand(name: string): FoundProgram {
  const program = findProgram(name);
  if (program.path === undefined) throw new Error(`${name}: ${program.why}. ${program.how}`);
  return program;
}

function flagsOf(flags: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
}

/** A program that is a file of JavaScript. */
function script(
  { name, path, env }: FoundProgram,
  more: Readonly<Record<string, string>> = {},
): FoundProgram & { readonly first: string } {
  return { name, path: process.execPath, first: path, env: { ...env, ...more } };
}

/** With its environment, which `Servers` has no word for. */
function command(
  { path, first, env }: FoundProgram & { readonly first?: string },
  args: readonly string[],
): [program: string, args: readonly string[]] {
  const all = first === undefined ? args : [first, ...args];
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return settings.length === 0 ? [path, all] : ['/usr/bin/env', [...settings, path, ...all]];
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
