/** The guard's other end: tells it what to clean up when this process is gone without having done so. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { GUARD } from './programs.ts';

export class Guard {
  readonly #child: ChildProcess;

  constructor() {
    // In a group of its own: Ctrl-C on the terminal is not for it.
    this.#child = spawn(process.execPath, [GUARD], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    this.#child.stdin!.on('error', () => {});
    this.#child.unref();
  }

  own(pid: number, started: string): void {
    this.#tell(`own ${pid} ${started}`);
  }

  gone(pid: number): void {
    this.#tell(`gone ${pid}`);
  }

  /** The directory goes with this process. */
  remove(directory: string): void {
    this.#tell(`remove ${directory}`);
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.ref();
    const exited = once(this.#child, 'exit');
    this.#child.stdin!.end();
    await exited;
  }

  #tell(line: string): void {
    this.#child.stdin!.write(`${line}\n`);
  }
}
