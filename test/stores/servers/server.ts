/**
 * A real store's server as a process of the test's own, and what happens to servers: killed, stopped, paused, emptied, put
 * back from an old copy. It keeps its port and its data from one life to the next. `postgres.ts`, `redis.ts` and the others
 * beside this file say how each is started.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from 'baton/server';

/** What tests, the chaos campaign and benchmarks know of a server, whichever it is. */
export interface StoreServer {
  /** As in the URL: postgres, redis, etcd, azure-blob, dynamodb, cosmos. */
  readonly kind: string;
  /** The URL of an acceptor in this server. Different places are different acceptors. */
  urlOf(place: string): string;
  /** It is asked to end, and ends. */
  stop(): Promise<void>;
  /** It dies without a word. */
  kill(): Promise<void>;
  /** Starts again with what it has on disk, and answers when this resolves. */
  start(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Whatever was done to it, it runs and answers when this resolves. */
  heal(): Promise<void>;
  /** Its disk is swapped for an empty one; it runs again when this resolves. */
  empty(): Promise<void>;
  /** Copies its disk as it is now; the result puts that copy back. It runs again when either resolves. */
  snapshot(): Promise<() => Promise<void>>;
  /** The end: nothing is left of it. */
  close(): Promise<void>;
}

export interface ServerPlan {
  readonly kind: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Who it runs as, for servers that refuse root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  readonly port: number;
  /** Its data: copied by `snapshot`. */
  readonly data: string;
  /** Removed with the server; holds `data` or is it. */
  readonly directory: string;
  /** Puts what it needs into an empty `data` directory. */
  readonly initialise?: () => Promise<void>;
  /** Asks it something; throws as long as it does not answer. */
  readonly ask: () => Promise<void>;
  readonly urlOf: (place: string) => string;
  /** SIGTERM unless said otherwise: how it is asked to end with everything on disk. */
  readonly stopSignal?: NodeJS.Signals;
}

const START_LIMIT_MS = 120_000;

export class ServerProcess implements StoreServer {
  readonly kind: string;
  readonly #plan: ServerPlan;
  #child: ChildProcess | undefined;
  #output = '';
  #copies = 0;

  private constructor(plan: ServerPlan) {
    this.kind = plan.kind;
    this.#plan = plan;
  }

  /** Makes its data and starts it for the first time. */
  static async begin(plan: ServerPlan): Promise<ServerProcess> {
    const server = new ServerProcess(plan);
    try {
      await server.#initialise();
      await server.start();
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  urlOf(place: string): string {
    return this.#plan.urlOf(place);
  }

  get port(): number {
    return this.#plan.port;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const { command, args, env, user, directory, data } = this.#plan;
    this.#output = '';
    if (user !== undefined) await give(data, user);
    const child = spawn(command, args, {
      cwd: directory,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...user,
    });
    this.#child = child;
    const note = (text: Buffer): void => {
      this.#output = (this.#output + text.toString()).slice(-4000);
    };
    child.stdout.on('data', note);
    child.stderr.on('data', note);
    child.on('error', (error) => note(Buffer.from(error.message)));
    await this.#answers(child);
  }

  stop(): Promise<void> {
    return this.#end(this.#plan.stopSignal ?? 'SIGTERM');
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async heal(): Promise<void> {
    this.resume();
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) await this.start();
  }

  async empty(): Promise<void> {
    await this.stop();
    await rm(this.#plan.data, { recursive: true, force: true });
    await this.#initialise();
    await this.start();
  }

  async snapshot(): Promise<() => Promise<void>> {
    const { data } = this.#plan;
    this.#copies += 1;
    const copy = `${data}.copy${this.#copies}`;
    await this.stop();
    await cp(data, copy, { recursive: true, preserveTimestamps: true });
    await this.start();
    return async () => {
      await this.stop();
      await rm(data, { recursive: true, force: true });
      await cp(copy, data, { recursive: true, preserveTimestamps: true });
      await this.start();
    };
  }

  async close(): Promise<void> {
    await this.#end('SIGKILL');
    await rm(this.#plan.directory, { recursive: true, force: true });
  }

  async #initialise(): Promise<void> {
    await mkdir(this.#plan.data, { recursive: true });
    await this.#plan.initialise?.();
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (
      child === undefined ||
      child.exitCode !== null ||
      child.signalCode !== null ||
      child.pid === undefined
    )
      return;
    const exited = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    const impatient = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS);
    await exited;
    clearTimeout(impatient);
  }

  async #answers(child: ChildProcess): Promise<void> {
    const giveUpAt = Date.now() + START_LIMIT_MS;
    for (;;) {
      try {
        return await this.#plan.ask();
      } catch (error) {
        const over = child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
        if (over || Date.now() > giveUpAt)
          throw new Error(`${this.kind} does not start: ${this.#output || String(error)}`, { cause: error });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}

/** What we make and copy is ours until then. */
async function give(directory: string, user: { readonly uid: number; readonly gid: number }): Promise<void> {
  const inside = await readdir(directory, { recursive: true });
  for (const name of ['', ...inside]) await chown(join(directory, name), user.uid, user.gid);
}

export { freePort };
