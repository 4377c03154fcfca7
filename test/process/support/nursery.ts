/** Where the tests' processes live: each is started here, and none is left behind, however the tests end. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** The same from the sources and from what they are compiled to. */
export const ROOT = dirname(createRequire(import.meta.url).resolve('baton/package.json'));
export const BATON = join(ROOT, 'dist/cli/main.js');

/** A script of this folder, as compiled. */
export function compiled(script: string): string {
  return join(ROOT, 'build/test/process', script);
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class Nursery {
  /** For the tests' data; it goes when the nursery closes. */
  readonly directory = mkdtempSync(join(tmpdir(), 'baton-process-'));
  readonly #children = new Set<ChildProcess>();
  readonly #guard: ChildProcess;
  #isClosed = false;

  constructor() {
    const guard = compiled('support/guard.js');
    if (!existsSync(guard) || !existsSync(BATON)) throw new Error('Not built: `npx tsc -b` first.');
    this.#guard = spawn(process.execPath, [guard], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    });
    this.#tell(`remove ${this.directory}`);
  }

  /** A Node process. Its standard input closes when this process ends. */
  spawn(script: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
    if (this.#isClosed) throw new Error(`too late to start ${script}`);
    const child = spawn(process.execPath, [script, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${script} could not be started`);
    // A process that is gone refuses what is written to it; its exit tells that already.
    child.stdin.on('error', () => {});
    this.#children.add(child);
    this.#tell(`own ${pid}`);
    child.once('exit', () => {
      this.#children.delete(child);
      this.#tell(`gone ${pid}`);
    });
    return child;
  }

  /** Processes that are still there. */
  get population(): number {
    return this.#children.size;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const exits = [...this.#children].map((child) => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      return exited;
    });
    await Promise.all(exits);
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    const exited = once(this.#guard, 'exit');
    this.#guard.stdin?.end();
    await exited;
  }

  #tell(line: string): void {
    this.#guard.stdin?.write(`${line}\n`);
  }
}
