/**
 * A client that writes a document every 20 ms, whatever becomes of the ones before, and remembers what it was told. The gap is
 * the longest time in which nothing was acknowledged.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Container } from 'baton/client';

const EVERY_MS = 20;
const TIMEOUT_MS = 30_000;

export class SteadyWriter {
  readonly #container: Container;
  /** Documents of one partition-set. */
  readonly #ids: () => string;
  readonly acknowledged = new Map<string, number>();
  readonly failed: string[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #times: number[] = [];
  #isRunning = false;
  #number = 0;
  #loop: Promise<void> = Promise.resolve();

  constructor(container: Container, ids: () => string) {
    this.#container = container;
    this.#ids = ids;
  }

  start(): void {
    this.#isRunning = true;
    this.#loop = this.#run();
  }

  /** Waits for those under way. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#loop;
    await Promise.all(this.#underWay);
  }

  /** Until something has been acknowledged again that was sent after now. */
  async untilWritten(): Promise<void> {
    const from = this.#number;
    while (![...this.acknowledged.values()].some((number) => number > from)) await sleep(EVERY_MS);
  }

  /** The longest time without an acknowledgement, in milliseconds. */
  get gapMs(): number {
    const times = this.#times.toSorted((a, b) => a - b);
    return Math.max(0, ...times.slice(1).map((time, at) => time - times[at]!));
  }

  async #run(): Promise<void> {
    const startedAt = performance.now();
    let turn = 0;
    while (this.#isRunning) {
      turn += 1;
      const write = this.#write();
      this.#underWay.add(write);
      void write.finally(() => this.#underWay.delete(write));
      await sleep(Math.max(0, startedAt + turn * EVERY_MS - performance.now()));
    }
  }

  async #write(): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    const id = this.#ids();
    try {
      await this.#container.create({ id, number }, { timeoutMs: TIMEOUT_MS });
      this.#times.push(performance.now());
      this.acknowledged.set(id, number);
    } catch (error) {
      this.failed.push(`${id}: ${(error as Error).message}`);
    }
  }
}
