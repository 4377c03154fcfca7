/**
 * The processes of one system, by name. Each can be killed together with all that it has started, and started again with the
 * same data. Nothing outlives the benchmark: what a server detaches from itself is named by its `pidFile`, and a small shell
 * script, which waits for the end of this process, cleans up even when this process was killed. Linux only: /proc tells who
 * belongs to whom.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Lack, lackOf } from '../support/programs.ts';
import { type Identity, Servers, type Startable } from '../support/servers.ts';
import { until } from './waiting.ts';

const GONE_MS = 10_000;

export interface Resident {
  readonly name: string;
  readonly program: Startable;
  readonly args: readonly string[];
  /** Its first line is the number of a process that is no child of it and works in the folder of this file. */
  readonly pidFile?: string;
}

/** What is lacking here to run these programs in a household. */
export function lackOfHousehold(names: readonly string[], identity?: Identity): Lack | undefined {
  if (process.platform === 'linux') return lackOf(names, identity);
  return { why: 'it runs on Linux only', how: 'run the benchmark on Linux' };
}

export class Household {
  readonly directory: string;
  readonly #servers: Servers;
  readonly #residents = new Map<string, Resident>();
  readonly #running = new Map<string, ChildProcess>();
  readonly #watchdog: ChildProcess;

  readonly #killAll = (): void =>
    killNow(familyOf([...this.#residents.keys()].flatMap((one) => this.#roots(one))));

  constructor(name: string, identity?: Identity) {
    // Before the servers' own: directories are removed when nobody writes to them any more.
    process.once('exit', this.#killAll);
    this.#servers = new Servers(`peers-${name}`, identity);
    this.directory = this.#servers.directory();
    this.#watchdog = watch(this.directory);
  }

  logOf(name: string): string {
    return join(this.directory, `${name}.log`);
  }

  start(resident: Resident): void {
    this.#residents.set(resident.name, resident);
    this.#launch(resident);
  }

  startMissing(except: readonly string[]): void {
    for (const resident of this.#residents.values()) {
      const isWanted = !except.includes(resident.name);
      if (isWanted && !this.#running.has(resident.name)) this.#launch(resident);
    }
  }

  /** All at once, with kill -9; resolves when they are gone. */
  async kill(names: readonly string[]): Promise<void> {
    const pids = familyOf(names.flatMap((name) => this.#roots(name)));
    killNow(pids);
    const gone = (): boolean => names.every((name) => !this.#running.has(name)) && !pids.some(isAlive);
    await until(`the end of ${names.join(', ')}`, GONE_MS, () => Promise.resolve(gone()));
  }

  async stop(): Promise<void> {
    await this.kill([...this.#residents.keys()]);
    await this.#servers.stop();
    this.#watchdog.kill('SIGKILL');
    process.removeListener('exit', this.#killAll);
  }

  #launch(resident: Resident): void {
    const { name, program, args } = resident;
    const child = this.#servers.start(program, args, this.logOf(name));
    this.#running.set(name, child);
    child.once('exit', () => this.#running.delete(name));
  }

  #roots(name: string): readonly number[] {
    const pid = this.#running.get(name)?.pid;
    const { pidFile } = this.#residents.get(name)!;
    const other = pidFile === undefined ? undefined : processIn(pidFile);
    return [pid, other].filter((number) => number !== undefined);
  }
}

/** These processes and all that descend from them, by Linux's /proc. */
function familyOf(roots: readonly number[]): readonly number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc')) {
    const parent = /^\d+$/.test(entry) ? statOf(Number(entry))?.parent : undefined;
    if (parent === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const family = new Set<number>();
  const add = (pid: number): void => {
    if (family.has(pid)) return;
    family.add(pid);
    for (const child of children.get(pid) ?? []) add(child);
  };
  for (const pid of roots) if (isAlive(pid)) add(pid);
  return [...family];
}

function isAlive(pid: number): boolean {
  const state = statOf(pid)?.state;
  return state !== undefined && state !== 'Z' && state !== 'X';
}

function statOf(pid: number): { readonly state: string; readonly parent: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent) };
  } catch {
    return undefined;
  }
}

function killNow(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended by itself, because of another.
    }
  }
}

/** Nothing when the file is left over from a process that is gone: its number may be somebody else's by now. */
function processIn(pidFile: string): number | undefined {
  try {
    const number = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
    return readlinkSync(`/proc/${number}/cwd`) === realpathSync(dirname(pidFile)) ? number : undefined;
  } catch {
    return undefined;
  }
}

/** Once this process is gone: kills whoever works below the directory, and removes it. */
function watch(directory: string): ChildProcess {
  const script = [
    'while kill -0 "$1" 2>/dev/null; do sleep 1; done',
    'for one in /proc/[0-9]*; do',
    '  case "$(readlink "$one/cwd" 2>/dev/null)" in "$2"/*) kill -9 "${one#/proc/}" ;; esac',
    'done',
    'sleep 1; rm -rf "$2"',
  ].join('\n');
  const args = ['-c', script, 'sh', `${process.pid}`, realpathSync(directory)];
  const child = spawn('sh', args, { stdio: 'ignore', detached: true });
  child.unref();
  return child;
}
