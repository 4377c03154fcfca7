/**
 * The process that had this region's data before. Rule 13 takes it for dead: only one process has a directory. But where the directory was
 * last used under another boot, or on another machine, nothing shows that it is: it may run there still, on the same disk or a copy of it,
 * with a lease, or with grants. From this region's first own update on it gets neither again, because its incarnation is older; what it has
 * then is over when a whole lease with rule 4's margin has passed. Until then this process neither accepts, nor serves strong reads, nor follows.
 */
import type { FailoverState } from '../machine/index.ts';
import { certainlyOver } from '../time.ts';
import type { AgentOptions } from './port.ts';

export class Predecessor {
  readonly #options: Pick<AgentOptions, 'region' | 'incarnation' | 'isDirectoryStrange'>;
  #wasMet = false;
  #isFenced = false;
  #endsAt = -Infinity;
  #lookedAt = -Infinity;

  #wroteIn: number | undefined;

  constructor(options: Pick<AgentOptions, 'region' | 'incarnation' | 'isDirectoryStrange'>) {
    this.#options = options;
  }

  /** The epoch that it was writer of when this process started: nobody here knows what it granted (rule 13). */
  get wroteIn(): number | undefined {
    return this.#wroteIn;
  }

  /** The first state that this process learns of. */
  found(state: FailoverState): void {
    this.met(state);
    if (this.#wasMet && state.writer === this.#options.region) this.#wroteIn = state.gcn;
  }

  /** A state in the register before an own update shows whether there was somebody. */
  met({ regions }: FailoverState): void {
    const { region, incarnation } = this.#options;
    const known = regions[region]?.incarnation ?? 0;
    if (!this.#isFenced && known > 0 && known < incarnation) this.#wasMet = true;
  }

  /** An own update is in the register, which says how long leases may be. */
  fenced(leaseMs: number, now: number): void {
    if (this.#isFenced) return;
    this.#isFenced = true;
    if (this.#options.isDirectoryStrange === true && this.#wasMet)
      this.#endsAt = now + certainlyOver(leaseMs);
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
