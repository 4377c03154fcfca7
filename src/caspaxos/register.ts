/**
 * One register in one process: the host of its proposer. It lets one change at a time through (rule 10), carries the
 * proposer's messages to the acceptors and their answers back, waits between attempts, and turns what the proposer
 * found out into the caller's outcome.
 *
 * A value goes to every acceptor. A promise is asked of a quorum only, of those who answer fastest (`urgency.ts`): what the
 * others would say is not needed, and saying it costs them a write. They are asked when one of the first does not promise, or
 * when it takes long.
 *
 * Whatever goes wrong in here stays in here (rule 11): calls, answers and timers all pass through `#guarded`, which ends the
 * change at hand, begins with a fresh proposer, and tells.
 */
import {
  assert,
  type Ballot,
  type Host,
  type Phase1aMessage,
  type Phase2aMessage,
  type Timer,
} from '../protocol/index.ts';
import type { Batcher } from './batcher.ts';
import type { ClusterCounters, ClusterLatencies } from './counters.ts';
import {
  type Backoff,
  type BallotSource,
  type BallotSources,
  decodeEnvelope,
  type Doubt,
  type LostBecause,
  type Pace,
  type ProposalResult,
  type ProposerPolicy,
  type QuorumSystem,
  type RegisterChange,
  RegisterProposer,
  type RegisterReply,
} from './core/index.ts';
import type { CasPaxosError } from './errors.ts';

/** The acceptors in force, as one value that is replaced when the set changes. */
export interface View {
  readonly set: number;
  readonly quorum: QuorumSystem;
  readonly batchers: readonly Batcher[];
}

export interface RegisterEnvironment {
  readonly host: Host;
  readonly ballots: BallotSources;
  readonly policy: ProposerPolicy;
  readonly backoff: Backoff;
  readonly counters: ClusterCounters;
  readonly latencies: ClusterLatencies;
  readonly pace: Pace;
  view(): View;
  /** Somebody knows a newer set, or something else is amiss. */
  onReply(reply: RegisterReply): void;
  /** An attempt found too few acceptors: perhaps they are no longer the ones to ask. */
  onUnavailable(): void;
  onIdle(register: Register): void;
  /** What that acceptor said of the register is not believed. */
  onDoubt(this: void, acceptor: number, key: string, doubt: Doubt): void;
  /** An error in the work on the register; what its change is ended with. */
  onError(this: void, key: string, error: unknown): CasPaxosError;
}

export interface Job {
  readonly change: RegisterChange;
  readonly force: boolean;
  readonly uncertain: boolean;
  /** Of this job alone. */
  readonly backoff?: Backoff | undefined;
  readonly startedAt: number;
  /** `because`: what ended it, if it was not its caller. */
  readonly finish: (result: ProposalResult<string>, because?: CasPaxosError) => void;
  /** Its backoff does not want to try again: ends it, as its deadline would. */
  readonly giveUp?: () => void;
}

interface Round {
  readonly type: '1a' | '2a';
  readonly startedAt: number;
  /** When those who are not asked at first were asked, because the others took long. */
  hedgedAt: number | undefined;
}

/** How long a refusal is remembered, in rounds for each rival. */
const RIVAL_ROUNDS = 20;
/** Changes of one register that wait for their turn: more would not be done before their callers are gone. */
const MAX_WAITING_CHANGES = 10_000;
/** More of them make no wait longer. */
const MAX_RIVALS = 64;
const LONG_ROUNDS = 4;
const SHORTEST_LONG_MS = 10;
/** After an error of its own the register rests for so long. */
const PAUSE_MS = 1000;

export class Register {
  readonly key: string;
  readonly #environment: RegisterEnvironment;
  readonly #ballots: BallotSource;
  #view: View;
  #proposer: RegisterProposer<string>;
  /** In their order. */
  readonly #queue = new Set<Job>();
  #job: Job | undefined;
  #timer: Timer | undefined;
  /** Whether an attempt under another set of acceptors may have been accepted. */
  #uncertain = false;
  #lostBecause: LostBecause | undefined;
  #round: Round | undefined;
  /** Asks those whose promise was not thought to be needed. */
  #hedge: Timer | undefined;
  #pause: Timer | undefined;
  /** The change at hand is ended early. */
  #isCancelling = false;
  /** The last value that was seen to be one of ours. */
  #readable: string | undefined;
  /** Other proposers that refused us, and until when they count. */
  readonly #rivals = new Map<string, number>();

  constructor(key: string, environment: RegisterEnvironment) {
    this.key = key;
    this.#environment = environment;
    this.#ballots = environment.ballots.take(key);
    this.#view = environment.view();
    this.#proposer = this.#newProposer();
  }

  get isIdle(): boolean {
    return this.#job === undefined && this.#pause === undefined;
  }

  /** Nothing here is worth keeping until the next change: no ballot prepared ahead, no rivals to take turns with. */
  get holdsNothing(): boolean {
    return this.isIdle && !this.#environment.policy.prepareAhead && this.#rivals.size === 0;
  }

  /** It will not be used any more. */
  giveUp(): void {
    this.#environment.ballots.giveBack(this.key, this.#ballots);
  }

  /** False: too many wait already, and it was not taken. */
  run(job: Job): boolean {
    if (this.#queue.size >= MAX_WAITING_CHANGES) return false;
    this.#queue.add(job);
    if (this.isIdle) this.#guarded(() => this.#next());
    return true;
  }

  /** Ends a job early: its deadline passed, or its caller lost interest. */
  cancel(job: Job): void {
    this.#guarded(() => this.#cancel(job));
  }

  #cancel(job: Job): void {
    if (job === this.#job) {
      this.#isCancelling = true;
      if (this.#proposer.busy) this.#proposer.cancel();
      else this.#finished({ outcome: this.#uncertain ? 'unknown' : 'rejected' });
      this.#isCancelling = false;
      return;
    }
    if (!this.#queue.delete(job)) return;
    job.finish({ outcome: job.uncertain ? 'unknown' : 'rejected' });
  }

  /** In words, what a job that is not done yet waits for. */
  whatKeeps(job: Job): string {
    if (job !== this.#job) return 'earlier changes of the same register were not done';
    if (this.#lostBecause === 'conflict') return 'other proposers kept winning';
    return 'too few acceptors answered';
  }

  /** The set of acceptors has changed: what is under way starts anew there. */
  adopt(): void {
    this.#guarded(() => this.#adopt(this.#environment.view()));
  }

  #adopt(view: View): void {
    if (view === this.#view) return;
    this.#uncertain ||= this.#proposer.uncertain;
    this.#environment.host.cancel(this.#timer);
    this.#environment.host.cancel(this.#hedge);
    this.#view = view;
    this.#proposer = this.#newProposer();
    if (this.#job !== undefined) this.#start(this.#job);
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Nobody knows what state the proposer is in: it is replaced. Its last ballot was used, if at all, for one value (rule 2). */
  #fail(error: unknown): void {
    const { host, onError } = this.#environment;
    const isUncertain = this.#uncertain || this.#proposer.uncertain;
    const job = this.#job;
    for (const timer of [this.#timer, this.#hedge, this.#pause]) host.cancel(timer);
    this.#job = undefined;
    this.#round = undefined;
    this.#isCancelling = false;
    this.#proposer = this.#newProposer();
    this.#rest(PAUSE_MS);
    const because = onError(this.key, error);
    job?.finish({ outcome: isUncertain ? 'unknown' : 'rejected' }, because);
  }

  /** Begins nothing for so long. */
  #rest(ms: number): void {
    this.#pause = this.#after(ms, () => {
      this.#pause = undefined;
      this.#next();
    });
  }

  #after(ms: number, run: () => void): Timer {
    return this.#environment.host.after(ms, () => this.#guarded(run));
  }

  #newProposer(): RegisterProposer<string> {
    const { policy, onDoubt } = this.#environment;
    const proposer: RegisterProposer<string> = new RegisterProposer(
      this.#ballots,
      this.#view.quorum,
      {
        broadcast: (message) => this.#broadcast(proposer, message),
        wait: (attempt, because) => this.#wait(attempt, because),
        finished: (result) => this.#finished(result),
        isReadable: (value) => this.#isReadable(value),
        doubt: (acceptor, doubt) => onDoubt(acceptor, this.key, doubt),
      },
      policy,
    );
    return proposer;
  }

  #next(): void {
    const [job] = this.#queue;
    if (job === undefined) {
      this.#environment.onIdle(this);
      return;
    }
    this.#queue.delete(job);
    this.#job = job;
    this.#uncertain = job.uncertain;
    this.#lostBecause = undefined;
    if (this.#view === this.#environment.view()) this.#start(job);
    else this.#adopt(this.#environment.view());
  }

  /** At once when alone; otherwise when its turn comes. */
  #start(job: Job): void {
    const proposer = this.#proposer;
    const start = (): void => {
      proposer.start(job.change.edit, { force: job.force, uncertain: this.#uncertain });
    };
    const delay = this.#delayMs(0, undefined);
    if (delay === 0) start();
    else this.#timer = this.#after(delay, start);
  }

  #broadcast(proposer: RegisterProposer<string>, message: Phase1aMessage | Phase2aMessage<string>): void {
    const { host, counters, latencies } = this.#environment;
    const { batchers, set } = this.#view;
    const now = host.now();
    const isSecondRound = message.type === '2a' && this.#round?.type === '1a';
    if (isSecondRound) {
      latencies.phase1.record(now - this.#round!.startedAt);
      this.#learnPace();
    } else counters.attempts += 1;
    this.#job?.backoff?.sent?.();
    const round: Round = { type: message.type, startedAt: now, hedgedAt: undefined };
    this.#round = round;
    host.cancel(this.#hedge);
    const request = { key: this.key, set, message };
    const isFirst = (batcher: Batcher): boolean => message.type === '2a' || batcher.isUrgent;
    let waiting = batchers.filter((batcher) => !isFirst(batcher));
    const askOthers = (): void => {
      const others = waiting;
      waiting = [];
      if (this.#round === round) ask(others);
    };
    const hedge = (): void => {
      if (waiting.length > 0) round.hedgedAt = host.now();
      askOthers();
    };
    const onReply = (index: number, reply: RegisterReply): void => this.#guarded(() => take(index, reply));
    const take = (index: number, reply: RegisterReply): void => {
      // Answers to a proposer of a set that is no longer in force: the new one looks for itself.
      if (proposer !== this.#proposer) return;
      if (reply.type !== '1b') askOthers();
      if (reply.type === 'nak') this.#noteRival(reply.promised);
      else if (reply.type !== '1b' && reply.type !== '2b') this.#environment.onReply(reply);
      // `state` answers queries, which do not come this way.
      if (reply.type !== 'state') proposer.onReply(index, message, reply);
    };
    const ask = (some: readonly Batcher[]): void => {
      counters.messages += some.length;
      for (const batcher of some) batcher.send(request, onReply);
    };
    ask(batchers.filter(isFirst));
    if (waiting.length > 0) this.#hedge = this.#after(this.#longMs, hedge);
  }

  /** A round that takes that long waits for somebody who is not well. */
  get #longMs(): number {
    return Math.max(SHORTEST_LONG_MS, LONG_ROUNDS * this.#environment.pace.roundMs);
  }

  #wait(lost: number, because: LostBecause): void {
    const { counters, host, pace } = this.#environment;
    counters[because === 'conflict' ? 'conflicts' : 'unavailable'] += 1;
    if (because === 'conflict' && this.#round !== undefined)
      pace.learnAtLeast(host.now() - startOf(this.#round));
    this.#lostBecause = because;
    if (because === 'unavailable') this.#environment.onUnavailable();
    this.#round = undefined;
    const [proposer, job] = [this.#proposer, this.#job!];
    const delayMs = this.#delayMs(lost, because);
    this.#timer =
      delayMs === Infinity
        ? this.#after(0, () => (job.giveUp === undefined ? this.#cancel(job) : job.giveUp()))
        : this.#after(delayMs, () => proposer.retry());
  }

  #delayMs(lost: number, because: LostBecause | undefined): number {
    const { host, pace } = this.#environment;
    const backoff = this.#job?.backoff ?? this.#environment.backoff;
    const now = host.now();
    for (const [rival, until] of this.#rivals) if (until < now) this.#rivals.delete(rival);
    const rivals = this.#rivals.size;
    return backoff.delayMs({ lost, because, rivals, roundMs: pace.roundMs, random: host.random() });
  }

  /** Whoever was promised a higher ballot than ours is at work on this register too, and for a while counts as such. */
  #noteRival(promised: Ballot): void {
    if (this.#ballots.owns(promised) || !this.#ballots.isNear(promised)) return;
    const rival = `${promised.proposer}/${promised.incarnation}`;
    const rounds = RIVAL_ROUNDS * (this.#rivals.size + 1);
    if (this.#rivals.size >= MAX_RIVALS && !this.#rivals.has(rival)) return;
    const { host, pace } = this.#environment;
    this.#rivals.set(rival, host.now() + rounds * pace.roundMs);
  }

  #isReadable(value: string): boolean {
    if (value === this.#readable) return true;
    try {
      decodeEnvelope(value);
    } catch {
      return false;
    }
    this.#readable = value;
    return true;
  }

  #finished(result: ProposalResult<string>): void {
    const job = this.#job;
    assert(job !== undefined, 'a proposal without a job');
    this.#environment.host.cancel(this.#timer);
    this.#environment.host.cancel(this.#hedge);
    if (result.outcome === 'committed') this.#recordLatencies(job, result.rounds === 1 && result.changed);
    this.#round = undefined;
    this.#job = undefined;
    job.finish(result);
    // Whoever ends one may be about to end those behind it too, which must not be begun for that.
    if (this.#isCancelling && this.#queue.size > 0) this.#rest(0);
    // `finish` runs no caller's code, so nothing can have started in between.
    else this.#next();
  }

  /** The round has got its quorum. */
  #learnPace(): void {
    const { host, pace } = this.#environment;
    const round = this.#round!;
    const ms = host.now() - startOf(round);
    if (round.hedgedAt === undefined) pace.learn(ms);
    else pace.learnAtLeast(ms);
  }

  #recordLatencies(job: Job, inOneRoundTrip: boolean): void {
    const { host, counters, latencies } = this.#environment;
    const now = host.now();
    const roundMs = now - this.#round!.startedAt;
    this.#learnPace();
    latencies[this.#round!.type === '1a' ? 'phase1' : 'phase2'].record(roundMs);
    latencies.change.record(now - job.startedAt);
    if (inOneRoundTrip) counters.oneRoundTrip += 1;
  }
}

/** What one waited for somebody who is not well is not how long a round takes. */
function startOf({ startedAt, hedgedAt }: Round): number {
  return hedgedAt ?? startedAt;
}
