/** An acceptor service as a process of its own, and what a test does to it. Restarts keep the data and the port. */
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from 'baton/server';
import { BATON, type Child, type Nursery } from './nursery.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How a kind of acceptor process is started. */
export interface AcceptorProgram {
  readonly script: string;
  readonly args: (data: string, port: number) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** `baton acceptor`, with further options. */
export function batonAcceptor(
  options: readonly string[] = [],
  env: Record<string, string> = {},
): AcceptorProgram {
  return {
    script: BATON,
    args: (data, port) => ['acceptor', '--data', data, '--listen', `127.0.0.1:${port}`, ...options],
    env,
  };
}

const READY = 'acceptor is ready';

interface Life {
  readonly child: Child;
  readonly ready: Promise<void>;
  readonly exited: Promise<Exit>;
  readonly output: string[];
  isReady: boolean;
}

export class AcceptorProcess {
  readonly name: string;
  readonly data: string;
  readonly #nursery: Nursery;
  readonly #program: AcceptorProgram;
  #url: string | undefined;
  #life: Life | undefined;

  constructor(nursery: Nursery, name: string, program: AcceptorProgram = batonAcceptor()) {
    this.#nursery = nursery;
    this.name = name;
    this.data = join(nursery.directory, name);
    this.#program = program;
  }

  static async start(nursery: Nursery, name: string, program?: AcceptorProgram): Promise<AcceptorProcess> {
    const acceptor = new AcceptorProcess(nursery, name, program);
    await acceptor.spawn();
    await acceptor.ready();
    return acceptor;
  }

  get url(): string {
    if (this.#url === undefined) throw new Error(`${this.name} was never ready`);
    return this.#url;
  }

  get pid(): number {
    return this.#running.child.pid!;
  }

  get isReady(): boolean {
    return this.#running.isReady;
  }

  /** What it printed, newest last. */
  get output(): readonly string[] {
    return this.#running.output;
  }

  /** Starts it and does not wait. */
  async spawn(): Promise<void> {
    const port = this.#url === undefined ? await freePort() : Number(new URL(this.#url).port);
    const { script, args, env } = this.#program;
    this.#life = this.#observe(this.#nursery.spawn(script, args(this.data, port), env));
  }

  /** Until it says that it is ready; throws if it ends before. */
  ready(): Promise<void> {
    return this.#running.ready;
  }

  exited(): Promise<Exit> {
    return this.#running.exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.#running.child.kill(signal);
  }

  /** kill -9. */
  async kill(): Promise<void> {
    const { child, exited } = this.#running;
    child.kill('SIGKILL');
    await exited;
  }

  /** Asks it to stop. */
  terminate(): Promise<Exit> {
    const { child, exited } = this.#running;
    child.kill('SIGTERM');
    return exited;
  }

  async restart(): Promise<void> {
    await this.spawn();
    await this.ready();
  }

  get #running(): Life {
    if (this.#life === undefined) throw new Error(`${this.name} was never started`);
    return this.#life;
  }

  #observe(child: Child): Life {
    const output: string[] = [];
    const { promise: ready, resolve, reject } = withResolvers<void>();
    const exited = new Promise<Exit>((done) => {
      // `close` comes when the output has been read to its end as well.
      child.once('close', (code, signal) => {
        reject(
          new Error(`${this.name} ended (${code ?? signal}) before it was ready:\n${output.join('\n')}`),
        );
        done({ code, signal });
      });
    });
    const life: Life = { child, ready, exited, output, isReady: false };
    // Whoever kills a process that starts does not wait for it to be ready.
    ready.catch(() => {});
    createInterface({ input: child.stderr }).on('line', (line) => output.push(line));
    createInterface({ input: child.stdout }).on('line', (line) => {
      output.push(line);
      const { msg, url } = parse(line);
      if (msg !== READY || url === undefined) return;
      this.#url = url;
      life.isReady = true;
      resolve();
    });
    return life;
  }
}

function parse(line: string): { readonly msg?: string; readonly url?: string } {
  try {
    return JSON.parse(line) as { msg?: string; url?: string };
  } catch {
    return {};
  }
}

function withResolvers<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((done, fail) => {
    resolve = done;
    reject = fail;
  });
  return { promise, resolve, reject };
}
