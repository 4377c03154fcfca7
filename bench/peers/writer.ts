/**
 * The client that is the same for every system: a write with a value of its own every 20 ms, whatever becomes of the ones
 * before, as long as not too many are under way. It remembers what was acknowledged and when. The gap is the longest time in
 * which nothing was.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PeerClient } from './peer.ts';
import { until } from './waiting.ts';

const EVERY_MS = 20;
/** More do not make the gap shorter, and trying them all again would take the processors from those who are to recover. */
const MOST_UNDER_WAY = 64;
const LAST_MS = 10_000;

export class PacedWriter {
  readonly #client: PeerClient;
  readonly #prefix: string;
  readonly #acknowledged = new Map<string, number>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #giveUp = new AbortController();
  readonly #times: number[] = [];
  #number = 0;
  #isRunning = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(client: PeerClient, prefix: string) {
    this.#client = client;
    this.#prefix = prefix;
    setMaxListeners(0, this.#giveUp.signal);
  }

  get acknowledged(): readonly string[] {
    return [...this.#acknowledged.keys()];
  }

  /** When writes were acknowledged, on the clock of `performance.now`, in order. */
  get times(): readonly number[] {
    return this.#times;
  }

  get gapMs(): number {
    return longestGap(this.#times);
  }

  start(): void {
    this.#isRunning = true;
    this.#loop = this.#run();
  }

  /** Until a write is acknowledged that was first sent after now. */
  async untilWritten(limitMs: number): Promise<void> {
    const from = this.#number;
    const isSo = (): boolean => [...this.#acknowledged.values()].some((number) => number > from);
    await until('the next acknowledged write', limitMs, () => Promise.resolve(isSo()));
  }

  /** Gives those under way a while; what is not acknowledged by then is not counted. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#loop;
    const timer = setTimeout(() => this.#giveUp.abort(), LAST_MS);
    await Promise.all(this.#underWay);
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const startedAt = performance.now();
    let turn = 0;
    while (this.#isRunning) {
      if (this.#underWay.size < MOST_UNDER_WAY) {
        const write = this.#write();
        this.#underWay.add(write);
        void write.finally(() => this.#underWay.delete(write));
      }
      // Turns that were missed are not made up for.
      turn = Math.max(turn + 1, Math.floor((performance.now() - startedAt) / EVERY_MS));
      await sleep(Math.max(0, startedAt + turn * EVERY_MS - performance.now()));
    }
  }

  async #write(): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    const id = `${this.#prefix}-${number}`;
    try {
      await this.#client.write(id, this.#giveUp.signal);
    } catch (error) {
      if (this.#giveUp.signal.aborted) return;
      throw error;
    }
    this.#times.push(performance.now());
    this.#acknowledged.set(id, number);
  }
}

/** Of moments in order. */
export function longestGap(times: readonly number[]): number {
  return times.reduce((longest, time, at) => (at === 0 ? 0 : Math.max(longest, time - times[at - 1]!)), 0);
}
