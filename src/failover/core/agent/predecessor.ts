/**
 * The process that had this region's data before. Rule 13 takes it for dead: only one process has a directory. But where the directory was
 * last used under another boot, or on another machine, nothing shows that it is: it may run there still, on the same disk or a copy of it,
 * with a lease, or with grants. From this region's first own update on it gets neither again, because its incarnation is older; what it has
 * then is over when a whole lease with rule 4's margin has passed. Until then this process neither accepts, nor serves strong reads, nor follows.
 */
import { certainlyOver } from '../time.ts';

export class Predecessor {
  readonly #mayLive: boolean;
  #wasMet = false;
  #isFenced = false;
  #endsAt = -Infinity;
  #lookedAt = -Infinity;

  constructor(mayLive: boolean) {
    this.#mayLive = mayLive;
  }

  /** What the register says of this region before an own update: 0, or nothing, when there was nobody. */
  met(incarnation: number | undefined, own: number): void {
    if (!this.#isFenced && incarnation !== undefined && incarnation > 0 && incarnation < own)
      this.#wasMet = true;
  }

  /** An own update is in the register, which says how long leases may be. */
  fenced(leaseMs: number, now: number): void {
    if (this.#isFenced) return;
    this.#isFenced = true;
    if (this.#mayLive && this.#wasMet) this.#endsAt = now + certainlyOver(leaseMs);
  }

  /** Rule 2: this process has a successful update of its own. */
  get isFenced(): boolean {
    return this.#isFenced;
  }

  /** Whether it has no rights any more. */
  isOver(now: number): boolean {
    return this.#isFenced && now >= this.#endsAt;
  }

  /** When it will be, unless that was looked at already. */
  get endsAt(): number {
    return this.#lookedAt < this.#endsAt ? this.#endsAt : Infinity;
  }

  look(now: number): void {
    this.#lookedAt = now;
  }
}
