/** Acceptor processes on this machine, for the demonstration: started, killed with -9, brought back, and cleared away. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../server/local/index.ts';

const CLI = fileURLToPath(new URL('../main.js', import.meta.url));

export class LocalAcceptors {
  readonly #directory = mkdtempSync(join(tmpdir(), 'baton-demo-'));
  readonly #children: (ChildProcess | undefined)[] = [];
  /** What proposers must show: everybody on this machine reaches their ports. In no argument, which others could read. */
  readonly token = randomBytes(24).toString('base64url');
  readonly urls: string[] = [];

  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, index) => this.bringBack(index)));
  }

  /** The process id of acceptor `index`, while it runs. */
  pid(index: number): number | undefined {
    return this.#children[index]?.pid;
  }

  async kill(index: number): Promise<void> {
    const child = this.#children[index];
    if (child === undefined) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    this.#children[index] = undefined;
  }

  /** Starts acceptor `index` with the data it had, at the address it had. */
  async bringBack(index: number): Promise<void> {
    const known = this.urls[index];
    const listen = known === undefined ? `127.0.0.1:${await freePort()}` : new URL(known).host;
    const data = join(this.#directory, `acceptor-${index + 1}`);
    const args = ['acceptor', '--data', data, '--listen', listen, '--stop-with-parent'];
    const child = spawn(process.execPath, [CLI, ...args], {
      env: { ...process.env, BATON_ACCEPTOR_TOKEN: this.token },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#children[index] = child;
    this.urls[index] = await readyAt(child);
  }

  async stop(): Promise<void> {
    const running = this.#children.filter((child) => child !== undefined && child.exitCode === null);
    const exits = running.map((child) => once(child!, 'exit'));
    for (const child of running) child!.kill('SIGTERM');
    await Promise.all(exits);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

/** The URL in the log line that says that it is ready. */
async function readyAt(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout! });
  const exited = once(child, 'exit').then(() => {
    throw new Error('An acceptor process ended before it was ready.');
  });
  const [line] = (await Promise.race([once(lines, 'line'), exited])) as [string];
  exited.catch(() => undefined);
  return (JSON.parse(line) as { url: string }).url;
}
