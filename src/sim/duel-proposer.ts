/**
 * A region's primary as far as the experiment of dueling proposers needs it: it updates, waits and holds a lease. The
 * proposer and the policy are the real ones; what it writes is the statistics that the policies keep in the value, and the
 * beat of the one whose death the others have to notice.
 */
import {
  BallotSource,
  majority,
  type QueryReply,
  QuorumReader,
  RegisterProposer,
} from '../caspaxos/index.ts';
import {
  certainlyOver,
  countersOf,
  lookAgainMs,
  mayDeclareSilence,
  type StatisticsTable,
  Turns,
} from '../failover/index.ts';
import type { Phase1aMessage, Phase1bResult, Phase2aMessage, Phase2bResult } from '../protocol/index.ts';
import type { Random } from './core/index.ts';
import type { DuelOptions } from './duel.ts';
import type { DuelCounts } from './duel-counts.ts';

/** What stands in the register. */
export interface DuelValue {
  readonly statistics: StatisticsTable;
  /** The writer's; see {@link WRITER}. */
  readonly beat: number;
}

export type DuelMessage = Phase1aMessage | Phase2aMessage<DuelValue>;
export type DuelReply = Phase1bResult<DuelValue> | Phase2bResult<DuelValue>;

export interface DuelHost {
  now(): number;
  broadcast(message: DuelMessage): void;
  startIn(ms: number, plan: number): void;
  retryIn(ms: number): void;
  lookIn(ms: number): void;
  /** Asks every acceptor what it holds; the answers come back through `onState`. */
  query(reader: QuorumReader<DuelValue>): void;
  /** An update is committed that declares the writer silent. */
  declareSilence(): void;
  /** Whether there is a writer to watch. What follows once its silence is declared is not asked here. */
  watching(): boolean;
}

/** Which proposer is the writer where one dies. Any would do: their latencies are drawn alike. */
export const WRITER = 0;

/** How long to wait before reading again when a read fell into the middle of somebody's update. */
const READ_AGAIN_MS = 1000;

const EMPTY: DuelValue = { statistics: {}, beat: 0 };

export class DuelProposer {
  readonly #index: number;
  readonly #name: string;
  readonly #options: DuelOptions;
  readonly #counts: DuelCounts;
  readonly #random: Random;
  readonly #host: DuelHost;
  readonly #proposer: RegisterProposer<DuelValue>;
  readonly #turns: Turns;
  readonly #waitMs: number;
  #updateStartedAt = 0;
  #attemptStartedAt = 0;
  #phase2StartedAt = 0;
  /** The last successful phase 2's duration: it goes into the value with the next update. */
  #observedMs: number | undefined;
  #lastSuccessAt: number | undefined;
  #heartbeatAt = 0;
  /** Only the latest plan for a start counts: an update between heartbeats makes a new one. */
  #plan = 0;
  #reader: QuorumReader<DuelValue> | undefined;
  /** The writer's beat as this attempt found it, the last one that was new to this proposer, and when that was. */
  #foundBeat = 0;
  #knownBeat = 0;
  #learnedAt = 0;
  #dying = false;
  #closed = false;

  constructor(index: number, options: DuelOptions, counts: DuelCounts, random: Random, host: DuelHost) {
    this.#index = index;
    this.#name = `p${index}`;
    this.#options = options;
    this.#counts = counts;
    this.#random = random;
    this.#host = host;
    this.#waitMs = certainlyOver(options.leaseMs);
    const { policy, acceptors, skewMs } = options;
    const skew = skewMs === 0 ? 0 : random.between(-skewMs, skewMs);
    const counter = countersOf(policy, () => host.now() + 1 + skew);
    this.#turns = new Turns(policy, this.#name);
    this.#proposer = new RegisterProposer<DuelValue>(
      new BallotSource({ proposer: this.#name, incarnation: 1 }, counter),
      majority(acceptors),
      {
        broadcast: (message) => this.#broadcast(message),
        wait: (attempt) => this.#wait(attempt),
        finished: () => this.#committed(),
      },
      { prepareAhead: false, giveUp: policy.giveUp },
    );
  }

  get lastSuccessAt(): number {
    return this.#lastSuccessAt ?? 0;
  }

  get dead(): boolean {
    return this.#closed;
  }

  start(plan: number): void {
    if (this.#closed || plan !== this.#plan) return;
    this.#reader = undefined;
    this.#updateStartedAt = this.#host.now();
    this.#proposer.start((current) => this.#edit(current));
  }

  retry(): void {
    this.#proposer.retry();
  }

  onReply(acceptor: number, message: DuelMessage, reply: DuelReply): void {
    this.#proposer.onReply(acceptor, message, reply);
  }

  /** The lease that was watched has ended, unless there is a beat that this proposer has not seen: it reads, first. */
  look(): void {
    const learnedMsAgo = this.#host.now() - this.#learnedAt;
    if (this.#closed || this.#proposer.busy || !this.#host.watching()) return;
    if (!mayDeclareSilence({ learnedMsAgo, waitMs: this.#waitMs })) return;
    this.#reader = new QuorumReader<DuelValue>(majority(this.#options.acceptors));
    this.#host.query(this.#reader);
  }

  onState(reader: QuorumReader<DuelValue>, reply: QueryReply<DuelValue>): void {
    if (reader !== this.#reader || !this.#host.watching()) return;
    const result = reader.onState(reply);
    if (result === undefined) return;
    this.#reader = undefined;
    if (result.verdict !== 'agreed') this.#host.lookIn(READ_AGAIN_MS);
    else if (result.value !== undefined && result.value.beat !== this.#knownBeat) {
      this.#learn(result.value.beat, this.#host.now());
    } else {
      // Silence can only be declared by an update, which compares again.
      this.#plan += 1;
      this.start(this.#plan);
    }
  }

  /** At once, or when the update in progress is done: how long a half-done last renewal takes is not asked here. */
  die(): void {
    if (this.#proposer.busy) this.#dying = true;
    else this.close(this.#host.now());
  }

  /** The end of this proposer's hour. */
  close(endMs: number): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#counts.due += Math.round(endMs / this.#options.intervalMs);
    this.#noteGap(endMs);
  }

  #edit(current: DuelValue = EMPTY): DuelValue {
    this.#foundBeat = current.beat;
    return {
      statistics: this.#turns.observed(current.statistics, this.#observedMs),
      beat: this.#index === WRITER ? current.beat + 1 : current.beat,
    };
  }

  #broadcast(message: DuelMessage): void {
    if (message.type === '1a') {
      this.#attemptStartedAt = this.#host.now();
      this.#counts.attempts += 1;
    } else {
      this.#phase2StartedAt = this.#host.now();
      this.#turns.saw(message.value.statistics);
    }
    this.#host.broadcast(message);
  }

  #wait(attempt: number): void {
    this.#host.retryIn(this.#turns.nakDelayMs(attempt, this.#random.uniform(), this.#options.intervalMs));
  }

  #committed(): void {
    const now = this.#host.now();
    this.#counts.updates += 1;
    this.#counts.commitMs.record(now - this.#updateStartedAt);
    this.#observedMs = now - this.#phase2StartedAt;
    this.#noteGap(now);
    this.#lastSuccessAt = now;
    if (this.#dying) {
      this.close(now);
      return;
    }
    const heartbeatInMs = this.#heartbeatInMs(now);
    this.#plan += 1;
    this.#host.startIn(heartbeatInMs, this.#plan);
    if (this.#index !== WRITER && this.#host.watching()) this.#watch(heartbeatInMs);
  }

  /** An update between two heartbeats, made to declare silence, does not move the next heartbeat. */
  #heartbeatInMs(now: number): number {
    const { policy, intervalMs } = this.#options;
    if (now >= this.#heartbeatAt) {
      const durationMs = now - this.#attemptStartedAt;
      this.#heartbeatAt = now + policy.nextStartMs(intervalMs, durationMs, this.#random.uniform());
    }
    return this.#heartbeatAt - now;
  }

  /** Looks at what the committed update found of the writer's beat, and plans when to look again. */
  #watch(heartbeatInMs: number): void {
    const waitMs = this.#waitMs;
    const waitedMs = this.#attemptStartedAt - this.#learnedAt;
    const silent =
      this.#foundBeat === this.#knownBeat && mayDeclareSilence({ learnedMsAgo: waitedMs, waitMs });
    if (silent) this.#host.declareSilence();
    if (silent || this.#foundBeat !== this.#knownBeat) this.#learn(this.#foundBeat, this.#phase2StartedAt);
    const learnedMsAgo = this.#host.now() - this.#learnedAt;
    const inMs = lookAgainMs(this.#options.policy.observer, { learnedMsAgo, waitMs, heartbeatInMs });
    if (inMs < heartbeatInMs) this.#host.lookIn(inMs);
  }

  #learn(beat: number, at: number): void {
    this.#knownBeat = beat;
    this.#learnedAt = at;
  }

  #noteGap(now: number): void {
    const { leaseMs, intervalMs } = this.#options;
    const gap = now - this.lastSuccessAt;
    if (gap >= leaseMs) this.#counts.failures += 1 + Math.floor((gap - leaseMs) / intervalMs);
  }
}
