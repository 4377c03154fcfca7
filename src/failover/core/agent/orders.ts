/**
 * What the driver was told to be, and what of it is true by now. A driver may take long over a role, and then it is still what
 * it was before, or on its way; a report says only what holds wherever on that way it is. Above all rule 16: a region joins the
 * lease set when commits wait for it, not when the driver has been told to wait. And a level is ready when the driver keeps it.
 */
import type { Level, RegionName } from '../machine/index.ts';
import { type Role, sameRole } from './driver.ts';

/** Whose acknowledgement the driver's commits in an epoch wait for, and at which level. */
export interface CommitSets {
  /** Certainly, whichever of its orders it is at. */
  readonly certain: ReadonlySet<RegionName>;
  /** Perhaps: by one of them at least. */
  readonly possible: ReadonlySet<RegionName>;
  /** It has assumed what it was told last, so these are the same. */
  readonly isSettled: boolean;
  /** Certainly. Undefined: that is not certain, or it is no writer in this epoch. */
  readonly keeps?: Level;
}

export class Orders {
  #assumed: Role | undefined;
  /** Told and not assumed yet, the oldest first. */
  #open: readonly Role[] = [];

  get last(): Role | undefined {
    return this.#open.at(-1) ?? this.#assumed;
  }

  get isSettled(): boolean {
    return this.#open.length === 0;
  }

  /** False: it was told that already. */
  give(role: Role): boolean {
    if (sameRole(this.last, role)) return false;
    this.#open = [...this.#open, role];
    return true;
  }

  /** The driver has assumed that role, and all that came before it is over, whether it was assumed or not. */
  assumed(role: Role): void {
    const at = this.#open.indexOf(role);
    if (at < 0) return;
    this.#assumed = role;
    this.#open = this.#open.slice(at + 1);
  }

  commitSets(epoch: number): CommitSets {
    const all = [this.#assumed, ...this.#open].map((role) => commitSetIn(epoch, role));
    const possible = new Set(all.flatMap((commitSet) => commitSet ?? []));
    // Before it has become that writer for the first time, nobody can tell what it waits for.
    const waits = all[0] === undefined ? [] : all.filter((commitSet) => commitSet !== undefined);
    const certain =
      waits.length === 0 ? [] : [...possible].filter((name) => waits.every((one) => one.includes(name)));
    const last = this.#assumed;
    const keeps = this.isSettled && last?.role === 'writer' && last.epoch === epoch ? last.keeps : undefined;
    return { certain: new Set(certain), possible, isSettled: this.isSettled, ...(keeps && { keeps }) };
  }
}

function commitSetIn(epoch: number, role: Role | undefined): readonly RegionName[] | undefined {
  return role?.role === 'writer' && role.epoch === epoch ? role.commitSet : undefined;
}
