/**
 * A region's side of one partition-set in the simulator: the real agent on the real proposer, with a driver that is a view of
 * the replication model. It is the agent's host as a process is, in virtual time: it has a clock of its own, loses everything
 * but its log in a crash, and comes back with the next incarnation.
 */
import {
  BallotSource,
  type LostBecause,
  majority,
  QUERY,
  type QueryReply,
  QuorumReader,
  RegisterProposer,
  type NoAnswer,
} from '../../caspaxos/index.ts';
import {
  type AgentEvent,
  AgentStateMachine,
  type Configuration,
  countersOf,
  type FailoverState,
  type Hint,
  newState,
  type RegionName,
  type Role,
  type SchedulingPolicy,
  UpdatePace,
  type Verdict,
} from '../../failover/index.ts';
import type { Phase1aMessage, Phase1bResult, Phase2aMessage, Phase2bResult } from '../../protocol/index.ts';
import type { Random } from '../core/index.ts';
import type { Replication } from './replication.ts';

const PACE_WEIGHT = 1 / 8;

export type Message = Phase1aMessage | Phase2aMessage<FailoverState> | typeof QUERY;
export type Reply =
  | Phase1bResult<FailoverState>
  | Phase2bResult<FailoverState>
  | QueryReply<FailoverState>
  | NoAnswer;

export interface SimAgentPort {
  now(): number;
  toAcceptors(message: Message, life: number): void;
  toPeers(hint: Hint): void;
  /** Calls `wake` at that true time; replaces the earlier call. */
  wakeAt(time: number): void;
  after(ms: number, run: () => void): void;
  onEvent(event: AgentEvent): void;
  /** An update of this agent is in the register. */
  onAccepted(): void;
  /** The writer's lease was renewed; in true time. */
  onLease(until: number): void;
  onFenced(): void;
}

export interface SimAgentOptions {
  readonly index: number;
  readonly region: RegionName;
  readonly partitionSet: string;
  readonly configuration: Configuration;
  readonly policy: SchedulingPolicy;
  readonly hints: boolean;
  readonly acceptors: number;
  /** How much faster than true time its clock runs. */
  readonly drift: number;
  readonly random: Random;
  readonly replication: Replication;
  /** How long a driver takes to assume a role. */
  readonly driverMs: number;
}

const UPDATE_TIMEOUT_MS = 10_000;

export class SimAgent {
  readonly #options: SimAgentOptions;
  readonly #port: SimAgentPort;
  #core: AgentStateMachine;
  #proposer: RegisterProposer<FailoverState>;
  #reader: QuorumReader<FailoverState> | undefined;
  #life = 0;
  #isUp = false;
  #updates = 0;
  #verdict: Verdict | undefined;
  #tried: readonly number[] = [];
  #attemptAt = 0;
  /** Of this agent alone: it sees one update where a process sees thousands. */
  readonly #pace = new UpdatePace(PACE_WEIGHT);
  #phase2At: number | undefined;

  constructor(options: SimAgentOptions, port: SimAgentPort) {
    this.#options = options;
    this.#port = port;
    this.#core = this.#newCore(0);
    this.#proposer = this.#newProposer();
  }

  get core(): AgentStateMachine {
    return this.#core;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get life(): number {
    return this.#life;
  }

  /** `withinMs`: when in that time the first heartbeat is due. */
  start(withinMs: number): void {
    this.#isUp = true;
    this.#life += 1;
    this.#core = this.#newCore(withinMs);
    this.#proposer = this.#newProposer();
    this.#reader = undefined;
    this.#options.replication.copies[this.#options.index]!.isUp = true;
    this.#sleep();
  }

  crash(): void {
    const { replication, index } = this.#options;
    replication.advance(this.#port.now());
    const copy = replication.copies[index]!;
    copy.isUp = false;
    copy.role = undefined;
    copy.leaseUntil = -Infinity;
    this.#isUp = false;
    this.#life += 1;
  }

  wake(): void {
    this.#act(() => this.#core.wake(this.#local()));
  }

  onHint(hint: Hint): void {
    this.#act(() => this.#core.onHint(hint, this.#local()));
  }

  /** Replication got somewhere: the agent may have something to say. */
  onStatus(): void {
    const { replication, index } = this.#options;
    this.#act(() => this.#core.onStatus(replication.status(index, this.#port.now()), this.#local()));
  }

  onReply(acceptor: number, message: Message, reply: Reply): void {
    if (message.type === 'query') this.#onState(acceptor, reply);
    else if (reply.type !== 'state') this.#act(() => this.#proposer.onReply(acceptor, message, reply));
  }

  #newCore(withinMs: number): AgentStateMachine {
    const { region, policy, hints, random, configuration } = this.#options;
    const now = this.#local();
    return new AgentStateMachine(
      {
        region,
        incarnation: this.#life + 1,
        policy,
        hints,
        startedAt: now,
        firstBeatAt: now + withinMs,
        intervalMs: configuration.timings.intervalMs,
        random: () => random.uniform(),
      },
      {
        update: () => this.#update(),
        read: () => this.#read(),
        assume: (role) => this.#assume(role),
        hint: (hint) => this.#port.toPeers(hint),
        event: (event) => this.#port.onEvent(event),
      },
    );
  }

  #newProposer(): RegisterProposer<FailoverState> {
    const { region, policy, acceptors } = this.#options;
    const clock = (): number => this.#port.now() + 1;
    const ballots = new BallotSource(
      { proposer: region, incarnation: this.#life + 1 },
      countersOf(policy, clock),
    );
    const life = this.#life;
    return new RegisterProposer<FailoverState>(
      ballots,
      majority(acceptors),
      {
        broadcast: (message) => this.#broadcast(message),
        wait: (attempt, because) => this.#wait(attempt, because, life),
        finished: (result) => this.#finished(result.outcome === 'committed' ? result.value : undefined),
      },
      { prepareAhead: false, giveUp: policy.giveUp },
    );
  }

  #update(): void {
    this.#updates += 1;
    const update = this.#updates;
    const life = this.#life;
    this.#verdict = undefined;
    this.#tried = [];
    this.#port.after(UPDATE_TIMEOUT_MS, () => {
      const isOurs = life === this.#life && update === this.#updates && this.#proposer.busy;
      if (isOurs) this.#act(() => this.#proposer.cancel());
    });
    this.#proposer.start((current, uncertain) => this.#edit(current, uncertain));
  }

  #edit(current: FailoverState | undefined, uncertain: boolean): FailoverState {
    const { partitionSet, configuration, replication, index, region } = this.#options;
    const found = current ?? newState(partitionSet, configuration);
    const own = found.regions[region];
    // Our own earlier try is in it: nothing is to be done again (CASPaxos rule 4).
    if (uncertain && own !== undefined && this.#tried.includes(own.beat)) return found;
    const now = this.#port.now();
    const verdict = this.#core.edit(found, replication.status(index, now), this.#local(), timestamp(now));
    this.#verdict = verdict;
    if (verdict.verdict === 'refused') return found;
    if (verdict.verdict === 'accepted') this.#tried = [...this.#tried, verdict.state.regions[region]!.beat];
    return verdict.state;
  }

  #finished(state: FailoverState | undefined): void {
    const now = this.#local();
    const verdict = this.#verdict;
    if (state === undefined || verdict === undefined) this.#core.fail(now);
    else if (verdict.verdict === 'refused') this.#core.refused(verdict.refusal, now);
    else {
      const at = this.#port.now();
      const phase2Ms = this.#phase2At === undefined ? {} : { phase2Ms: at - this.#phase2At };
      const attemptMs = at - this.#attemptAt;
      this.#pace.updated(attemptMs, state.configuration.timings.intervalMs);
      const took = { attemptMs, ...phase2Ms, isSlow: this.#pace.isSlow };
      if (verdict.verdict === 'accepted') this.#port.onAccepted();
      this.#core.finish(state, verdict.verdict, now, took);
    }
  }

  #broadcast(message: Phase1aMessage | Phase2aMessage<FailoverState>): void {
    const now = this.#port.now();
    if (message.type === '1a') {
      this.#attemptAt = now;
      this.#phase2At = undefined;
    } else {
      this.#phase2At = now;
    }
    this.#core.sent(this.#local());
    this.#port.toAcceptors(message, this.#life);
  }

  #wait(attempt: number, because: LostBecause, life: number): void {
    const ms = this.#core.retries.delayMs(attempt, because, this.#local());
    const proposer = this.#proposer;
    this.#port.after(ms === Infinity ? 0 : ms, () => {
      if (life !== this.#life || proposer !== this.#proposer || proposer.phase !== 'waiting') return;
      this.#act(() => {
        if (ms === Infinity) proposer.cancel();
        else proposer.retry();
      });
    });
  }

  #read(): void {
    this.#reader = new QuorumReader(majority(this.#options.acceptors));
    this.#core.sent(this.#local());
    this.#port.toAcceptors(QUERY, this.#life);
  }

  #onState(acceptor: number, reply: Reply): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    const verdict = reply.type === 'state' ? reader.onState(reply) : reader.onMissing(acceptor);
    if (verdict === undefined) return;
    this.#reader = undefined;
    this.#act(() => {
      if (verdict.verdict === 'agreed' && verdict.value !== undefined)
        this.#core.learn(verdict.value, this.#local());
      else if (verdict.verdict === 'agreed') this.#core.begin(this.#local());
      else this.#core.missed(verdict.verdict === 'unavailable' ? 'unavailable' : 'disagreed');
    });
  }

  #assume(role: Role): void {
    const life = this.#life;
    const { replication, index, driverMs } = this.#options;
    // A writer that must stop stops at once; everything else takes the driver a moment.
    const isStop = role.role === 'writer' && !role.accepts;
    this.#port.after(isStop ? 0 : driverMs, () => {
      if (life !== this.#life || this.#core.role !== role) return;
      replication.advance(this.#port.now());
      replication.assume(index, role);
      if (role.role === 'fenced') this.#port.onFenced();
      const status = replication.status(index, this.#port.now());
      this.#act(() => this.#core.assumed(role, status, this.#local()));
      this.onStatus();
    });
  }

  /** After everything that the agent does, its lease and its next waking are looked at again. */
  #act(run: () => void): void {
    if (!this.#isUp) return;
    this.#options.replication.advance(this.#port.now());
    run();
    this.#noteLease(this.#trueTime(this.#core.leaseUntil));
    this.#sleep();
  }

  #noteLease(until: number): void {
    const copy = this.#options.replication.copies[this.#options.index]!;
    if (until > copy.leaseUntil) this.#port.onLease(until);
    copy.leaseUntil = until;
  }

  #sleep(): void {
    this.#port.wakeAt(this.#trueTime(this.#core.wakeAt));
  }

  #local(): number {
    return this.#port.now() * (1 + this.#options.drift);
  }

  /** Rounded up, as timers are: whoever wakes then has waited long enough by its own clock. */
  #trueTime(local: number): number {
    return Math.ceil((local / (1 + this.#options.drift)) * 1000 + 1) / 1000;
  }
}

function timestamp(ms: number): string {
  return new Date(Date.UTC(2026, 0, 1) + ms).toISOString();
}
