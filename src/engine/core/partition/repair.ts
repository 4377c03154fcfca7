/**
 * Damaged entries: a record on this disk whose checksum is wrong is not served. (epoch, LSN) names one entry for ever, so any
 * region's copy of it will do: the others are asked, and the first that answers has repaired it.
 */
import type { Entry } from '../model.ts';
import { DamagedEntry, type PartitionStore } from '../store.ts';
import type { PartitionMessage } from './messages.ts';
import { contains, epochAt } from './progress-table.ts';

type Damaged = Extract<PartitionMessage, { type: 'damaged' }>;

export class Repairs {
  readonly #store: PartitionStore;
  readonly #damaged = new Set<number>();

  constructor(store: PartitionStore) {
    this.#store = store;
  }

  /** The question to ask everybody, if that error is one of these. Other errors are thrown on. */
  noticed(error: unknown): Damaged {
    if (!(error instanceof DamagedEntry)) throw error;
    this.#damaged.add(error.lsn);
    return this.#question(error.lsn);
  }

  /** To be asked again: a region may have been away. */
  get questions(): readonly Damaged[] {
    return [...this.#damaged].map((lsn) => this.#question(lsn));
  }

  /** What is answered to another region's question: its entry, if this log has the same and it is not damaged here too. */
  answer({ epoch, lsn }: Damaged): Entry | undefined {
    try {
      const entry = this.#store.entry(lsn);
      return entry?.epoch === epoch ? entry : undefined;
    } catch {
      return undefined;
    }
  }

  /** True if that entry was missed here. */
  take(entry: Entry): boolean {
    if (!this.#damaged.delete(entry.lsn) || !this.#isStillDamaged(entry)) return false;
    this.#store.replace(entry);
    return true;
  }

  /** It may have been trimmed, undone or copied anew since. */
  #isStillDamaged({ epoch, lsn }: Entry): boolean {
    const { notes, tail } = this.#store;
    if (!contains({ table: notes.table, tail }, { epoch, lsn })) return false;
    try {
      this.#store.entry(lsn);
      return false;
    } catch (error) {
      return error instanceof DamagedEntry;
    }
  }

  #question(lsn: number): Damaged {
    return { type: 'damaged', epoch: epochAt(this.#store.notes.table, lsn), lsn };
  }
}
