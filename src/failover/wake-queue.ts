/**
 * One timer for thousands of agents: a heap of (time, agent) with at most one entry that counts for each. An agent that wants
 * to be woken later than its entry says is put back when that entry comes up, so postponing costs nothing.
 */
import type { Host, Timer } from '../protocol/index.ts';

export interface Sleeper {
  /** When it wants to be woken now; infinite: not at all. */
  readonly wakeAt: number;
  wake(): void;
}

interface Entry {
  readonly at: number;
  readonly sleeper: Sleeper;
}

/** How much of the typical lateness the last one makes up. */
const LATE_WEIGHT = 1 / 8;

export class WakeQueue {
  readonly #host: Host;
  readonly #heap: Entry[] = [];
  /** The time of each sleeper's entry that counts. */
  readonly #entryAt = new Map<Sleeper, number>();
  #timer: Timer | undefined;
  #timerAt = Infinity;
  /** When the timer should ring: not before it was set. */
  #ringAt = 0;
  #lateMs = 0;

  constructor(host: Host) {
    this.#host = host;
  }

  /** By how much the timer rings late, lately: a process with more to do than it can does everything late. */
  get lateMs(): number {
    return this.#lateMs;
  }

  /** The sleeper's `wakeAt` may have changed. */
  look(sleeper: Sleeper): void {
    const at = sleeper.wakeAt;
    const known = this.#entryAt.get(sleeper) ?? Infinity;
    if (at >= known) return;
    this.#entryAt.set(sleeper, at);
    this.#push({ at, sleeper });
    this.#setTimer();
  }

  close(): void {
    this.#host.cancel(this.#timer);
    this.#entryAt.clear();
    this.#heap.length = 0;
  }

  #setTimer(): void {
    const next = this.#heap[0]?.at ?? Infinity;
    if (next >= this.#timerAt || next === Infinity) return;
    this.#host.cancel(this.#timer);
    this.#timerAt = next;
    const now = this.#host.now();
    this.#ringAt = Math.max(now, next);
    this.#timer = this.#host.after(Math.ceil(this.#ringAt - now), this.#ring);
  }

  readonly #ring = (): void => {
    const now = this.#host.now();
    this.#lateMs += (now - this.#ringAt - this.#lateMs) * LATE_WEIGHT;
    this.#timerAt = Infinity;
    const woken: Sleeper[] = [];
    while (this.#heap.length > 0 && this.#heap[0]!.at <= now) {
      const { at, sleeper } = this.#pop();
      if (this.#entryAt.get(sleeper) !== at) continue;
      this.#entryAt.delete(sleeper);
      woken.push(sleeper);
    }
    // Each once: one that wants to be woken for something that is over already would keep everybody else waiting.
    for (const sleeper of woken) {
      if (sleeper.wakeAt <= now) sleeper.wake();
      this.look(sleeper);
    }
    this.#setTimer();
  };

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.at <= entry.at) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): Entry {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child += 1;
      if (heap[child]!.at >= last.at) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
