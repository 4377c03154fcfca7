/**
 * What `baton up` prints while it starts: a line for each part of the cluster when all of it is ready, and what is still awaited. On a
 * terminal that stands in one line that changes in place; elsewhere it is a plain line every few seconds.
 */
import type { LocalEvent } from '../server/index.ts';

/** Everything that `baton up` prints for people. The status stays below the lines that are said. */
export class Screen {
  readonly #terminal: NodeJS.WriteStream | undefined;
  #status = '';

  /** Without a terminal it is silent. */
  constructor(terminal: NodeJS.WriteStream | undefined) {
    this.#terminal = terminal;
  }

  get isTerminal(): boolean {
    return this.#terminal?.isTTY === true;
  }

  say(line: string): void {
    this.#terminal?.write(`${this.#cleared}${line}\n${this.#status}`);
  }

  /** Only on a terminal; an empty text takes the line away. */
  show(status: string): void {
    if (!this.isTerminal) return;
    const { columns } = this.#terminal!;
    const before = this.#cleared;
    this.#status = status.slice(0, columns - 1);
    this.#terminal!.write(`${before}${this.#status}`);
  }

  get #cleared(): string {
    return this.#status === '' ? '' : '\r\u001B[K';
  }
}

type Part = 'acceptors' | 'nodes' | 'DNS server' | 'gateways' | 'partition-sets';

const PARTS = {
  acceptor: 'acceptors',
  node: 'nodes',
  dns: 'DNS server',
  gateway: 'gateways',
} as const satisfies Record<string, Part>;

const REMINDER_MS = 5000;

export class UpProgress {
  readonly #screen: Screen;
  readonly #counts = new Map<Part, { done: number; inAll: number }>();
  readonly #startedAt = performance.now();
  readonly #reminder: NodeJS.Timeout;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#reminder = setInterval(() => this.#remind(), REMINDER_MS);
    this.#reminder.unref();
  }

  /** All processes of a part are announced as starting before the first of them is ready. */
  tell(event: LocalEvent): void {
    if (event.type !== 'starting' && event.type !== 'ready') return;
    const part = PARTS[event.role];
    const { done = 0, inAll = 0 } = this.#counts.get(part) ?? {};
    if (event.type === 'starting') this.reach(part, done, inAll + 1);
    else this.reach(part, done + 1, inAll);
  }

  reach(part: Part, done: number, inAll: number): void {
    const before = this.#counts.get(part);
    this.#counts.set(part, { done, inAll });
    if (done === inAll && before?.done !== done) {
      const counted = `${done} of ${inAll} ${part === 'partition-sets' ? 'writable' : 'ready'}`;
      this.#screen.say(`  ${part.padEnd(15)} ${counted.padEnd(18)} ${this.#seconds} s`);
    }
    const awaited = this.#awaited();
    this.#screen.show(awaited === '' ? '' : `  ${awaited} ...`);
  }

  /** Takes the changing line away. */
  end(): void {
    clearInterval(this.#reminder);
    this.#screen.show('');
  }

  #remind(): void {
    if (!this.#screen.isTerminal && this.#awaited() !== '')
      this.#screen.say(`  waiting for ${this.#awaited()}, ${this.#seconds} s so far`);
  }

  #awaited(): string {
    return [...this.#counts]
      .filter(([, { done, inAll }]) => done < inAll)
      .map(([part, { done, inAll }]) => `${part}: ${done} of ${inAll}`)
      .join(', ');
  }

  get #seconds(): string {
    return ((performance.now() - this.#startedAt) / 1000).toFixed(1);
  }
}
