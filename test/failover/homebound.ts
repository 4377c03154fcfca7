/**
 * One process of a region that writes for others: its partition-sets would rather be written elsewhere. The registers are
 * variables, the data stand still, the other regions do what the test says, and time is virtual.
 */
import { type Cluster, Rejection } from 'baton/caspaxos';
import {
  type Driver,
  type DriverStatus,
  type FailoverState,
  HostedAgent,
  namedPolicy,
  registerOf,
  type Role,
  type Timings,
  WakeQueue,
} from 'baton/failover';
import { statusOfDriver } from './agent-scene.ts';
import { accepted, after, healthy, heartbeat, intent } from './reports.ts';
import { SimHost } from './sim-host.ts';

type Options = ConstructorParameters<typeof HostedAgent>[0];
type Edit = (current: FailoverState | undefined) => FailoverState | undefined | Rejection;

const HERE = 'a';
const HOME = 'b';
const STEP_MS = 10;
/** With leases long enough that nothing is given up while the test looks. */
export const UNHURRIED: Timings = { intervalMs: 1000, leaseMs: 60_000, settleMs: 300 };

/** Registers that answer at once, unless they are held. */
export class Registers {
  readonly states = new Map<string, FailoverState>();
  /** How many have begun. */
  changes = 0;
  reads = 0;
  /** What a change waits for before its editor runs. */
  before: () => Promise<void> = () => Promise.resolve();
  beforeRead: () => Promise<void> = () => Promise.resolve();
  /** What a change waits for until its answer is back. False: the answer is lost. */
  behind: () => Promise<boolean> = () => Promise.resolve(true);

  readonly cluster = {
    change: (key: string, edit: Edit) => this.#change(key, edit),
    read: (key: string) => this.#read(key),
  } as unknown as Cluster;

  async #read(key: string): Promise<object> {
    this.reads += 1;
    await this.beforeRead();
    return { value: this.states.get(key), version: 1 };
  }

  async #change(key: string, edit: Edit): Promise<object> {
    this.changes += 1;
    await this.before();
    const value = edit(this.states.get(key));
    if (value instanceof Rejection) return { outcome: 'rejected', error: new Error(value.reason) };
    this.states.set(key, value!);
    if (!(await this.behind())) return { outcome: 'unknown', error: new Error('no answer') };
    return { outcome: 'committed', value, attempts: 1 };
  }
}

/** Data that never change. It does at once what it is told. */
export class StillDriver implements Driver {
  role: Role | undefined;
  readonly #region: string;

  constructor(region: string) {
    this.#region = region;
  }

  async incarnation(): Promise<number> {
    return 1;
  }

  async assume(role: Role): Promise<void> {
    this.role = role;
  }

  status(): DriverStatus {
    const quiesced = this.role?.role === 'writer' && !this.role.accepts;
    return statusOfDriver(this.#region, { quiesced });
  }
}

/** `a` writes, and `b` is preferred: alive for long enough, caught up, in the lease set. */
export function awayFromHome(timings: Timings = UNHURRIED): FailoverState {
  return after(healthy({ priorities: ['a', 'b', 'c'], timings }), () =>
    intent({ kind: 'priorities', priorities: [HOME, HERE, 'c'] }),
  );
}

export class Homebound {
  readonly time = new SimHost();
  readonly registers = new Registers();
  readonly wakes = new WakeQueue(this.time);

  get cluster(): Cluster {
    return this.registers.cluster;
  }

  /** A partition-set whose writes are here, in the register. */
  make(partitionSet: string, state = awayFromHome()): void {
    this.registers.states.set(registerOf(partitionSet), { ...state, partitionSet });
  }

  /** An agent of its own, with the places and the queues of the test. */
  agent(
    partitionSet: string,
    shared: Pick<Options, 'moves' | 'pace' | 'work' | 'departures'>,
    { region = HERE, ...others }: Partial<Options> = {},
  ): HostedAgent {
    const agent = new HostedAgent({
      partitionSet,
      region,
      incarnation: 1,
      configuration: undefined,
      driver: new StillDriver(region),
      cluster: this.cluster,
      host: this.time,
      policy: namedPolicy('baton'),
      firstBeatAt: this.time.now(),
      sendHint: undefined,
      onEvent: () => undefined,
      onUpdate: () => undefined,
      onRole: () => undefined,
      onError: (error) => {
        throw error;
      },
      onChanged: (changed) => this.wakes.look(changed),
      ...shared,
      ...others,
    });
    this.wakes.look(agent);
    return agent;
  }

  state(partitionSet: string): FailoverState {
    return this.registers.states.get(registerOf(partitionSet))!;
  }

  /** Where the partition-sets are on their way home. */
  get moving(): readonly string[] {
    return [...this.registers.states.values()]
      .filter(({ phase }) => phase === 'Graceful')
      .map(({ partitionSet }) => partitionSet);
  }

  /** What another region reports. */
  says(region: string, partitionSet: string, changes: Parameters<typeof heartbeat>[2] = {}): void {
    const state = this.state(partitionSet);
    this.registers.states.set(
      registerOf(partitionSet),
      accepted(state, heartbeat(state, region, { scheduled: false, ...changes })),
    );
  }

  /** Time passes; the other regions beat, and know no more than that. */
  async pass(ms: number): Promise<void> {
    const end = this.time.now() + ms;
    let beatAt = this.time.now();
    while (this.time.now() < end) {
      if (this.time.now() >= beatAt) {
        for (const { partitionSet } of this.registers.states.values()) this.#othersBeat(partitionSet);
        beatAt += UNHURRIED.intervalMs / 2;
      }
      this.time.run(Math.min(end, this.time.now() + STEP_MS));
      await this.settle();
    }
  }

  /** What is under way and waits for no timer comes to its end. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** The region that is preferred knows of the move: it goes through. */
  async arrives(partitionSet: string): Promise<void> {
    this.says(HOME, partitionSet, { wait: { step: this.state(partitionSet).step, waitedMs: 1 } });
    await this.pass(UNHURRIED.intervalMs);
  }

  #othersBeat(partitionSet: string): void {
    const { phase, regions } = this.state(partitionSet);
    if (phase !== 'Steady') return;
    for (const region of [HOME, 'c'])
      if (regions[region]?.stop === undefined) this.says(region, partitionSet, { scheduled: true });
  }
}
