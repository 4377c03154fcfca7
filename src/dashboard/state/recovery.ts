/**
 * How long writes were away, as the page saw it. A loss begins when the region that could write no longer can: it said so, or
 * its stream broke. It is noticed when the GCN is raised, and over when a region can write again. The paper's Figures 7 and 8
 * show these for failovers; a planned move has a gap too, and is kept apart from them.
 */
import { type FleetSet, NOBODY, UNKNOWN } from './fleet.ts';

/** `resumed`: the same region under the same GCN: a short silence, and nothing failed over. */
export type RecoveryKind = 'failover' | 'planned' | 'resumed';

export interface Recovery {
  readonly partitionSet: string;
  readonly kind: RecoveryKind;
  readonly cause: string;
  readonly from: string;
  readonly to: string;
  /** When writes were back. */
  readonly at: number;
  readonly recoveryMs: number;
  /** Absent: the GCN was not raised. */
  readonly detectionMs?: number;
}

interface Loss {
  readonly from: number;
  readonly at: number;
  readonly gcn: number;
  raisedAt?: number;
}

const KEPT = 50_000;

export class RecoveryLog {
  readonly #open = new Map<FleetSet, Loss>();
  readonly #regions: readonly string[];
  #done: Recovery[] = [];
  /** Rises with every recovery. */
  count = 0;
  /** How many there were of each kind. */
  readonly seen: Record<RecoveryKind, number> = { failover: 0, planned: 0, resumed: 0 };

  constructor(regions: readonly string[]) {
    this.#regions = regions;
  }

  /** The latest last. */
  get recoveries(): readonly Recovery[] {
    return this.#done;
  }

  get openLosses(): number {
    return this.#open.size;
  }

  /** `since`: when the one that could write was last known to be able to; earlier than now when it was frozen. */
  moved(set: FleetSet, before: number, now: number, since = now): void {
    const after = set.writable;
    if (after === NOBODY && before >= 0) {
      this.#open.set(set, lossOf(set, before, now, since));
    } else if (after >= 0) {
      const loss = this.#open.get(set) ?? (before >= 0 ? lossOf(set, before, now, since) : undefined);
      if (loss !== undefined) this.#close(set, loss, now);
    } else if (after === UNKNOWN) {
      this.#open.delete(set);
    }
  }

  raised(set: FleetSet, now: number): void {
    const loss = this.#open.get(set);
    if (loss !== undefined) loss.raisedAt ??= now;
  }

  #close(set: FleetSet, loss: Loss, now: number): void {
    this.#open.delete(set);
    const isRaised = set.gcn > loss.gcn;
    const kind = isRaised ? (set.cause === 'switch' ? 'planned' : 'failover') : 'resumed';
    const raisedAt = loss.raisedAt ?? (isRaised ? now : undefined);
    this.#keep({
      ...this.#between(set, loss.from, kind, now),
      recoveryMs: Math.max(0, now - loss.at),
      ...(raisedAt !== undefined && { detectionMs: Math.max(0, raisedAt - loss.at) }),
    });
  }

  #between(set: FleetSet, from: number, kind: RecoveryKind, at: number): Omit<Recovery, 'recoveryMs'> {
    return {
      partitionSet: set.name,
      kind,
      cause: set.cause,
      from: this.#regions[from]!,
      to: this.#regions[set.writable]!,
      at,
    };
  }

  #keep(recovery: Recovery): void {
    this.#done.push(recovery);
    this.seen[recovery.kind] += 1;
    this.count += 1;
    if (this.#done.length > KEPT) this.#done = this.#done.slice(-KEPT / 2);
  }
}

/** It may be the raise itself that shows the loss: then both are known at once. */
function lossOf(set: FleetSet, from: number, now: number, since: number): Loss {
  const gcn = set.rows[from]?.[2] ?? set.gcn;
  return { from, at: Math.min(since, now), gcn, ...(gcn < set.gcn && { raisedAt: now }) };
}
