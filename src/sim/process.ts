/**
 * A simulated process: the `Host` of whatever runs in it. It has clocks of its own that disagree with everybody's, chance
 * of its own, and a life that ends and begins again. A crash forgets every timer and every answer under way, as the end of
 * a real process does; a pause keeps them, and delivers them late.
 */
import { ContinuousClock, type Host, type Timer } from '../protocol/index.ts';
import { type ClockErrors, DriftingClock, Random } from './core/index.ts';
import type { World } from './world.ts';

export interface ProcessOptions {
  readonly name: string;
  readonly clock?: ClockErrors;
  /** What it does when it starts, and again after every crash. */
  readonly main: (process: SimProcess) => void;
}

/** How coarse the uptime is. */
const UPTIME_MS = 10;

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
  /** How long its machine has been suspended on its monotonic clock, and since when it is. */
  #stoodStillMs = 0;
  #suspendedAt: number | undefined;
  /** Once it has been; before that the monotonic clock is as good. */
  #continuous: ContinuousClock | undefined;

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
    this.#wakeUp();
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

  /** Its machine is suspended: a pause in which its monotonic clock stands still with it. */
  suspend(): void {
    if (!this.#isUp || this.#isPaused) return;
    this.pause();
    this.#continuous ??= new ContinuousClock({
      monotonic: () => this.monotonic(),
      wallClock: () => this.wallClock(),
      uptime: () => Math.floor(this.clock.monotonic(this.#world.now) / UPTIME_MS) * UPTIME_MS,
    });
    this.#suspendedAt = this.clock.monotonic(this.#world.now);
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#wakeUp();
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

  #wakeUp(): void {
    if (this.#suspendedAt === undefined) return;
    this.#stoodStillMs += this.clock.monotonic(this.#world.now) - this.#suspendedAt;
    this.#suspendedAt = undefined;
  }

  now(): number {
    return this.#continuous?.now() ?? this.monotonic();
  }

  /** What a machine has for it, which stops when the machine does. */
  monotonic(): number {
    return (this.#suspendedAt ?? this.clock.monotonic(this.#world.now)) - this.#stoodStillMs;
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
