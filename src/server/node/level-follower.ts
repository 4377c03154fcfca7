/**
 * A partition as its agent drives it, with one thing more: the consistency level that the failover state has is the level that
 * the partition keeps. The file says it once, when a partition-set is made; afterwards operators change it in the state, and
 * there it comes into force when it has become safe. A writer keeps a stronger level from when it is wanted, so that what it
 * acknowledges while the change is on its way is good under the new one too.
 */
import type { Consistency, EnginePartition } from '../../engine/index.ts';
import {
  type AgentView,
  type Configuration,
  type Driver,
  type DriverStatus,
  type FailoverState,
  type Role,
  strengthOf,
} from '../../failover/index.ts';

export class LevelFollower implements Driver {
  readonly #partition: EnginePartition;
  readonly #state: () => FailoverState | undefined;
  #seen: Configuration | undefined;

  constructor(partition: EnginePartition, state: () => FailoverState | undefined) {
    this.#partition = partition;
    this.#state = state;
  }

  incarnation(): Promise<number> {
    return this.#partition.incarnation();
  }

  attach(agent: AgentView): void {
    this.#partition.attach(agent);
  }

  /** Asked for every update, so that is how often the level is looked at. */
  status(): DriverStatus {
    this.#follow();
    return this.#partition.status();
  }

  async assume(role: Role): Promise<void> {
    await this.#partition.assume(role);
    this.#seen = undefined;
    this.#follow();
  }

  #follow(): void {
    const { core } = this.#partition;
    const configuration = this.#state()?.configuration;
    if (core === undefined || configuration === undefined || configuration === this.#seen) return;
    this.#seen = configuration;
    const next = levelIn(configuration, core.reign !== undefined);
    if (!isSame(next, core.consistency)) core.consistency = next;
  }
}

export function levelIn({ consistency, wanted, staleness }: Configuration, isWriter: boolean): Consistency {
  const wish = isWriter ? wanted?.consistency : undefined;
  const isRise = wish !== undefined && strengthOf(wish) > strengthOf(consistency);
  return { level: isRise ? wish : consistency, ...(staleness && { staleness }) };
}

function isSame(a: Consistency, b: Consistency): boolean {
  const isSameBound =
    a.staleness?.writes === b.staleness?.writes && a.staleness?.seconds === b.staleness?.seconds;
  return a.level === b.level && isSameBound;
}
