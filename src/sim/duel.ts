/**
 * Dueling proposers (paper 6.2): one register, seven acceptors, several proposers that each update it every interval, in
 * virtual time. The roles and the proposer are the library's own; only the network and the clock are made here. One run
 * is one simulated hour with latencies of its own.
 *
 * A lease is lost when a proposer has had no successful update for the lease time. What counts is how many of the updates
 * that were due were missed that way: one for a gap just over the lease, one more for every further interval, so that a
 * proposer that never succeeds again counts for every update it misses.
 */
import { AcceptorStateMachine, type QueryReply, type QuorumReader } from '../caspaxos/index.ts';
import type { SchedulingPolicy } from '../failover/index.ts';
import { combinedDigest, EventQueue, type LatencyModel, Random, TraceHash } from './core/index.ts';
import type { DuelCounts } from './duel-counts.ts';
import { type DuelMessage, DuelProposer, type DuelReply, type DuelValue, WRITER } from './duel-proposer.ts';

export interface DuelOptions {
  readonly proposers: number;
  readonly acceptors: number;
  readonly policy: SchedulingPolicy;
  readonly latency: LatencyModel;
  readonly intervalMs: number;
  readonly leaseMs: number;
  readonly durationMs: number;
  /** Every proposer's clock is wrong by up to this, either way. Only ballots can depend on that. */
  readonly skewMs: number;
  /** Near the end one proposer dies, and the others have to notice. */
  readonly writerDies: boolean;
  readonly seed: number;
}

const AT_ACCEPTOR = 1;
const AT_PROPOSER = 2;
const START = 3;
const RETRY = 4;
const DIE = 5;
const LOOK = 6;
const QUERY = 7;
const STATE = 8;

/** The kinds of messages, for the trace. */
const TYPES = { '1a': 1, '2a': 2, '1b': 3, '2b': 4, nak: 5, alarm: 6 } as const;

/** What an acceptor holds, on its way back to the read that asked. */
interface State {
  readonly reader: QuorumReader<DuelValue>;
  readonly reply: QueryReply<DuelValue>;
}

/** One simulated hour, added to `counts`. */
export function runDuel(options: DuelOptions, counts: DuelCounts): void {
  new Duel(options, counts).run();
}

class Duel {
  readonly #options: DuelOptions;
  readonly #counts: DuelCounts;
  readonly #queue = new EventQueue();
  readonly #random: Random;
  readonly #trace: TraceHash;
  readonly #typicalMs: Float64Array;
  readonly #acceptors: readonly AcceptorStateMachine<DuelValue>[];
  readonly #proposers: readonly DuelProposer[];
  #silenceDeclared = false;

  constructor(options: DuelOptions, counts: DuelCounts) {
    this.#options = options;
    this.#counts = counts;
    this.#random = new Random(options.seed);
    this.#trace = new TraceHash(options.seed);
    this.#typicalMs = options.latency.pairs(options.proposers, options.acceptors, this.#random);
    this.#acceptors = Array.from(
      { length: options.acceptors },
      (_, index) => new AcceptorStateMachine(undefined, index),
    );
    this.#proposers = Array.from({ length: options.proposers }, (_, index) => this.#newProposer(index));
  }

  run(): void {
    const { intervalMs, durationMs, proposers, writerDies } = this.#options;
    const failedBefore = this.#counts.failures;
    for (let index = 0; index < proposers; index += 1) {
      this.#queue.push(this.#random.between(0, intervalMs), START, index, 0);
    }
    if (writerDies) this.#queue.push(this.#timeOfDeath(), DIE, WRITER, 0);
    while (this.#queue.pop() && this.#queue.now < durationMs) this.#step();
    for (const proposer of this.#proposers) proposer.close(durationMs);
    if (writerDies && !this.#silenceDeclared) this.#counts.undetected += 1;
    this.#countHour(this.#counts.failures - failedBefore);
  }

  #countHour(failures: number): void {
    const counts = this.#counts;
    counts.hours += 1;
    counts.failedHours += Number(failures > 0);
    counts.squaredFailures += failures * failures;
    counts.events += this.#queue.inserted - this.#queue.size;
    counts.trace = combinedDigest(counts.trace, this.#trace.digest());
  }

  #step(): void {
    const { kind, first, second, object, other } = this.#queue;
    this.#traceEvent();
    if (kind === AT_ACCEPTOR) this.#atAcceptor(first, second, object as DuelMessage);
    else if (kind === AT_PROPOSER) {
      this.#proposers[first]!.onReply(second, object as DuelMessage, other as DuelReply);
    } else if (kind === START) this.#proposers[first]!.start(second);
    else if (kind === RETRY) this.#proposers[first]!.retry();
    else this.#stepOfDeath();
  }

  /** Of the hours in which a writer dies. */
  #stepOfDeath(): void {
    const { kind, first, second, other } = this.#queue;
    if (kind === DIE) this.#proposers[first]!.die();
    else if (kind === LOOK) this.#proposers[first]!.look();
    else if (kind === QUERY) this.#answer(first, second, other as QuorumReader<DuelValue>);
    else {
      const { reader, reply } = other as State;
      this.#proposers[first]!.onState(reader, reply);
    }
  }

  #answer(proposer: number, acceptor: number, reader: QuorumReader<DuelValue>): void {
    const { accepted, value } = this.#acceptors[acceptor]!.state;
    const state: State = { reader, reply: { type: 'state', acceptor, accepted, value } };
    this.#queue.push(
      this.#queue.now + this.#delay(proposer, acceptor),
      STATE,
      proposer,
      acceptor,
      undefined,
      state,
    );
  }

  /** When, what, who, and of a message its kind and ballot, in two numbers: this runs millions of times a second. */
  #traceEvent(): void {
    const { now, kind, first, second, object, other } = this.#queue;
    const message = object as DuelMessage | undefined;
    const type = message === undefined ? 0 : TYPES[((other as DuelReply | undefined) ?? message).type];
    const counter = message === undefined ? 0 : message.ballot.counter;
    this.#trace.mix(now);
    this.#trace.mix(kind + 16 * (type + 8 * (second + 4096 * (first + 256 * counter))));
  }

  #atAcceptor(proposer: number, acceptor: number, message: DuelMessage): void {
    const role = this.#acceptors[acceptor]!;
    const reply = message.type === '1a' ? role.onPhase1a(message) : role.onPhase2a(message);
    if (reply.type === 'nak') this.#counts.refusals += 1;
    const at = this.#queue.now + this.#delay(proposer, acceptor);
    this.#queue.push(at, AT_PROPOSER, proposer, acceptor, message, reply);
  }

  #newProposer(index: number): DuelProposer {
    return new DuelProposer(index, this.#options, this.#counts, this.#random, {
      now: () => this.#queue.now,
      broadcast: (message) => this.#broadcast(index, message),
      startIn: (ms, plan) => this.#queue.push(this.#queue.now + ms, START, index, plan),
      retryIn: (ms) => this.#queue.push(this.#queue.now + ms, RETRY, index, 0),
      lookIn: (ms) => this.#queue.push(this.#queue.now + ms, LOOK, index, 0),
      query: (reader) => this.#query(index, reader),
      declareSilence: () => this.#onSilence(),
      watching: () => this.#options.writerDies && !this.#silenceDeclared,
    });
  }

  #broadcast(proposer: number, message: DuelMessage): void {
    const { acceptors } = this.#options;
    this.#counts.requests += acceptors;
    for (let acceptor = 0; acceptor < acceptors; acceptor += 1) {
      const at = this.#queue.now + this.#delay(proposer, acceptor);
      this.#queue.push(at, AT_ACCEPTOR, proposer, acceptor, message);
    }
  }

  #query(proposer: number, reader: QuorumReader<DuelValue>): void {
    const { acceptors } = this.#options;
    this.#counts.requests += acceptors;
    for (let acceptor = 0; acceptor < acceptors; acceptor += 1) {
      const at = this.#queue.now + this.#delay(proposer, acceptor);
      this.#queue.push(at, QUERY, proposer, acceptor, undefined, reader);
    }
  }

  #delay(proposer: number, acceptor: number): number {
    const typicalMs = this.#typicalMs[proposer * this.#options.acceptors + acceptor]!;
    return this.#options.latency.message(typicalMs, this.#random);
  }

  /** Some moment of an interval that leaves the others two leases and two heartbeats. */
  #timeOfDeath(): number {
    const { intervalMs, leaseMs, durationMs } = this.#options;
    return Math.max(0, durationMs - 2 * leaseMs - 2 * intervalMs - this.#random.between(0, intervalMs));
  }

  #onSilence(): void {
    const writer = this.#proposers[WRITER]!;
    if (!writer.dead || this.#silenceDeclared) return;
    this.#silenceDeclared = true;
    this.#counts.detectionsMs.push(this.#queue.now - writer.lastSuccessAt);
  }
}
