/**
 * Damaged entries: a record on this disk whose checksum is wrong is not served. (epoch, LSN) names one entry for ever, so any
 * region's copy of it will do: the others are asked, again and again, and the first that answers has repaired it.
 *
 * Others may have trimmed it. Then whatever it wrote has been written again since, or their data still hold the part that has not,
 * and say so: that rest is all that anybody will ever need of it, once the log here begins behind it too. Without it, a feed from the
 * beginning and a full copy would be stuck at an entry that nobody misses.
 */
import type { Entry, Position } from '../model.ts';
import { DamagedEntry, type PartitionStore } from '../store.ts';
import { aliveIn } from './copying.ts';
import type { PartitionMessage } from './messages.ts';
import { contains, epochAt } from './progress-table.ts';

type Damaged = Extract<PartitionMessage, { type: 'damaged' }>;
type Repair = Extract<PartitionMessage, { type: 'repair' }>;

interface Asked {
  askedAt: number;
  waitMs: number;
  /** What is left of it elsewhere, and since when that is known here. */
  rest: { readonly entry: Entry; readonly upTo: Position; readonly since: number } | undefined;
}

const AGAIN_MS = 500;
const LONGEST_MS = 30_000;
/** So long the others have to answer with all of it, before what is left of it will do. */
const WHOLE_MS = 1000;

export class Repairs {
  readonly #store: PartitionStore;
  readonly #damaged = new Map<number, Asked>();

  constructor(store: PartitionStore) {
    this.#store = store;
  }

  /** Which entry it is, if that error is one of these, and the question to ask everybody now. Other errors are thrown on. */
  noticed(
    error: unknown,
    now: number,
  ): { readonly lsn: number; readonly isNew: boolean; readonly question: Damaged | undefined } {
    if (!(error instanceof DamagedEntry)) throw error;
    const { lsn } = error;
    const asked = this.#damaged.get(lsn);
    if (asked === undefined) this.#damaged.set(lsn, { askedAt: now, waitMs: AGAIN_MS, rest: undefined });
    else if (now < asked.askedAt + AGAIN_MS) return { lsn, isNew: false, question: undefined };
    else asked.askedAt = now;
    return { lsn, isNew: asked === undefined, question: this.#question(lsn) };
  }

  asksFor(lsn: number): boolean {
    return this.#damaged.has(lsn);
  }

  /** To be asked when a region is there again. */
  get questions(): readonly Damaged[] {
    return [...this.#damaged.keys()].map((lsn) => this.#question(lsn));
  }

  get nextAt(): number {
    let at = Infinity;
    for (const { askedAt, waitMs } of this.#damaged.values()) at = Math.min(at, askedAt + waitMs);
    return at;
  }

  /** To be asked again now: a question or its answer may have been lost. What has gone since is not asked for any more. */
  wake(now: number): readonly Damaged[] {
    const due = [...this.#damaged].filter(([, { askedAt, waitMs }]) => askedAt + waitMs <= now);
    return due.flatMap(([lsn, asked]) => {
      if (!this.#isDamaged(lsn)) {
        this.#damaged.delete(lsn);
        return [];
      }
      asked.askedAt = now;
      asked.waitMs = Math.min(asked.waitMs * 2, LONGEST_MS);
      return [this.#question(lsn)];
    });
  }

  /** What is answered to another region's question, if this log has the same entry and it is not damaged here too. */
  answer({ epoch, lsn, rest }: Damaged): Repair | undefined {
    const { notes, tail, base } = this.#store;
    try {
      const entry = this.#store.entry(lsn);
      if (entry !== undefined && entry.epoch !== epoch) return undefined;
      const isWhole = entry !== undefined && (lsn >= base || rest !== true);
      if (isWhole) return { type: 'repair', entry };
      if (
        rest !== true ||
        notes.building ||
        lsn >= base ||
        !contains({ table: notes.table, tail }, { epoch, lsn })
      )
        return undefined;
      const left = entry ?? { epoch, lsn, at: 0, statuses: [], changes: [] };
      const upTo = { epoch: epochAt(notes.table, base - 1), lsn: base - 1 };
      return { type: 'repair', entry: aliveIn(this.#store, left), upTo };
    } catch (error) {
      if (error instanceof DamagedEntry) return undefined;
      throw error;
    }
  }

  /** True if that entry was missed here, and is there again. */
  take({ entry, upTo }: Repair, now: number): boolean {
    const asked = this.#damaged.get(entry.lsn);
    if (asked === undefined || !this.#isStillDamaged(entry)) return false;
    if (upTo !== undefined) {
      asked.rest ??= { entry, upTo, since: now };
      return false;
    }
    this.#damaged.delete(entry.lsn);
    this.#store.replace(entry, 'whole');
    return true;
  }

  /** Puts what is left of them elsewhere in the place of those that nobody has any more. Returns their LSNs. */
  settle(now: number): readonly number[] {
    const settled: number[] = [];
    for (const [lsn, { rest }] of this.#damaged) {
      if (rest === undefined || now < rest.since + WHOLE_MS || !this.#maySettle(rest)) continue;
      // Whoever reads the log learns that it begins later now, and not that nothing happened here.
      if (lsn >= this.#store.base) this.#store.trim(lsn);
      this.#store.replace(rest.entry, 'rest');
      if (this.#isDamaged(lsn)) continue;
      this.#damaged.delete(lsn);
      settled.push(lsn);
    }
    return settled;
  }

  /** Up to there the two logs are the same, and nothing will ever be undone. The last entry says in which epoch the log ends. */
  #maySettle({ entry, upTo }: NonNullable<Asked['rest']>): boolean {
    const { notes, tail } = this.#store;
    const isShared = contains({ table: notes.table, tail }, upTo) && notes.gclsn >= upTo.lsn;
    return isShared && entry.lsn < tail.lsn && !notes.building && this.#isStillDamaged(entry);
  }

  /** It may have been trimmed, undone or copied anew since. */
  #isStillDamaged(position: Position): boolean {
    const { notes, tail } = this.#store;
    return contains({ table: notes.table, tail }, position) && this.#isDamaged(position.lsn);
  }

  #isDamaged(lsn: number): boolean {
    try {
      this.#store.entry(lsn);
      return false;
    } catch (error) {
      return error instanceof DamagedEntry;
    }
  }

  #question(lsn: number): Damaged {
    return { type: 'damaged', epoch: epochAt(this.#store.notes.table, lsn), lsn, rest: true };
  }
}
