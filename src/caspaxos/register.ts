/**
 * One register in one process: the host of its proposer. It lets one change at a time through (rule 10), carries the
 * proposer's messages to the acceptors and their answers back, waits between attempts, and turns what the proposer
 * found out into the caller's outcome.
 */
import { assert, type Phase1aMessage, type Phase2aMessage } from '../protocol/index.ts';
import type { Batcher } from './batcher.ts';
import type { ClusterCounters, ClusterLatencies } from './counters.ts';
import {
  type Backoff,
  type BallotSource,
  type LostBecause,
  type ProposalResult,
  type ProposerPolicy,
  type QuorumSystem,
  type RegisterChange,
  RegisterProposer,
  type RegisterReply,
} from './core/index.ts';

/** The acceptors in force, as one value that is replaced when the set changes. */
export interface View {
  readonly set: number;
  readonly quorum: QuorumSystem;
  readonly batchers: readonly Batcher[];
}

export interface RegisterEnvironment {
  readonly ballots: BallotSource;
  readonly policy: ProposerPolicy;
  readonly backoff: Backoff;
  readonly counters: ClusterCounters;
  readonly latencies: ClusterLatencies;
  /** How long a successful round takes here lately: the unit of waiting. */
  readonly pace: { roundMs: number };
  view(): View;
  /** Somebody knows a newer set, or something else is amiss. */
  onReply(reply: RegisterReply): void;
  onIdle(register: Register): void;
}

export interface Job {
  readonly change: RegisterChange;
  readonly force: boolean;
  readonly uncertain: boolean;
  readonly startedAt: number;
  readonly finish: (result: ProposalResult<string>) => void;
}

export class Register {
  readonly key: string;
  readonly #environment: RegisterEnvironment;
  #view: View;
  #proposer: RegisterProposer<string>;
  readonly #queue: Job[] = [];
  #job: Job | undefined;
  #timer: NodeJS.Timeout | undefined;
  #phaseStartedAt = 0;

  constructor(key: string, environment: RegisterEnvironment) {
    this.key = key;
    this.#environment = environment;
    this.#view = environment.view();
    this.#proposer = this.#newProposer();
  }

  get isIdle(): boolean {
    return this.#job === undefined;
  }

  run(job: Job): void {
    this.#queue.push(job);
    if (this.#job === undefined) this.#next();
  }

  /** Ends a job early: its deadline passed, or its caller lost interest. */
  cancel(job: Job): void {
    if (job === this.#job) {
      this.#proposer.cancel();
      return;
    }
    const at = this.#queue.indexOf(job);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    job.finish({ outcome: job.uncertain ? 'unknown' : 'rejected' });
  }

  /** The set of acceptors has changed: what is under way starts anew there. */
  adopt(view: View): void {
    if (view === this.#view) return;
    const wasUncertain = this.#proposer.uncertain;
    clearTimeout(this.#timer);
    this.#view = view;
    this.#proposer = this.#newProposer();
    if (this.#job !== undefined) this.#start(this.#job, wasUncertain);
  }

  #newProposer(): RegisterProposer<string> {
    const { ballots, policy } = this.#environment;
    const proposer: RegisterProposer<string> = new RegisterProposer(
      ballots,
      this.#view.quorum,
      {
        broadcast: (message) => this.#broadcast(proposer, message),
        wait: (attempt, because) => this.#wait(attempt, because),
        finished: (result) => this.#finished(result),
      },
      policy,
    );
    return proposer;
  }

  #next(): void {
    const job = this.#queue.shift();
    if (job === undefined) {
      this.#environment.onIdle(this);
      return;
    }
    this.#job = job;
    if (this.#view !== this.#environment.view()) this.adopt(this.#environment.view());
    else this.#start(job, job.uncertain);
  }

  #start(job: Job, uncertain: boolean): void {
    this.#proposer.start(job.change.edit, { force: job.force, uncertain: uncertain || job.uncertain });
  }

  #broadcast(proposer: RegisterProposer<string>, message: Phase1aMessage | Phase2aMessage<string>): void {
    const { counters, latencies } = this.#environment;
    const { batchers, set } = this.#view;
    const now = performance.now();
    if (message.type === '2a' && proposer.phase === '2' && this.#phaseStartedAt > 0) {
      latencies.phase1.record(now - this.#phaseStartedAt);
    }
    if (message.type === '1a' || proposer.attempt === 1) counters.attempts += 1;
    this.#phaseStartedAt = now;
    const request = { key: this.key, set, message };
    counters.messages += batchers.length;
    for (let index = 0; index < batchers.length; index += 1) {
      batchers[index]!.send(request, (reply) => {
        // Answers to a proposer of a set that is no longer in force: the new one looks for itself.
        if (proposer !== this.#proposer) return;
        if (reply.type === 'stale-set' || reply.type === 'alarm' || reply.type === 'failed') {
          this.#environment.onReply(reply);
        }
        // `state` answers queries, which do not come this way.
        if (reply.type !== 'state') proposer.onReply(index, message, reply);
      });
    }
  }

  #wait(attempt: number, because: LostBecause): void {
    const { counters, backoff, pace } = this.#environment;
    counters[because === 'conflict' ? 'conflicts' : 'unavailable'] += 1;
    const delay = backoff.delayMs(attempt, because, pace.roundMs, Math.random());
    const proposer = this.#proposer;
    this.#timer = setTimeout(() => {
      if (proposer === this.#proposer && proposer.phase === 'waiting') proposer.retry();
    }, delay);
  }

  #finished(result: ProposalResult<string>): void {
    const job = this.#job;
    assert(job !== undefined, 'a proposal without a job');
    clearTimeout(this.#timer);
    if (result.outcome === 'committed') {
      const { counters, latencies, pace } = this.#environment;
      const now = performance.now();
      const roundMs = now - this.#phaseStartedAt;
      pace.roundMs += (roundMs - pace.roundMs) / 16;
      latencies.phase2.record(roundMs);
      latencies.change.record(now - job.startedAt);
      if (result.rounds === 1 && result.changed) counters.oneRoundTrip += 1;
    }
    this.#phaseStartedAt = 0;
    this.#job = undefined;
    job.finish(result);
    // `finish` runs no caller's code, so nothing can have started in between.
    this.#next();
  }
}
