/**
 * How long writes were interrupted, as the page observed it. An interruption begins when the write region can no longer accept
 * writes: its node says so, or the node's stream breaks. It is detected when the GCN is raised, and ends when a region accepts
 * writes again. Figures 7 and 8 of the paper show these times for failovers. A planned move interrupts writes too and is counted
 * separately.
 *
 * One interruption can contain several raises, for example a failover followed at once by a planned move to a preferred region.
 * A row shows only the latest raise; the history has all of them. An interruption is a failover if any of its raises was one.
 */
import type { HistoryEntry } from '../api.ts';
import { type FleetSet, NOBODY, UNKNOWN } from './fleet.ts';

/** `resumed`: the same region writes again under the same GCN. Nothing failed over. */
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
  /** The GCN under which `from` could write. */
  readonly gcn: number;
  raisedAt?: number;
  /** Of the first raise that was not a planned move. */
  failoverCause?: string;
}

/** The latest recovery of a partition-set, and the raises that it covers. */
interface Covered {
  readonly recovery: { -readonly [Field in keyof Recovery]: Recovery[Field] };
  readonly fromGcn: number;
  readonly gcn: number;
}

const KEPT = 50_000;

export class RecoveryLog {
  readonly #open = new Map<FleetSet, Loss>();
  readonly #latest = new Map<string, Covered>();
  readonly #regions: readonly string[];
  #done: Recovery[] = [];
  /** Rises with every recovery, and when one turns out to be of another kind. */
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

  /** `since`: when the region was last known to accept writes; earlier than now if its node was frozen. */
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
    if (loss !== undefined) noteRaise(loss, set, now);
  }

  removed(set: FleetSet): void {
    this.#open.delete(set);
    this.#latest.delete(set.name);
  }

  /** Corrects a recovery whose failover no row has shown. */
  told(entries: readonly HistoryEntry[]): void {
    for (const { what, partitionSet, fromGcn, gcn, cause } of entries) {
      const covered = this.#latest.get(partitionSet);
      if (what !== 'raised' || covered?.recovery.kind !== 'planned') continue;
      if (fromGcn < covered.fromGcn || gcn > covered.gcn) continue;
      Object.assign(covered.recovery, { kind: 'failover', cause });
      this.seen.planned -= 1;
      this.seen.failover += 1;
      this.count += 1;
    }
  }

  #close(set: FleetSet, loss: Loss, now: number): void {
    this.#open.delete(set);
    if (set.gcn > loss.gcn) noteRaise(loss, set, now);
    const { raisedAt, failoverCause } = loss;
    const recovery = {
      partitionSet: set.name,
      kind: raisedAt === undefined ? 'resumed' : failoverCause === undefined ? 'planned' : 'failover',
      cause: failoverCause ?? set.cause,
      from: this.#regions[loss.from]!,
      to: this.#regions[set.writable]!,
      at: now,
      recoveryMs: Math.max(0, now - loss.at),
      ...(raisedAt !== undefined && { detectionMs: Math.max(0, raisedAt - loss.at) }),
    } as const;
    this.#latest.set(set.name, { recovery, fromGcn: loss.gcn, gcn: set.gcn });
    this.#keep(recovery);
  }

  #keep(recovery: Recovery): void {
    this.#done.push(recovery);
    this.seen[recovery.kind] += 1;
    this.count += 1;
    if (this.#done.length > KEPT) this.#done = this.#done.slice(-KEPT / 2);
  }
}

/** If the raise itself reveals the interruption, both are known at once. */
function lossOf(set: FleetSet, from: number, now: number, since: number): Loss {
  const loss: Loss = { from, at: Math.min(since, now), gcn: set.writtenUnder };
  if (set.gcn > loss.gcn) noteRaise(loss, set, now);
  return loss;
}

function noteRaise(loss: Loss, { cause }: FleetSet, now: number): void {
  loss.raisedAt ??= now;
  if (cause !== 'switch') loss.failoverCause ??= cause;
}
