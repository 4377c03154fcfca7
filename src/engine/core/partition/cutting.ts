/**
 * Cutting the end off a log that holds damage. To undo an entry one has to know what it changed, so nothing can be undone then, and
 * the copy has to be made anew. What can be read is put into the list of undone writes all the same: perhaps nobody else has it. The
 * entry that cannot be read is listed by another region that had it, if there is one.
 */
import type { Entry } from '../model.ts';
import { DamagedEntry, type PartitionStore } from '../store.ts';

/** How many of the entries behind that LSN could not be read; if any could not, the log still holds them. */
export function cutBehind(store: PartitionStore, lsn: number, undoneAt: number): number {
  try {
    store.truncate(lsn, undoneAt);
    return 0;
  } catch (error) {
    if (!(error instanceof DamagedEntry)) throw error;
  }
  const count = store.tail.lsn - lsn;
  const entries = Array.from({ length: count }, (_, at) => readable(store, lsn + 1 + at));
  const given = entries.filter((entry) => entry !== undefined);
  store.giveUp(given, undoneAt);
  return count - given.length;
}

function readable(store: PartitionStore, lsn: number): Entry | undefined {
  try {
    return store.entry(lsn);
  } catch (error) {
    if (error instanceof DamagedEntry) return undefined;
    throw error;
  }
}
