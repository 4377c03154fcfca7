/** One partition's agent in a real process: its updates run on the cluster's register, its roles on the driver. */
import { type Cluster, reject } from '../caspaxos/index.ts';
import type { Host, Timer } from '../protocol/index.ts';
import {
  type AgentEvent,
  AgentStateMachine,
  type Configuration,
  type FailoverState,
  type Hint,
  type IntentBody,
  newState,
  parseState,
  type RegionName,
  type Role,
  type SchedulingPolicy,
  storedForm,
  transition,
  type Verdict,
} from './core/index.ts';
import type { Driver } from './driver.ts';
import { FailoverError } from './errors.ts';
import type { Sleeper } from './wake-queue.ts';
import type { WorkQueue } from './work-queue.ts';

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
  readonly firstBeatAt: number;
  readonly sendHint: ((hint: Hint) => void) | undefined;
  readonly onEvent: (agent: HostedAgent, event: AgentEvent) => void;
  readonly onUpdate: (
    agent: HostedAgent,
    ms: number,
    outcome: 'accepted' | 'stale' | 'refused' | 'failed',
  ) => void;
  /** The driver has assumed a role, or could not. */
  readonly onRole: (role: Role, error: unknown) => void;
  /** What it wants may have changed: look at `wakeAt`. */
  readonly onChanged: (agent: HostedAgent) => void;
}

const LOOK_MS = 20;
const ASSUME_AGAIN_MS = 1000;

/** Keys of failover states among the cluster's registers. */
export function registerOf(partitionSet: string): string {
  return `failover/${partitionSet}`;
}

export class HostedAgent implements Sleeper {
  readonly partitionSet: string;
  readonly #options: HostedAgentOptions;
  readonly #core: AgentStateMachine;
  #assuming: Promise<void> = Promise.resolve();
  #isStopping = false;
  #isClosed = false;
  #stopped: (() => void) | undefined;

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
        firstBeatAt,
        random: () => host.random(),
      },
      {
        update: () => this.#enqueue(() => this.#update()),
        read: () => this.#enqueue(() => this.#read()),
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

  get role(): Role | undefined {
    return this.#core.role;
  }

  get wakeAt(): number {
    return this.#isClosed ? Infinity : this.#core.wakeAt;
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

  suspended(): void {
    this.#act(() => this.#core.suspended(this.#options.host.now()));
  }

  /** What an operator or the control plane wants. Resolves with the state that has it as open or honoured. */
  async post(intent: IntentBody, by: { id: string; who: string; gcn?: number }): Promise<FailoverState> {
    const { cluster, host } = this.#options;
    const at = new Date(host.wallClock()).toISOString();
    let verdict: Verdict | undefined;
    const outcome = await cluster.change<unknown>(registerOf(this.partitionSet), (current) => {
      verdict = transition(stateIn(current, this.partitionSet), { type: 'intent', at, intent, ...by });
      return edited(current, verdict);
    });
    if (verdict?.verdict === 'refused')
      throw new FailoverError(verdict.refusal.code, verdict.refusal.message, verdict.refusal.field);
    if (outcome.outcome !== 'committed')
      throw new FailoverError(
        'UPDATE_FAILED',
        `The intent's outcome is ${outcome.outcome}: ${outcome.error.message}`,
      );
    const value = outcome.value ?? (await cluster.read(registerOf(this.partitionSet))).value;
    const state = stateIn(value, this.partitionSet);
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
    const { host, region, cluster } = this.#options;
    const { state } = this;
    if (state === undefined || state.leaseSet.length <= state.configuration.minDurability) return;
    const until = host.now() + Math.min(withinMs, state.configuration.timings.leaseMs / 3);
    while (host.now() < until) {
      const { value } = await cluster.read(registerOf(this.partitionSet)).catch(() => ({ value: undefined }));
      if (value === undefined || !stateIn(value, this.partitionSet).leaseSet.includes(region)) return;
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
  }

  #enqueue(work: () => Promise<void>): void {
    const isRenewal = this.#core.role?.role === 'writer' && this.#core.state?.phase === 'Steady';
    this.#options.work.run(isRenewal ? 'renewal' : 'other', work);
  }

  async #update(): Promise<void> {
    if (this.#isClosed) return;
    const { cluster, driver, host } = this.#options;
    const startedAt = host.now();
    let verdict: Verdict | undefined;
    let editedAt = startedAt;
    const outcome = await cluster.change<unknown>(registerOf(this.partitionSet), (current) => {
      editedAt = host.now();
      const at = new Date(host.wallClock()).toISOString();
      verdict = this.#core.edit(this.#found(current), driver.status(), editedAt, at);
      return edited(current, verdict);
    });
    const now = host.now();
    const value = outcome.outcome === 'committed' ? outcome.value : undefined;
    const state = value === undefined ? undefined : stateIn(value, this.partitionSet);
    const end =
      verdict?.verdict === 'refused' ? 'refused' : state === undefined ? 'failed' : verdict!.verdict;
    this.#options.onUpdate(this, now - startedAt, end);
    this.#act(() => {
      if (verdict?.verdict === 'refused') this.#core.refused(verdict.refusal, now);
      else if (state === undefined || verdict === undefined) this.#core.fail(now);
      else this.#core.finish(state, verdict.verdict, now, timesOf(startedAt, editedAt, now, outcome));
    });
  }

  #found(current: unknown): FailoverState {
    const { configuration } = this.#options;
    if (current === undefined && configuration !== undefined)
      return newState(this.partitionSet, configuration);
    return stateIn(current, this.partitionSet);
  }

  async #read(): Promise<void> {
    if (this.#isClosed) return;
    const { cluster, host, configuration } = this.#options;
    try {
      const { value } = await cluster.read(registerOf(this.partitionSet));
      this.#act(() => {
        if (value !== undefined) this.#core.learn(stateIn(value, this.partitionSet), host.now());
        else if (configuration !== undefined) this.#core.begin(host.now());
        else this.#core.missed();
      });
    } catch {
      this.#act(() => this.#core.missed());
    }
  }

  /** One role after the other, in the order in which they were given. */
  #assume(role: Role): void {
    this.#assuming = this.#assuming.then(() => this.#carryOut(role));
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
    this.#act(() => this.#core.assumed(role, host.now()));
  }

  #onEvent(event: AgentEvent): void {
    if (event.event === 'stopped') this.#stopped?.();
    this.#options.onEvent(this, event);
  }

  #act(run: () => void): void {
    if (this.#isClosed) return;
    run();
    this.#options.onChanged(this);
  }
}

/** With several attempts only the last one's phase 2 is known; a phase 1 takes about as long. */
function timesOf(
  startedAt: number,
  editedAt: number,
  now: number,
  outcome: { readonly outcome: string; readonly attempts?: number },
): { attemptMs: number; phase2Ms: number } {
  const phase2Ms = now - editedAt;
  const isFirst = (outcome.attempts ?? 1) <= 1;
  return { attemptMs: isFirst ? now - startedAt : Math.min(now - startedAt, 2 * phase2Ms), phase2Ms };
}

/** What the editor returns: the next state as it is stored, or the very value it was given when nothing changes. */
function edited(current: unknown, verdict: Verdict): unknown {
  if (verdict.verdict === 'refused') return reject(verdict.refusal.message);
  return verdict.verdict === 'stale' ? current : storedForm(verdict.state);
}

/** The state that the register holds, checked. Throws inside an editor: the register is left as it was. */
function stateIn(value: unknown, partitionSet: string): FailoverState {
  if (value === undefined)
    throw new FailoverError(
      'PARTITION_SET_UNKNOWN',
      `There is no partition-set ${partitionSet} on these acceptors.`,
    );
  const parsed = parseState(value);
  if ('refusal' in parsed)
    throw new FailoverError(parsed.refusal.code, parsed.refusal.message, parsed.refusal.field);
  return parsed.value;
}
