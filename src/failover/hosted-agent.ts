/** One partition's agent in a real process: its updates run on the cluster's register, its roles on the driver. */
import {
  type Backoff,
  type ChangeOutcome,
  type Cluster,
  type ReadResult,
  type Rejection,
  reject,
} from '../caspaxos/index.ts';
import type { Host, Timer } from '../protocol/index.ts';
import {
  type AgentEvent,
  AgentStateMachine,
  type Configuration,
  type FailoverState,
  type Hint,
  type IntentBody,
  newState,
  type RegionName,
  type Role,
  type SchedulingPolicy,
  type Took,
  transition,
  type Verdict,
  type UpdatePace,
} from './core/index.ts';
import type { Driver } from './driver.ts';
import type { Departures } from './departures.ts';
import { FailoverError } from './errors.ts';
import type { Moves } from './moves.ts';
import { StateCodec } from './state-codec.ts';
import type { Sleeper } from './wake-queue.ts';
import type { Lane, WorkQueue } from './work-queue.ts';

export interface HostedAgentOptions {
  readonly partitionSet: string;
  readonly region: RegionName;
  readonly incarnation: number;
  /** Of a partition-set that does not exist yet. */
  readonly configuration: Configuration | undefined;
  readonly driver: Driver;
  readonly cluster: Cluster;
  readonly host: Host;
  readonly policy: SchedulingPolicy;
  readonly work: WorkQueue;
  readonly departures: Departures;
  /** Who of this process is on its way home. */
  readonly moves: Moves;
  /** Of this process: shared like the moves. */
  readonly pace: UpdatePace;
  readonly firstBeatAt: number;
  /** The data were last used under another boot or on another machine. */
  readonly isDirectoryStrange?: boolean | undefined;
  readonly sendHint: ((hint: Hint) => void) | undefined;
  readonly onEvent: (agent: HostedAgent, event: AgentEvent) => void;
  readonly onUpdate: (
    agent: HostedAgent,
    ms: number,
    outcome: 'accepted' | 'stale' | 'refused' | 'failed',
  ) => void;
  /** The driver has assumed a role, or could not. */
  readonly onRole: (role: Role, error: unknown) => void;
  /** An error in its work, or in what it was given to call. It rests, and goes on from what is in the register. */
  readonly onError: (error: unknown) => void;
  /** What it wants may have changed: look at `wakeAt`. */
  readonly onChanged: (agent: HostedAgent) => void;
}

const LOOK_MS = 20;
const ASSUME_AGAIN_MS = 1000;
/** After an error of its own. */
const REST_MS = 1000;
/** Of a lease: a process that stood still for longer trusts none that it has. */
const STOOD_STILL_SHARE = 1 / 2;
/** How long a heartbeat waits for others: that share of an interval, ... */
const PATIENCE_SHARE = 1 / 10;
/** ... and no more than this. */
const MOST_PATIENCE_MS = 100;

/** Keys of failover states among the cluster's registers. */
export function registerOf(partitionSet: string): string {
  return `failover/${partitionSet}`;
}

export class HostedAgent implements Sleeper {
  readonly partitionSet: string;
  readonly #options: HostedAgentOptions;
  readonly #core: AgentStateMachine;
  /** An update waits by what its agent knows of the register, and all that it sends is paid from the agent's budget. */
  readonly #backoff: Backoff = {
    delayMs: ({ lost, because }) =>
      because === undefined ? 0 : this.#core.retries.delayMs(lost, because, this.#options.host.now()),
    sent: () => this.#core.sent(this.#options.host.now()),
  };
  /** For what people want: it is paid too, and does not wait for it. */
  readonly #urgentBackoff: Backoff = {
    ...this.#backoff,
    delayMs: ({ lost, because }) => (because === undefined ? 0 : this.#core.retries.turnMs(lost)),
  };
  #assuming: Promise<void> = Promise.resolve();
  #isStopping = false;
  #isUpdating = false;
  #isClosed = false;
  #stopped: (() => void) | undefined;
  #restsUntil = -Infinity;
  /** How often it had to begin anew: what was under way before is nobody's any more. */
  #errors = 0;

  constructor(options: HostedAgentOptions) {
    this.#options = options;
    this.partitionSet = options.partitionSet;
    const { region, incarnation, policy, host, firstBeatAt, sendHint } = options;
    this.#core = new AgentStateMachine(
      {
        region,
        incarnation,
        policy,
        hints: sendHint !== undefined,
        startedAt: host.now(),
        isDirectoryStrange: options.isDirectoryStrange,
        firstBeatAt,
        intervalMs: options.configuration?.timings.intervalMs,
        random: () => host.random(),
      },
      {
        update: () => void this.#attempt(() => this.#begin()),
        read: () => this.#options.work.run(this.#laneOfRead(), () => this.#attempt(() => this.#read())),
        assume: (role) => this.#assume(role),
        hint: (hint) => sendHint?.(hint),
        event: (event) => this.#onEvent(event),
      },
    );
    options.driver.attach?.({
      mayWrite: () => this.mayWrite(),
      isStopping: () => this.#isStopping,
      grant: (asking) => this.#core.grant(asking, host.now()),
      changed: () => this.#act(() => this.#core.onStatus(options.driver.status(), host.now())),
    });
  }

  get state(): FailoverState | undefined {
    return this.#core.state;
  }

  /** Whether this process has acted for its region, and no earlier one can any more. */
  get mayAct(): boolean {
    return this.#core.mayAct(this.#options.host.now());
  }

  get role(): Role | undefined {
    return this.#core.role;
  }

  get wakeAt(): number {
    return this.#isClosed ? Infinity : Math.max(this.#core.wakeAt, this.#restsUntil);
  }

  wake(): void {
    this.#act(() => this.#core.wake(this.#options.host.now()));
  }

  mayWrite(): boolean {
    const { role } = this.#core;
    return role?.role === 'writer' && role.accepts && this.#options.host.now() < this.#core.leaseUntil;
  }

  onHint(hint: Hint): void {
    this.#act(() => this.#core.onHint(hint, this.#options.host.now()));
  }

  /** The process stood still. A busy moment is no such thing: clocks that agree have counted it, and a lease is long. */
  suspended(ms = Infinity): void {
    const leaseMs = this.state?.leaseMs ?? 0;
    if (ms < leaseMs * STOOD_STILL_SHARE) return;
    this.#act(() => this.#core.suspended(this.#options.host.now()));
  }

  /** What an operator or the control plane wants. Resolves with the state that has it as open or honoured. */
  async post(intent: IntentBody, by: { id: string; who: string; gcn?: number }): Promise<FailoverState> {
    const { cluster, host } = this.#options;
    const at = new Date(host.wallClock()).toISOString();
    let verdict: Verdict | undefined;
    const edit = (current: FailoverState | undefined): Edited => {
      verdict = transition(existing(current, this.partitionSet), { type: 'intent', at, intent, ...by });
      return edited(current, verdict);
    };
    const codec = new StateCodec();
    const options = { codec, backoff: this.#urgentBackoff };
    const outcome = await cluster.change(registerOf(this.partitionSet), edit, options);
    if (verdict?.verdict === 'refused')
      throw new FailoverError(verdict.refusal.code, verdict.refusal.message, verdict.refusal.field);
    if (outcome.outcome !== 'committed')
      throw new FailoverError(
        'UPDATE_FAILED',
        `The intent's outcome is ${outcome.outcome}: ${outcome.error.message}`,
      );
    const value = outcome.value ?? (await cluster.read(registerOf(this.partitionSet), options)).value;
    const state = existing(value, this.partitionSet);
    this.#act(() => this.#core.learn(state, host.now()));
    return state;
  }

  /** Rule 22: moves the writes away without loss if it can, then leaves the stop mark, and ends. At most so long. */
  async stop(withinMs: number): Promise<void> {
    const { host } = this.#options;
    const startedAt = host.now();
    this.#isStopping = true;
    await this.giveAway(withinMs / 2);
    const left = withinMs - (host.now() - startedAt);
    let timer: Timer | undefined;
    const stopped = new Promise<void>((resolve) => {
      this.#stopped = resolve;
      timer = host.after(left, resolve);
    });
    this.#act(() => this.#core.stop(host.now()));
    await stopped;
    host.cancel(timer);
    await this.#untilRemoved(withinMs - (host.now() - startedAt));
    this.close();
  }

  /**
   * The others' commits wait for every member of the lease set. It goes on acknowledging until the writer has taken it out, which
   * the stop mark asks for, so that nobody has to find out by waiting; but not for long.
   */
  async #untilRemoved(withinMs: number): Promise<void> {
    const { host, region } = this.#options;
    const { state } = this;
    if (state === undefined || state.leaseSet.length <= state.configuration.minDurability) return;
    const until = host.now() + Math.min(withinMs, state.configuration.timings.leaseMs / 3);
    while (host.now() < until) {
      const { value } = await this.#readState().catch(() => ({ value: undefined }));
      if (value?.leaseSet.includes(region) !== true) return;
      await new Promise<void>((resolve) => {
        host.after(LOOK_MS, resolve);
      });
    }
  }

  /** Wishes the writes away, if they are here, and waits until they are. A wish that cannot be honoured is no reason to stay. */
  async giveAway(withinMs: number): Promise<void> {
    const { host, region } = this.#options;
    const isThere = (): boolean => this.state?.writer === region;
    const until = host.now() + withinMs;
    if (!isThere() || withinMs <= 0) return;
    try {
      await this.post({ kind: 'revoke', target: region }, { id: host.randomId(), who: `stop of ${region}` });
    } catch {
      return;
    }
    while (isThere() && host.now() < until) {
      await new Promise<void>((resolve) => {
        host.after(LOOK_MS, resolve);
      });
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#options.moves.end(this);
  }

  #laneOfUpdate(): Lane {
    const { role, state, isRoutine } = this.#core;
    if (role?.role === 'writer' && state?.phase === 'Steady') return 'renewal';
    return isRoutine ? 'routine' : 'urgent';
  }

  #laneOfRead(): Lane {
    const { state } = this.#core;
    return state === undefined || state.phase === 'Steady' ? 'routine' : 'urgent';
  }

  /** Whoever waits for company takes nobody's place in the queue, and keeps its own moment: the next beat is not later for it. */
  async #begin(): Promise<void> {
    const { departures, host, work } = this.#options;
    const wokenAt = host.now();
    const errors = this.#errors;
    const patienceMs = this.#patienceMs();
    if (patienceMs > 0) await departures.within(patienceMs);
    const waitedMs = host.now() - wokenAt;
    work.run(this.#laneOfUpdate(), () => this.#attempt(() => this.#update(waitedMs, errors)));
  }

  async #update(waitedMs: number, errors: number): Promise<void> {
    if (this.#isClosed || errors !== this.#errors) return;
    const { cluster, driver, host, moves, region } = this.#options;
    const startedAt = host.now();
    this.#isUpdating = true;
    let verdict: Verdict | undefined;
    let editedAt = startedAt;
    const edit = (current: FailoverState | undefined): Edited => {
      editedAt = host.now();
      const at = new Date(host.wallClock()).toISOString();
      const isBusy = moves.isFullFor(this);
      verdict = this.#core.edit(this.#found(current), driver.status(), editedAt, at, isBusy);
      const isMoving = verdict.verdict === 'accepted' && isGoingHome(verdict.state, region);
      if (isMoving && !this.#isClosed) moves.begin(this);
      return edited(current, verdict);
    };
    const key = registerOf(this.partitionSet);
    // It throws only if what it committed cannot be read: then nobody knows what is there.
    const outcome = await cluster
      .change(key, edit, { codec: new StateCodec(this.state), backoff: this.#backoff })
      .catch(() => undefined);
    const now = host.now();
    this.#isUpdating = false;
    if (errors !== this.#errors) return;
    const state = outcome?.outcome === 'committed' ? outcome.value : undefined;
    const end =
      verdict?.verdict === 'refused' ? 'refused' : state === undefined ? 'failed' : verdict!.verdict;
    this.#options.onUpdate(this, now - startedAt, end);
    this.#act(() => {
      if (verdict?.verdict === 'refused') this.#core.refused(verdict.refusal, now);
      else if (state === undefined || verdict === undefined) this.#core.fail(now);
      else {
        const { isSlow } = this.#options.pace;
        const took = tookOf(startedAt - waitedMs, editedAt, now, outcome, isSlow);
        this.#core.finish(state, verdict.verdict, now, took);
      }
    });
  }

  #patienceMs(): number {
    const { state, isRoutine } = this.#core;
    if (state === undefined || !isRoutine) return 0;
    return Math.min(MOST_PATIENCE_MS, state.configuration.timings.intervalMs * PATIENCE_SHARE);
  }

  #found(current: FailoverState | undefined): FailoverState {
    const { configuration } = this.#options;
    if (current === undefined && configuration !== undefined)
      return newState(this.partitionSet, configuration);
    return existing(current, this.partitionSet);
  }

  #readState(): Promise<ReadResult<FailoverState>> {
    const options = { codec: new StateCodec(this.state), backoff: this.#backoff };
    return this.#options.cluster.read(registerOf(this.partitionSet), options);
  }

  async #read(): Promise<void> {
    if (this.#isClosed) return;
    const { host, configuration } = this.#options;
    try {
      const { value } = await this.#readState();
      this.#act(() => {
        if (value !== undefined) this.#core.learn(value, host.now());
        else if (configuration !== undefined) this.#core.begin(host.now());
        else this.#core.missed();
      });
    } catch {
      this.#act(() => this.#core.missed());
    }
  }

  /** One role after the other, in the order in which they were given. */
  #assume(role: Role): void {
    this.#assuming = this.#assuming.then(() => this.#attempt(() => this.#carryOut(role)));
  }

  async #carryOut(role: Role): Promise<void> {
    const { driver, host, onRole } = this.#options;
    if (this.#isClosed) return;
    try {
      await driver.assume(role);
    } catch (error) {
      onRole(role, error ?? new Error('The driver did not say why.'));
      host.after(ASSUME_AGAIN_MS, () => {
        if (this.#core.role === role && !this.#isClosed) this.#assume(role);
      });
      return;
    }
    onRole(role, undefined);
    this.#act(() => this.#core.assumed(role, driver.status(), host.now()));
  }

  #onEvent(event: AgentEvent): void {
    if (event.event === 'stopped') this.#stopped?.();
    this.#options.onEvent(this, event);
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#act(() => this.#failed(error));
    }
  }

  /** Nobody knows what state the agent is in: it holds no lease, and after a rest it looks at the register. */
  #failed(error: unknown): void {
    this.#errors += 1;
    this.#isUpdating = false;
    this.#restsUntil = this.#options.host.now() + REST_MS;
    this.#core.doubt();
    this.#options.onError(error);
  }

  /** Everything that runs the agent passes through here: an error of one partition-set stays in it (CASPaxos rule 11). */
  #act(run: () => void): void {
    if (this.#isClosed) return;
    try {
      run();
    } catch (error) {
      this.#failed(error);
    }
    this.#leaveMoves();
    this.#options.onChanged(this);
  }

  /** It has arrived, or did not go. An update that is under way may have begun the move. */
  #leaveMoves(): void {
    const { moves, region } = this.#options;
    if (this.#isUpdating || !moves.has(this)) return;
    if (this.state === undefined || !isGoingHome(this.state, region)) moves.end(this);
  }
}

/** With several attempts only the last one's phase 2 is known; a phase 1 takes about as long. */
function tookOf(
  startedAt: number,
  editedAt: number,
  now: number,
  outcome: ChangeOutcome<FailoverState> | undefined,
  isSlow: boolean,
): Took {
  const phase2Ms = now - editedAt;
  const isDone = outcome?.outcome === 'committed';
  const isFirst = !isDone || outcome.attempts <= 1;
  const attemptMs = isFirst ? now - startedAt : Math.min(now - startedAt, 2 * phase2Ms);
  // What changed nothing had no phase 2.
  return { attemptMs, ...(isDone && outcome.changed && { phase2Ms }), isSlow };
}

function isGoingHome({ phase, writer, why }: FailoverState, region: RegionName): boolean {
  return phase === 'Graceful' && writer === region && why === 'priority';
}

type Edited = FailoverState | undefined | Rejection;

/** What the editor returns: the next state, or the very one it was given when nothing changes. */
function edited(current: FailoverState | undefined, verdict: Verdict): Edited {
  if (verdict.verdict === 'refused') return reject(verdict.refusal.message);
  return verdict.verdict === 'stale' ? current : verdict.state;
}

/** Throws inside an editor: the register is left as it was. */
function existing(state: FailoverState | undefined, partitionSet: string): FailoverState {
  if (state !== undefined) return state;
  throw new FailoverError(
    'PARTITION_SET_UNKNOWN',
    `There is no partition-set ${partitionSet} on these acceptors.`,
  );
}
