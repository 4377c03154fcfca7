/**
 * A world in virtual time: processes, a network between them, and one queue of events. Everything that can differ between
 * two runs comes from the seed, so a seed is a run; the trace hash is its fingerprint.
 *
 * Code that awaits runs here too. After each event the promises that it settled are followed to their end before the next
 * event is taken, so the order of things depends on virtual time alone. Such code must take clocks, timers and chance from
 * its process (a `Host`) and reach others only through `send` and `call`.
 */
import { EventQueue, type Link, Random, TraceHash } from './core/index.ts';
import { type ProcessOptions, SimProcess } from './process.ts';

const EVENT = 1;

export class World {
  readonly seed: number;
  readonly trace: TraceHash;
  readonly processes: SimProcess[] = [];
  /** What becomes of messages. Set before anything is sent; faults wrap it. */
  link: Link = () => [0];
  readonly #queue = new EventQueue();
  #streams = 0;
  #messages = 0;
  #failure: unknown;

  constructor(seed: number) {
    this.seed = seed;
    this.trace = new TraceHash(seed);
  }

  /** True time, in milliseconds since the world began. */
  get now(): number {
    return this.#queue.now;
  }

  get events(): number {
    return this.#queue.inserted - this.#queue.size;
  }

  get messages(): number {
    return this.#messages;
  }

  /** Chance of one's own: what others draw does not change it. The name is for readers; the order of asking counts. */
  randomFor(_purpose: string): Random {
    this.#streams += 1;
    return new Random(this.seed, this.#streams);
  }

  addProcess(options: ProcessOptions): SimProcess {
    const process = new SimProcess(this, this.processes.length, options);
    this.processes.push(process);
    return process;
  }

  /**
   * `who` is the process that it happens in, or -1 for an act of the world. Returning `false` says that nothing came of
   * it (a cancelled timer), which saves the look for promises that it settled.
   */
  at(timeMs: number, who: number, run: () => unknown): void {
    this.#queue.push(timeMs, EVENT, who, 0, run);
  }

  /** Puts something worth telling apart into the trace. */
  note(what: string, who: number): void {
    this.trace.mixText(what);
    this.trace.mix(who);
  }

  /** Copies of the message arrive as the link says, at whatever life of the receiver is up then. */
  send(from: SimProcess, to: SimProcess, deliver: () => void): void {
    this.#messages += 1;
    for (const ms of this.link(from.index, to.index)) {
      this.at(this.now + ms, to.index, () => to.isUp && to.inside(deliver)());
    }
  }

  /**
   * Asks another process and waits for its answer, which may be lost like the question; a question that arrives twice is
   * carried out twice. The promise rejects after `timeoutMs` on the asker's clock.
   */
  call<R>(from: SimProcess, to: SimProcess, timeoutMs: number, carryOut: () => Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      const timer = from.after(timeoutMs, () => reject(new Error(`${to.name} did not answer`)));
      let end: () => void = () => {};
      // Made now, because the answer belongs to the life that asked: one that comes for a later life is dropped.
      const arrive = from.inside(() => {
        from.cancel(timer);
        end();
      });
      const answer = (settle: () => void): void => {
        this.#messages += 1;
        for (const ms of this.link(to.index, from.index)) {
          this.at(this.now + ms, from.index, () => {
            end = settle;
            return arrive();
          });
        }
      };
      this.send(from, to, () => {
        carryOut().then(
          (result) => answer(() => resolve(result)),
          (error: unknown) => answer(() => reject(error)),
        );
      });
    });
  }

  /** Goes on until that time, or until `isDone`. */
  async run(untilMs: number, isDone: () => boolean = () => false): Promise<void> {
    const onFailure = (error: unknown): void => {
      this.#failure ??= error;
    };
    process.on('unhandledRejection', onFailure);
    try {
      await settled();
      while (!isDone() && this.#queue.size > 0 && this.#queue.nextTime <= untilMs) {
        this.#queue.pop();
        this.trace.mix(this.#queue.now);
        this.trace.mix(this.#queue.first);
        if ((this.#queue.object as () => unknown)() === false) continue;
        await settled();
        if (this.#failure !== undefined) throw this.#failure;
      }
    } finally {
      process.off('unhandledRejection', onFailure);
    }
  }
}

/** All promises that are settled now have run what waited for them, and so on until nothing is left to run. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
