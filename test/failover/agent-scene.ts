/** An agent under the test's hand: its register is a variable, its driver a set of answers, its time a number. */
import {
  type AgentEvent,
  AgentStateMachine,
  type Configuration,
  type DriverStatus,
  type FailoverState,
  type Hint,
  namedPolicy,
  newState,
  PROFILES,
  type Role,
  type Verdict,
} from 'baton/failover';

export const REGIONS = ['a', 'b', 'c'];

export function configurationOf(changes: Partial<Configuration> = {}): Configuration {
  return {
    version: 1,
    priorities: REGIONS,
    consistency: 'Strong',
    minDurability: 1,
    timings: PROFILES.paper,
    failback: 'automatic',
    ...changes,
  };
}

export function statusOfDriver(region: string, changes: Partial<DriverStatus> = {}): DriverStatus {
  const peers = Object.fromEntries(
    REGIONS.filter((name) => name !== region).map((name) => [
      name,
      { acknowledgedMsAgo: 0, lsn: 10, behindMs: 0 },
    ]),
  );
  return {
    build: 'Built',
    progress: { epoch: 1, lsn: 10 },
    gclsn: 10,
    canCommit: true,
    peers,
    quiesced: false,
    ...changes,
  };
}

/** The register that all agents of a scene share. */
export class Register {
  state: FailoverState;

  constructor(configuration: Configuration = configurationOf()) {
    this.state = newState('ps', configuration);
  }
}

export class AgentScene {
  readonly region: string;
  readonly core: AgentStateMachine;
  readonly roles: Role[] = [];
  readonly hints: Hint[] = [];
  readonly events: AgentEvent[] = [];
  status: DriverStatus;
  updates = 0;
  reads = 0;
  readonly #register: Register;

  constructor(
    region: string,
    register: Register,
    options: { incarnation?: number; now?: number; isDirectoryStrange?: boolean } = {},
  ) {
    this.region = region;
    this.#register = register;
    this.status = statusOfDriver(region);
    const now = options.now ?? 0;
    this.core = new AgentStateMachine(
      {
        region,
        incarnation: options.incarnation ?? 1,
        policy: namedPolicy('baton'),
        hints: true,
        startedAt: now,
        isDirectoryStrange: options.isDirectoryStrange,
        firstBeatAt: now,
        random: () => 0.5,
      },
      {
        update: () => (this.updates += 1),
        read: () => (this.reads += 1),
        assume: (role) => this.roles.push(role),
        hint: (hint) => this.hints.push(hint),
        event: (event) => this.events.push(event),
      },
    );
  }

  get role(): Role | undefined {
    return this.roles.at(-1);
  }

  /** Reads, fences, and makes its first update, all at that moment. */
  begin(now: number): void {
    this.core.wake(now);
    this.core.learn(this.#register.state, now);
    this.assume(now);
    this.update(now);
    this.assume(now);
  }

  /** The driver does what it was told last. */
  assume(now: number): void {
    if (this.role !== undefined) this.core.assumed(this.role, this.status, now);
  }

  /** One whole update: it starts, takes so long, and is answered. */
  update(startAt: number, tookMs = 0): Verdict {
    this.core.wake(startAt);
    return this.answer(startAt + tookMs);
  }

  /** Carries out the update under way and brings the answer. */
  answer(now: number): Verdict {
    const verdict = this.carryOut(now);
    if (verdict.verdict === 'refused') this.core.refused(verdict.refusal, now);
    else this.core.finish(this.#register.state, verdict.verdict, now, { attemptMs: 0, phase2Ms: 1 });
    return verdict;
  }

  /** The update reaches the register; the answer has not come back. */
  carryOut(now: number): Verdict {
    const verdict = this.core.edit(this.#register.state, this.status, now, '2026-11-15T00:00:00Z');
    if (verdict.verdict === 'accepted') this.#register.state = verdict.state;
    return verdict;
  }
}
