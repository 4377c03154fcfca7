/**
 * Dueling proposers (paper 6.2): one register, seven acceptors, several proposers that each update it every interval, in
 * virtual time. The roles and the proposer are the library's own; only the network and the clock are made here. One run
 * is one simulated hour with latencies of its own.
 *
 * A lease is lost when a proposer has had no successful update for the lease time. What counts is how many of the updates
 * that were due were missed that way: one for a gap just over the lease, one more for every further interval, so that a
 * proposer that never succeeds again counts for every update it misses.
 */
import {
  AcceptorStateMachine,
  BallotSource,
  hybrid,
  majority,
  RegisterProposer,
  sequential,
  type LostBecause,
} from '../caspaxos/index.ts';
import {
  NO_STATISTICS,
  observe,
  type SchedulingPolicy,
  statisticsFor,
  type StatisticsTable,
  withStatistics,
} from '../failover/index.ts';
import {
  Histogram,
  type HistogramSnapshot,
  type Phase1aMessage,
  type Phase1bResult,
  type Phase2aMessage,
  type Phase2bResult,
} from '../protocol/index.ts';
import { EventQueue, type LatencyModel, Random } from './core/index.ts';

export interface DuelOptions {
  readonly proposers: number;
  readonly acceptors: number;
  readonly policy: SchedulingPolicy;
  readonly latency: LatencyModel;
  readonly intervalMs: number;
  readonly leaseMs: number;
  readonly durationMs: number;
  readonly seed: number;
}

export interface DuelCounts {
  due: number;
  failures: number;
  updates: number;
  attempts: number;
  refusals: number;
  /** Messages to acceptors. */
  requests: number;
  events: number;
  readonly commitMs: Histogram;
}

/** The counts as plain data, for another thread. */
export type DuelSnapshot = Omit<DuelCounts, 'commitMs'> & { readonly commitMs: HistogramSnapshot };

export function snapshotOf(counts: DuelCounts): DuelSnapshot {
  return { ...counts, commitMs: counts.commitMs.snapshot() };
}

export function addSnapshot(counts: DuelCounts, { commitMs, ...numbers }: DuelSnapshot): void {
  for (const name of Object.keys(numbers) as (keyof typeof numbers)[]) counts[name] += numbers[name];
  counts.commitMs.add(commitMs);
}

export function newDuelCounts(): DuelCounts {
  return {
    due: 0,
    failures: 0,
    updates: 0,
    attempts: 0,
    refusals: 0,
    requests: 0,
    events: 0,
    commitMs: new Histogram(),
  };
}

type Message = Phase1aMessage | Phase2aMessage<StatisticsTable>;
type Reply = Phase1bResult<StatisticsTable> | Phase2bResult<StatisticsTable>;

const AT_ACCEPTOR = 1;
const AT_PROPOSER = 2;
const START = 3;
const RETRY = 4;

/** One simulated hour, added to `counts`. */
export function runDuel(options: DuelOptions, counts: DuelCounts): void {
  new Duel(options, counts).run();
}

class Duel {
  readonly #options: DuelOptions;
  readonly #counts: DuelCounts;
  readonly #queue = new EventQueue();
  readonly #random: Random;
  readonly #typicalMs: Float64Array;
  readonly #acceptors: readonly AcceptorStateMachine<StatisticsTable>[];
  readonly #proposers: readonly DuelProposer[];

  constructor(options: DuelOptions, counts: DuelCounts) {
    this.#options = options;
    this.#counts = counts;
    this.#random = new Random(options.seed);
    this.#typicalMs = options.latency.pairs(options.proposers, options.acceptors, this.#random);
    this.#acceptors = Array.from(
      { length: options.acceptors },
      (_, index) => new AcceptorStateMachine(undefined, index),
    );
    this.#proposers = Array.from({ length: options.proposers }, (_, index) => this.#newProposer(index));
  }

  run(): void {
    const { intervalMs, durationMs, proposers } = this.#options;
    for (let index = 0; index < proposers; index += 1) {
      this.#queue.push(this.#random.between(0, intervalMs), START, index, 0);
    }
    while (this.#queue.pop() && this.#queue.now < durationMs) this.#step();
    for (const proposer of this.#proposers) proposer.close(durationMs);
    this.#counts.events += this.#queue.inserted - this.#queue.size;
  }

  #step(): void {
    const { kind, first, second, object, other } = this.#queue;
    if (kind === AT_ACCEPTOR) this.#atAcceptor(first, second, object as Message);
    else if (kind === AT_PROPOSER) this.#proposers[first]!.onReply(second, object as Message, other as Reply);
    else if (kind === START) this.#proposers[first]!.start();
    else this.#proposers[first]!.retry();
  }

  #atAcceptor(proposer: number, acceptor: number, message: Message): void {
    const role = this.#acceptors[acceptor]!;
    const reply = message.type === '1a' ? role.onPhase1a(message) : role.onPhase2a(message);
    if (reply.type === 'nak') this.#counts.refusals += 1;
    this.#queue.push(
      this.#queue.now + this.#delay(proposer, acceptor),
      AT_PROPOSER,
      proposer,
      acceptor,
      message,
      reply,
    );
  }

  #newProposer(index: number): DuelProposer {
    return new DuelProposer(index, this.#options, this.#counts, this.#random, {
      now: () => this.#queue.now,
      broadcast: (message) => {
        this.#counts.requests += this.#options.acceptors;
        for (let acceptor = 0; acceptor < this.#options.acceptors; acceptor += 1) {
          this.#queue.push(
            this.#queue.now + this.#delay(index, acceptor),
            AT_ACCEPTOR,
            index,
            acceptor,
            message,
          );
        }
      },
      startIn: (ms) => this.#queue.push(this.#queue.now + ms, START, index, 0),
      retryIn: (ms) => this.#queue.push(this.#queue.now + ms, RETRY, index, 0),
    });
  }

  #delay(proposer: number, acceptor: number): number {
    const typicalMs = this.#typicalMs[proposer * this.#options.acceptors + acceptor]!;
    return this.#options.latency.message(typicalMs, this.#random);
  }
}

interface DuelHost {
  now(): number;
  broadcast(message: Message): void;
  startIn(ms: number): void;
  retryIn(ms: number): void;
}

/** A region's primary as far as this experiment needs it: updates, waits, and holds a lease. */
class DuelProposer {
  readonly #name: string;
  readonly #options: DuelOptions;
  readonly #counts: DuelCounts;
  readonly #random: Random;
  readonly #host: DuelHost;
  readonly #proposer: RegisterProposer<StatisticsTable>;
  #table: StatisticsTable = {};
  #updateStartedAt = 0;
  #attemptStartedAt = 0;
  #phase2StartedAt = 0;
  /** The last successful phase 2's duration: it goes into the value with the next update. */
  #observedMs: number | undefined;
  #lastSuccessAt: number | undefined;

  constructor(index: number, options: DuelOptions, counts: DuelCounts, random: Random, host: DuelHost) {
    this.#name = `p${index}`;
    this.#options = options;
    this.#counts = counts;
    this.#random = random;
    this.#host = host;
    const { policy, acceptors } = options;
    const counter = policy.ballots === 'hybrid' ? hybrid(() => host.now() + 1) : sequential;
    const ballots = new BallotSource({ proposer: this.#name, incarnation: 1 }, counter);
    this.#proposer = new RegisterProposer<StatisticsTable>(
      ballots,
      majority(acceptors),
      {
        broadcast: (message) => this.#broadcast(message),
        wait: (attempt, because) => this.#wait(attempt, because),
        finished: () => this.#committed(),
      },
      { prepareAhead: false, giveUp: policy.giveUp },
    );
  }

  start(): void {
    this.#updateStartedAt = this.#host.now();
    this.#proposer.start((current) => this.#edit(current));
  }

  retry(): void {
    this.#proposer.retry();
  }

  onReply(acceptor: number, message: Message, reply: Reply): void {
    this.#proposer.onReply(acceptor, message, reply);
  }

  close(endMs: number): void {
    const { durationMs, intervalMs } = this.#options;
    this.#counts.due += Math.round(durationMs / intervalMs);
    this.#noteGap(endMs);
  }

  #edit(current: StatisticsTable | undefined): StatisticsTable {
    const { policy } = this.#options;
    const table = current ?? {};
    if (this.#observedMs === undefined || policy.statistics === 'none') return { ...table };
    const statistics = observe(statisticsFor(policy, table, this.#name), this.#observedMs);
    return withStatistics(policy, table, this.#name, statistics);
  }

  #broadcast(message: Message): void {
    if (message.type === '1a') {
      this.#attemptStartedAt = this.#host.now();
      this.#counts.attempts += 1;
    } else {
      this.#phase2StartedAt = this.#host.now();
      this.#table = message.value;
    }
    this.#host.broadcast(message);
  }

  #wait(attempt: number, _because: LostBecause): void {
    const { policy } = this.#options;
    const statistics =
      policy.statistics === 'none' ? NO_STATISTICS : statisticsFor(policy, this.#table, this.#name);
    this.#host.retryIn(policy.nakDelayMs(attempt, statistics, this.#random.uniform()));
  }

  #committed(): void {
    const now = this.#host.now();
    this.#counts.updates += 1;
    this.#counts.commitMs.record(now - this.#updateStartedAt);
    this.#observedMs = now - this.#phase2StartedAt;
    this.#noteGap(now);
    this.#lastSuccessAt = now;
    const { policy, intervalMs } = this.#options;
    this.#host.startIn(policy.nextStartMs(intervalMs, now - this.#attemptStartedAt, this.#random.uniform()));
  }

  #noteGap(now: number): void {
    const { leaseMs, intervalMs } = this.#options;
    const gap = now - (this.#lastSuccessAt ?? 0);
    if (gap >= leaseMs) this.#counts.failures += 1 + Math.floor((gap - leaseMs) / intervalMs);
  }
}
