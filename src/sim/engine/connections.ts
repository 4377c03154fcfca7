/**
 * The links between regions. A link is made by a greeting and its answer, is given up by whoever hears nothing on it for too
 * long, and ends with either process; what was under way in it then is gone. The other side learns of the end when it is told,
 * when it sends something to nobody, or when it hears nothing either.
 *
 *   streams    as TCP: in order, sent again while it gets lost, so that a bad moment of the network is a delay
 *   messages   each goes its own way: some are lost, some come twice, some overtake others
 */
import type { Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import type { World } from '../world.ts';

export interface ConnectionHooks<M> {
  /** In the receiver's process. */
  onMessage(at: SimProcess, from: SimProcess, message: M): void;
  /** The link is there, or takes more again. */
  onReady(at: SimProcess, other: SimProcess): void;
  onLost(at: SimProcess, other: SimProcess): void;
}

export interface ConnectionOptions {
  readonly mode: 'streams' | 'messages';
  readonly idleMs: number;
  readonly random: Random;
}

/** One side's view of a link. */
interface End<M> {
  /** Undefined: there is no link. */
  connection: number | undefined;
  /** The highest that was ever greeted with: a late greeting is no new one. */
  newest: number;
  /** The greeting that waits for its answer. */
  greeted: number | undefined;
  heardAt: number;
  outbox: M[];
  isPumping: boolean;
  wasFull: boolean;
  arrivesAt: number;
}

const GREET_EVERY_MS = 200;
const LOOK_EVERY_MS = 250;
const FIRST_RESEND_MS = 60;
const LONGEST_RESEND_MS = 1000;
const MOST_WAITING = 64;

export class Connections<M> {
  readonly #world: World;
  readonly #hooks: ConnectionHooks<M>;
  readonly #options: ConnectionOptions;
  readonly #ends = new Map<SimProcess, Map<SimProcess, End<M>>>();
  #made = 0;

  constructor(world: World, options: ConnectionOptions, hooks: ConnectionHooks<M>) {
    this.#world = world;
    this.#options = options;
    this.#hooks = hooks;
  }

  /** A life of that process begins: it wants links with all of these. */
  start(process: SimProcess, others: readonly SimProcess[]): void {
    this.#ends.set(process, new Map());
    for (const other of others) {
      if (other !== process) this.#keep(process, other);
    }
  }

  send(from: SimProcess, to: SimProcess, message: M): void {
    const end = this.#end(from, to);
    if (end.connection === undefined) return;
    if (this.#options.mode === 'messages') {
      const { connection } = end;
      this.#world.send(from, to, () => this.#arrive(from, to, connection, message));
      return;
    }
    end.outbox.push(message);
    if (!end.isPumping) this.#pump(from, to, end, end.connection, FIRST_RESEND_MS);
  }

  canSend(from: SimProcess, to: SimProcess): boolean {
    const end = this.#end(from, to);
    if (end.outbox.length >= MOST_WAITING) end.wasFull = true;
    return end.connection !== undefined && !end.wasFull;
  }

  #end(at: SimProcess, other: SimProcess): End<M> {
    let ends = this.#ends.get(at);
    if (ends === undefined) this.#ends.set(at, (ends = new Map()));
    let end = ends.get(other);
    if (end === undefined) ends.set(other, (end = newEnd()));
    return end;
  }

  /** Greets while there is no link, and gives up one on which nothing is heard. Of two, the first greets. */
  #keep(at: SimProcess, other: SimProcess): void {
    const end = this.#end(at, other);
    const look = (): void => {
      if (end.connection !== undefined && at.now() - end.heardAt > this.#options.idleMs)
        this.#giveUp(at, other, end);
      if (end.connection === undefined && at.index < other.index) this.#greet(at, other, end);
      at.after(end.connection === undefined ? GREET_EVERY_MS : LOOK_EVERY_MS, look);
    };
    at.after(this.#options.random.between(0, GREET_EVERY_MS), look);
  }

  #greet(at: SimProcess, other: SimProcess, end: End<M>): void {
    this.#made += 1;
    const connection = this.#made;
    end.newest = connection;
    end.greeted = connection;
    this.#world.send(at, other, () => {
      const there = this.#end(other, at);
      if (connection < there.newest) return;
      there.newest = connection;
      if (there.connection !== connection) this.#open(other, at, there, connection);
      this.#world.send(other, at, () => {
        const here = this.#end(at, other);
        if (here === end && end.greeted === connection) this.#open(at, other, end, connection);
      });
    });
  }

  #open(at: SimProcess, other: SimProcess, end: End<M>, connection: number): void {
    if (end.connection !== undefined) this.#hooks.onLost(at, other);
    Object.assign(end, newEnd(), { connection, newest: connection, heardAt: at.now() });
    this.#hooks.onReady(at, other);
  }

  #giveUp(at: SimProcess, other: SimProcess, end: End<M>): void {
    const { connection } = end;
    this.#close(at, other, end);
    this.#world.send(at, other, () => this.#told(other, at, connection!));
  }

  /** The other side says that this connection is over. */
  #told(at: SimProcess, other: SimProcess, connection: number): void {
    const end = this.#end(at, other);
    if (end.connection === connection) this.#close(at, other, end);
  }

  #close(at: SimProcess, other: SimProcess, end: End<M>): void {
    end.connection = undefined;
    end.outbox = [];
    end.wasFull = false;
    this.#hooks.onLost(at, other);
  }

  /** The operating system's work: it goes on while the process stands still, and ends with it. */
  #pump(from: SimProcess, to: SimProcess, end: End<M>, connection: number, resendMs: number): void {
    if (!from.isUp || end.connection !== connection || this.#end(from, to) !== end) return;
    end.isPumping = false;
    let waitMs = resendMs;
    while (end.outbox.length > 0) {
      const [ms] = this.#world.link(from.index, to.index);
      if (ms === undefined) {
        end.isPumping = true;
        const nextMs = Math.min(LONGEST_RESEND_MS, 2 * waitMs);
        const again = (): void => this.#pump(from, to, end, connection, nextMs);
        this.#world.at(this.#world.now + waitMs, from.index, again);
        return;
      }
      waitMs = FIRST_RESEND_MS;
      const message = end.outbox.shift()!;
      end.arrivesAt = Math.max(end.arrivesAt, this.#world.now + ms);
      this.#world.at(
        end.arrivesAt,
        to.index,
        () => to.isUp && to.inside(() => this.#arrive(from, to, connection, message))(),
      );
    }
    if (!end.wasFull) return;
    end.wasFull = false;
    this.#world.at(
      this.#world.now,
      from.index,
      from.inside(() => this.#hooks.onReady(from, to)),
    );
  }

  #arrive(from: SimProcess, to: SimProcess, connection: number, message: M): void {
    const end = this.#end(to, from);
    // What was sent right behind the answer to a greeting may overtake it.
    if (end.greeted === connection) this.#open(to, from, end, connection);
    if (end.connection === connection) {
      end.heardAt = to.now();
      this.#hooks.onMessage(to, from, message);
    } else {
      this.#world.send(to, from, () => this.#told(from, to, connection));
    }
  }
}

function newEnd<M>(): End<M> {
  return {
    connection: undefined,
    newest: 0,
    greeted: undefined,
    heardAt: 0,
    outbox: [],
    isPumping: false,
    wasFull: false,
    arrivesAt: 0,
  };
}
