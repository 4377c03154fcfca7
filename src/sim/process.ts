/**
 * A simulated process: the `Host` of whatever runs in it. It has clocks of its own that disagree with everybody's, chance
 * of its own, and a life that ends and begins again. A crash forgets every timer and every answer under way, as the end of
 * a real process does; a pause keeps them, and delivers them late.
 */
import type { Host, Timer } from '../protocol/index.ts';
import { type ClockErrors, DriftingClock, Random } from './core/index.ts';
import type { World } from './world.ts';

export interface ProcessOptions {
  readonly name: string;
  readonly clock?: ClockErrors;
  /** What it does when it starts, and again after every crash. */
  readonly main: (process: SimProcess) => void;
}

interface SimTimer {
  cancelled: boolean;
}

export class SimProcess implements Host {
  readonly name: string;
  readonly index: number;
  readonly clock: DriftingClock;
  readonly #world: World;
  readonly #main: (process: SimProcess) => void;
  readonly #random: Random;
  /** Of this life: whatever belongs to an earlier one is dropped when its time comes. */
  #life = 0;
  #isUp = false;
  #isPaused = false;
  #held: (() => unknown)[] = [];

  constructor(world: World, index: number, { name, clock, main }: ProcessOptions) {
    this.name = name;
    this.index = index;
    this.clock = new DriftingClock(clock);
    this.#world = world;
    this.#main = main;
    this.#random = world.randomFor(`process ${name}`);
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  start(): void {
    if (this.#isUp) return;
    this.#isUp = true;
    this.#life += 1;
    this.#world.note('start', this.index);
    this.#main(this);
  }

  crash(): void {
    if (!this.#isUp) return;
    this.#isUp = false;
    this.#isPaused = false;
    this.#held = [];
    this.#life += 1;
    this.#world.note('crash', this.index);
  }

  /** Stands still, as under SIGSTOP or a long collection of garbage: its clocks go on, it does not. */
  pause(): void {
    if (!this.#isUp || this.#isPaused) return;
    this.#isPaused = true;
    this.#world.note('pause', this.index);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#world.note('resume', this.index);
    const held = this.#held;
    this.#held = [];
    for (const run of held) this.soon(run);
  }

  /**
   * Runs something of this life: now, later if the process stands still, never if it is over. Gives `false` when nothing
   * came of it.
   */
  inside(run: () => unknown): () => boolean {
    const life = this.#life;
    return () => {
      if (!this.#isUp || life !== this.#life) return false;
      if (!this.#isPaused) return run() !== false;
      this.#held.push(run);
      return false;
    };
  }

  now(): number {
    return this.clock.monotonic(this.#world.now);
  }

  wallClock(): number {
    return Math.floor(this.clock.wallClock(this.#world.now));
  }

  after(ms: number, run: () => void): Timer {
    const timer: SimTimer = { cancelled: false };
    const ring = this.inside(() => !timer.cancelled && run());
    this.#world.at(this.#world.now + this.clock.trueDelay(Math.max(0, ms)), this.index, ring);
    return timer;
  }

  cancel(timer: Timer | undefined): void {
    if (timer !== undefined) (timer as SimTimer).cancelled = true;
  }

  soon(run: () => unknown): void {
    this.#world.at(this.#world.now, this.index, this.inside(run));
  }

  random(): number {
    return this.#random.uniform();
  }

  randomInteger(bound: number): number {
    return Math.floor(((this.#random.next() * 2 ** 21 + (this.#random.next() >>> 11)) / 2 ** 53) * bound);
  }

  randomId(): string {
    return Array.from({ length: 4 }, () => this.#random.next().toString(16).padStart(8, '0')).join('');
  }
}
