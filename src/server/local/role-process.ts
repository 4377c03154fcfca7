/**
 * One process of the cluster over all its lives: started, killed, stopped by a signal, started again. It is in a group of its
 * own, so that Ctrl-C on the terminal reaches it only through whoever runs the cluster, and it ends when its standard input
 * does, which is when that one is gone.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalClusterError } from './errors.ts';
import type { Guard } from './guarded.ts';
import { startOf } from './identity.ts';
import { LogReader, openLog, sizeOf } from './log-file.ts';

export type Role = 'acceptor' | 'node' | 'gateway' | 'dns';
export type ProcessState = 'stopped' | 'starting' | 'running' | 'paused';

export interface RoleProcessOptions {
  readonly name: string;
  readonly role: Role;
  readonly region?: string;
  /** The program and its arguments. */
  readonly command: () => readonly string[];
  /** What it finds in its environment beside what this process has: secrets too, which others could read in its arguments. */
  readonly environment?: () => Readonly<Record<string, string>>;
  readonly log: string;
  readonly guard: Guard;
  /** It ended, and nobody had asked for that. */
  readonly onLost?: (process: RoleProcess, how: string) => void;
  readonly onChange?: () => void;
}

const READY = / is ready$/;
const READY_MS = 30_000;
const LOOK_MS = 20;

interface Life {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly started: string;
  readonly exited: Promise<string>;
  state: Exclude<ProcessState, 'stopped'>;
  /** Its end is no surprise. */
  isCondemned: boolean;
}

export class RoleProcess {
  readonly name: string;
  readonly role: Role;
  readonly region: string | undefined;
  readonly log: string;
  readonly #options: RoleProcessOptions;
  #life: Life | undefined;

  constructor(options: RoleProcessOptions) {
    this.#options = options;
    this.name = options.name;
    this.role = options.role;
    this.region = options.region;
    this.log = options.log;
  }

  get state(): ProcessState {
    return this.#life?.state ?? 'stopped';
  }

  get identity(): { readonly pid: number; readonly started: string } | undefined {
    return this.#life && { pid: this.#life.pid, started: this.#life.started };
  }

  /** Until it says that it is ready; does nothing to one that runs. */
  async start(): Promise<void> {
    if (this.#life !== undefined) return;
    const from = sizeOf(this.log);
    const life = this.#spawn();
    this.#life = life;
    await this.#ready(life, new LogReader(this.log, from > sizeOf(this.log) ? 0 : from));
    life.state = 'running';
    this.#options.onChange?.();
  }

  /** kill -9. */
  async kill(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    life.isCondemned = true;
    life.child.kill('SIGKILL');
    await life.exited;
  }

  pause(): void {
    if (this.#life?.state !== 'running') return;
    this.#life.child.kill('SIGSTOP');
    this.#life.state = 'paused';
    this.#options.onChange?.();
  }

  resume(): void {
    if (this.#life?.state !== 'paused') return;
    this.#life.child.kill('SIGCONT');
    this.#life.state = 'running';
    this.#options.onChange?.();
  }

  /** Asks it to end, and ends it when it does not; true if it did by itself. */
  async stop(withinMs: number): Promise<boolean> {
    const life = this.#life;
    if (life === undefined) return true;
    life.isCondemned = true;
    life.child.kill('SIGCONT');
    life.child.kill('SIGTERM');
    const enough = new AbortController();
    const late = sleep(withinMs, false, { signal: enough.signal }).catch(() => false);
    const ended = await Promise.race([life.exited.then(() => true), late]);
    enough.abort();
    if (!ended) await this.kill();
    return ended;
  }

  #spawn(): Life {
    const [program, ...args] = this.#options.command();
    const env = { ...process.env, ...this.#options.environment?.() };
    const output = openLog(this.log);
    try {
      const child = spawn(program!, args, { stdio: ['pipe', output, output], detached: true, env });
      return this.#observe(child);
    } finally {
      closeSync(output);
    }
  }

  #observe(child: ChildProcess): Life {
    const { guard } = this.#options;
    const exited = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
    });
    child.stdin!.on('error', () => {});
    const pid = child.pid ?? 0;
    const started = startOf(pid) ?? '';
    const life: Life = { child, pid, started, exited, state: 'starting', isCondemned: false };
    if (pid > 0) guard.own(pid, started);
    void exited.then((how) => this.#onExit(life, how));
    return life;
  }

  #onExit({ child, pid, state, isCondemned }: Life, how: string): void {
    const { guard, onChange, onLost } = this.#options;
    guard.gone(pid);
    child.stdin!.destroy();
    this.#life = undefined;
    onChange?.();
    if (!isCondemned && state !== 'starting') onLost?.(this, how);
  }

  async #ready(life: Life, log: LogReader): Promise<void> {
    const deadline = performance.now() + READY_MS;
    let last = '';
    let end: string | undefined;
    void life.exited.then((how) => (end = how));
    for (;;) {
      const over = end;
      for (const { msg, text } of log.read()) {
        if (msg !== undefined && READY.test(msg)) return;
        if (text.trim() !== '') last = text;
      }
      if (over !== undefined) {
        if (life.isCondemned) throw this.#failure('PROCESS_ENDED', 'was stopped before it was ready');
        throw this.#failure('PROCESS_ENDED', `exited (${over}) before it was ready: ${last}`);
      }
      if (performance.now() > deadline) {
        await this.kill();
        throw this.#failure(
          'PROCESS_SLOW',
          `was not ready after ${READY_MS / 1000} s; the last line of its log: ${last}`,
        );
      }
      await sleep(LOOK_MS);
    }
  }

  #failure(code: 'PROCESS_ENDED' | 'PROCESS_SLOW', what: string): LocalClusterError {
    return new LocalClusterError(code, `${this.name} ${what.trimEnd().replace(/:$/, '')} (log: ${this.log})`);
  }
}
