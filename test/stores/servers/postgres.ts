/**
 * PostgreSQL. It is a family of processes: the server that we start has one child for each connection and some for itself, and
 * each leads a process group of its own; so whatever happens to it has to be done to all of them.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { appendFile, chmod, chown, cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { newDirectory } from '../../caspaxos/directories.ts';
import { until } from '../../support/until.ts';
import { findProgram, type FoundProgram } from '../../support/programs.ts';
import { freePort, ServerProcess, type StoreServer } from './server.ts';

const run = promisify(execFile);

export function startPostgres(): Promise<PostgresServer> {
  const program = findProgram('postgres');
  if (program.path === undefined) throw new Error(`postgres: ${program.why}`);
  return PostgresServer.begin(program);
}

export class PostgresServer implements StoreServer {
  readonly kind = 'postgres';
  readonly port: number;
  readonly #data: string;
  readonly #process: ServerProcess;

  private constructor(port: number, data: string, server: ServerProcess) {
    this.port = port;
    this.#data = data;
    this.#process = server;
  }

  static async begin(program: FoundProgram): Promise<PostgresServer> {
    const port = await freePort();
    const directory = newDirectory();
    const data = join(directory, 'data');
    const template = join(directory, 'template');
    const user = userToBe();
    const process = await ServerProcess.begin({
      kind: 'postgres',
      command: realpathSync(program.path),
      args: ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-c', 'unix_socket_directories='],
      env: program.env,
      user,
      port,
      data,
      directory,
      stopSignal: 'SIGINT',
      initialise: async () => {
        if (!existsSync(template)) await makeTemplate(program, template, user);
        await cp(template, data, { recursive: true });
        await chmod(data, 0o700);
      },
      ask: async () => void (await query(port, 'SELECT 1')),
      urlOf: (place) => `postgres://postgres@127.0.0.1:${port}/postgres?table=${encodeURIComponent(place)}`,
    });
    return new PostgresServer(port, data, process);
  }

  urlOf(place: string): string {
    return this.#process.urlOf(place);
  }

  /** As its administrator. */
  query(text: string): Promise<readonly Record<string, unknown>[]> {
    return query(this.port, text);
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  async kill(): Promise<void> {
    this.#process.pause();
    const { pid } = this.#process;
    const children = this.#children();
    signal(pid === undefined ? children : [pid, ...children], 'SIGKILL');
    await this.#process.kill();
    // No new server starts as long as one of them holds the old one's memory.
    await until('all processes of the server are gone', () => children.every(isGone));
  }

  start(): Promise<void> {
    return this.#process.start();
  }

  /** A file in its data directory. */
  async put(name: string, text: string): Promise<void> {
    const path = join(this.#data, name);
    await writeFile(path, text, { mode: 0o600 });
    const user = userToBe();
    if (user !== undefined) await chown(path, user.uid, user.gid);
  }

  async take(name: string): Promise<void> {
    await rm(join(this.#data, name));
  }

  pause(): void {
    this.#process.pause();
    signal(this.#children(), 'SIGSTOP');
  }

  resume(): void {
    signal(this.#children(), 'SIGCONT');
    this.#process.resume();
  }

  heal(): Promise<void> {
    this.resume();
    return this.#process.heal();
  }

  empty(): Promise<void> {
    this.resume();
    return this.#process.empty();
  }

  snapshot(): Promise<() => Promise<void>> {
    this.resume();
    return this.#process.snapshot();
  }

  /** It is asked to end at once: a server that is killed leaves shared memory behind, for the next one to clear away. */
  async close(): Promise<void> {
    this.resume();
    const { pid } = this.#process;
    if (pid !== undefined) {
      signal([pid], 'SIGQUIT');
      await until('the server has ended', () => isGone(pid));
    }
    await this.#process.close();
  }

  #children(): readonly number[] {
    const { pid } = this.#process;
    return pid === undefined ? [] : childrenOf(pid);
  }
}

async function query(port: number, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: 30_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(text);
    return rows;
  } finally {
    await client.end().catch(() => {});
  }
}

type User = { readonly uid: number; readonly gid: number };

/** It refuses to be root; then it is whom its package made for it, or nobody. */
function userToBe(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) };
}

/** A fresh server's data. Making it takes a second; copying it, for every life that begins empty, does not. */
async function makeTemplate(
  { path, env }: FoundProgram,
  template: string,
  user: User | undefined,
): Promise<void> {
  await mkdir(template, { mode: 0o700 });
  if (user !== undefined) {
    await chmod(dirname(template), 0o755);
    await chown(template, user.uid, user.gid);
  }
  const args = ['-D', template, '-U', 'postgres', '-A', 'scram-sha-256', '--no-locale', '-E', 'UTF8'];
  const pwfile = join(dirname(template), 'password');
  await writeFile(pwfile, 'administrator');
  await run(
    join(dirname(realpathSync(path)), 'initdb'),
    [...args, `--pwfile=${pwfile}`, '--no-sync', '--wal-segsize=1'],
    { cwd: dirname(template), env: { ...process.env, ...env }, ...user },
  );
  await dropTemplates(realpathSync(path), template, { ...process.env, ...env }, user);
  // Everybody but the administrator needs a password.
  await writeFile(
    join(template, 'pg_hba.conf'),
    'host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n',
  );
  await appendFile(
    join(template, 'postgresql.conf'),
    '\nshared_buffers = 16MB\ndynamic_shared_memory_type = mmap\n',
  );
}

/** Nobody makes databases here, and a third of the files is copied in a third of the time. */
async function dropTemplates(
  command: string,
  template: string,
  env: NodeJS.ProcessEnv,
  user: User | undefined,
): Promise<void> {
  const alone = spawn(command, ['--single', '-D', template, 'postgres'], {
    cwd: template,
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
    ...user,
  });
  const names = ['template0', 'template1'];
  const statements = names.map((name) => `DROP DATABASE ${name};\n`);
  alone.stdin.end(`UPDATE pg_database SET datistemplate = false;\n${statements.join('')}`);
  const [code] = (await once(alone, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`postgres --single ended with ${code}`);
}

function childrenOf(pid: number): readonly number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  const listed = existsSync(file)
    ? readFileSync(file, 'utf8')
    : execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .filter(([, parent]) => parent === String(pid))
        .map(([child]) => child)
        .join(' ');
  return listed.split(/\s+/).filter(Boolean).map(Number);
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended already.
    }
  }
}

/** Ended, if perhaps not yet buried. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
