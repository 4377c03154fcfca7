/**
 * A writer that has restarted recovers its log before it welcomes anybody: its driver asks the other members of the lease set what they
 * have. Here is what becomes of it when none of them answers.
 *
 *   a third of a lease    it says that it cannot commit, so whoever can takes the writes over
 *   two leases            nobody has: there is nobody, and it goes on with what it has itself
 *
 * At the weaker levels nobody else is sure to have what was acknowledged, and most disks do come back as they were: there it goes on
 * with what it has after a third of a lease, and says that it cannot commit only when it is not done a third later.
 */
import { certainlyOver } from '../time.ts';
import { type FailoverState, needsLeaseSet, type RegionName } from '../machine/index.ts';
import type { DriverStatus } from './driver.ts';
import { unansweredMs } from './duties.ts';

const LEASES = 2;

export class RecoveryWatch {
  readonly #region: RegionName;
  /** Since when it is to be the writer, and recovers. */
  #since: number | undefined;
  #stuckAt = Infinity;
  #aloneAt = Infinity;
  #lookedAt = -Infinity;

  constructor(region: RegionName) {
    this.#region = region;
  }

  /** True: what it has to say has changed. */
  look(state: FailoverState, status: DriverStatus | undefined, now: number): boolean {
    const { writer, configuration, leaseMs } = state;
    const isOver = status?.recovering !== true || (writer !== null && writer !== this.#region);
    if (isOver) this.#since = undefined;
    else if (writer !== null) this.#since ??= now;
    const [since, third] = [this.#since ?? Infinity, unansweredMs(configuration)];
    const isStrict = needsLeaseSet(configuration.consistency);
    this.#stuckAt = since + (isStrict ? third : 2 * third);
    this.#aloneAt = since + (isStrict ? LEASES * certainlyOver(leaseMs) : third);
    const next = this.nextAt;
    this.#lookedAt = now;
    return next <= now;
  }

  get nextAt(): number {
    return Math.min(...[this.#stuckAt, this.#aloneAt].filter((at) => at > this.#lookedAt), Infinity);
  }

  isStuck(now: number): boolean {
    return now >= this.#stuckAt && (now < this.#aloneAt || this.#aloneAt < this.#stuckAt);
  }

  /** Whose answers the driver needs; undefined: none. */
  members({ leaseSet }: FailoverState, now: number): readonly RegionName[] | undefined {
    if (this.#since === undefined) return undefined;
    return now >= this.#aloneAt ? [this.#region] : leaseSet;
  }
}
