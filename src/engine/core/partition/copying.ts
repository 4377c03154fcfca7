/**
 * Entries as they are handed on: to a reader that follows, to a backup, to the feed. Below the base of a log its entries are
 * data: they are there because a document's newest version lies in them. A batch may hold others besides, which were changed
 * or deleted since by entries that are gone; whoever took those over would bring them back to life, so they are left out.
 */
import type { Change, Entry } from '../model.ts';
import type { PartitionStore } from '../store.ts';

/** As `entriesAfter`, with only what is alive of those below the base. */
export function entriesOf(store: PartitionStore, lsn: number, maxBytes: number): readonly Entry[] {
  const entries = store.entriesAfter(lsn, maxBytes);
  if (lsn + 1 >= store.base) return entries;
  return entries.map((entry) => (entry.lsn < store.base ? aliveIn(store, entry) : entry));
}

/** Without what was changed or deleted since, up to the base. */
export function aliveIn(store: PartitionStore, entry: Entry): Entry {
  const changes = entry.changes.filter((change) => isAlive(store, change, entry.lsn));
  if (changes.length === entry.changes.length) return entry;
  const { encoded: _, ...rest } = entry;
  return { ...rest, changes };
}

/** Whether this is the newest version below the base. */
function isAlive(store: PartitionStore, change: Change, lsn: number): boolean {
  let version = store.newest(change);
  while (version !== undefined && version.lsn >= store.base) {
    version = version.previous === 0 ? undefined : store.version(change, version.previous);
  }
  return version?.lsn === lsn && version.body !== undefined;
}
