/**
 * Real servers that a benchmark starts: with their output in a log file, data in temporary directories, under another user
 * where they refuse root, and never left behind. On Linux the kernel ends them with us (setpriv's --pdeathsig), even when we
 * are killed; PostgreSQL would otherwise go on as an orphan.
 */
import { type ChildProcess, spawn, type SpawnOptions, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const READY_SECONDS = 30;
const STOP_SECONDS = 10;
const NOBODY = 65_534;
const POSTGRES_HOME = '/var/lib/postgresql';

/** A program to start, with what is to be added to its environment. */
export interface Startable {
  readonly path: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** This Node. */
export const NODE: Startable = { path: process.execPath };

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses root: then it runs as the user of its package if there is one, otherwise as nobody. Undefined: as we are. */
export function postgresIdentity(): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  if (!existsSync(POSTGRES_HOME)) return { uid: NOBODY, gid: NOBODY };
  const { uid, gid } = statSync(POSTGRES_HOME);
  return uid === 0 ? { uid: NOBODY, gid: NOBODY } : { uid, gid };
}

export class Servers {
  readonly #name: string;
  readonly #identity: Identity | undefined;
  readonly #running = new Map<ChildProcess, NodeJS.Signals>();
  readonly #directories: string[] = [];
  readonly #killAll = (): void => {
    for (const child of this.#running.keys()) child.kill('SIGKILL');
    this.#removeDirectories();
  };

  constructor(name: string, identity?: Identity) {
    this.#name = name;
    this.#identity = identity;
    process.once('exit', this.#killAll);
  }

  directory(): string {
    const directory = mkdtempSync(join(tmpdir(), `baton-bench-${this.#name}-`));
    this.#directories.push(directory);
    if (this.#identity !== undefined) chownSync(directory, this.#identity.uid, this.#identity.gid);
    return directory;
  }

  /** `stopSignal` is the one by which it ends at once and in order. */
  start(
    program: Startable,
    args: readonly string[],
    log: string,
    stopSignal: NodeJS.Signals = 'SIGTERM',
  ): ChildProcess {
    const child = this.#spawn(program, args, log);
    this.#running.set(child, stopSignal);
    child.once('exit', () => this.#running.delete(child));
    return child;
  }

  async run(program: Startable, args: readonly string[], log: string): Promise<void> {
    const child = this.#spawn(program, args, log);
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`${program.path} failed with ${code}: ${tail(log)}`);
  }

  /** Asks until it is so; fails with the log's last lines when that takes too long. */
  async until(what: string, log: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + READY_SECONDS * 1000;
    while (!(await isSo().catch(() => false))) {
      if (performance.now() > deadline)
        throw new Error(`${this.#name}: ${what} took over ${READY_SECONDS} s: ${tail(log)}`);
      await sleep(50);
    }
  }

  async stop(): Promise<void> {
    const children = [...this.#running.keys()];
    const exits = Promise.all(children.map((child) => once(child, 'exit')));
    for (const [child, signal] of this.#running) child.kill(signal);
    const patience = new AbortController();
    const overdue = sleep(STOP_SECONDS * 1000, undefined, { signal: patience.signal }).then(
      () => children.forEach((child) => child.kill('SIGKILL')),
      () => {},
    );
    await exits;
    patience.abort();
    await overdue;
    this.#removeDirectories();
    process.removeListener('exit', this.#killAll);
  }

  #spawn({ path, env }: Startable, args: readonly string[], log: string): ChildProcess {
    const output = openSync(log, 'a');
    const identity = this.#identity;
    const options: SpawnOptions = {
      stdio: ['ignore', output, output],
      cwd: tmpdir(),
      env: { ...process.env, ...env },
    };
    try {
      if (!hasSetpriv()) return spawn(path, args, { ...options, ...identity });
      const as =
        identity === undefined
          ? []
          : ['--reuid', `${identity.uid}`, '--regid', `${identity.gid}`, '--clear-groups'];
      return spawn('setpriv', [...as, '--pdeathsig', 'KILL', path, ...args], options);
    } finally {
      closeSync(output);
    }
  }

  #removeDirectories(): void {
    for (const directory of this.#directories.splice(0)) rmSync(directory, { recursive: true, force: true });
  }
}

let setpriv: boolean | undefined;

/** A program of util-linux. */
function hasSetpriv(): boolean {
  setpriv ??= process.platform === 'linux' && spawnSync('setpriv', ['--version']).status === 0;
  return setpriv;
}

function tail(log: string): string {
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n') : 'no log';
}
