/**
 * Cutting the end off a log that may hold damage. To undo an entry one has to know what it changed, so nothing can be undone then, and
 * the copy has to be made anew. What can be read is put into the list of undone writes all the same: perhaps nobody else has it. The
 * entry that cannot be read is listed by another region that had it, if there is one.
 */
import type { Entry } from '../model.ts';
import { DamagedEntry, type PartitionStore } from '../store.ts';

/** False: some of the entries behind that LSN could not be read, and the log still holds all of them. */
export function cutBehind(store: PartitionStore, lsn: number, undoneAt: number): boolean {
  try {
    store.truncate(lsn, undoneAt);
    return true;
  } catch (error) {
    if (!(error instanceof DamagedEntry)) throw error;
    return false;
  }
}

/** Lists the entries behind that LSN, of a log that is about to be forgotten: how many there are, and how many of them could not be read. */
export function listBehind(
  store: PartitionStore,
  lsn: number,
  undoneAt: number,
): { readonly count: number; readonly unread: number } {
  const entries: Entry[] = [];
  let unread = 0;
  for (let next = lsn + 1; next <= store.tail.lsn; next += 1) {
    const entry = readable(store, next);
    if (entry === 'damaged') unread += 1;
    else if (entry !== undefined) entries.push(entry);
  }
  if (entries.length > 0) store.giveUp(entries, undoneAt);
  return { count: entries.length + unread, unread };
}

function readable(store: PartitionStore, lsn: number): Entry | 'damaged' | undefined {
  try {
    return store.entry(lsn);
  } catch (error) {
    if (error instanceof DamagedEntry) return 'damaged';
    throw error;
  }
}
