/**
 * The notes of a partition across a crash. The disk takes writes in their order and a crash may come between any two, so an
 * epoch is noted before its first entry is appended, and what is noted of entries that did not make it is put right at the
 * start: a table may know of more than there is, never of less.
 */
import type { Entry } from '../model.ts';
import type { PartitionStore } from '../store.ts';
import { upTo, withEntry } from './progress-table.ts';

/** Before those entries are appended. In a full copy the epochs of what lies below the base are known already. */
export function noteEpochs(store: PartitionStore, entries: readonly Entry[]): void {
  const { notes, base } = store;
  const table = entries.filter(({ lsn }) => lsn >= base).reduce(withEntry, notes.table);
  if (table !== notes.table) store.note({ table });
}

/** When a process starts. */
export function putNotesRight(store: PartitionStore): void {
  const { notes, tail, base } = store;
  const end = Math.max(tail.lsn, base - 1);
  const table = upTo(notes.table, end);
  const gclsn = Math.min(notes.gclsn, end);
  if (table.length !== notes.table.length || gclsn !== notes.gclsn) store.note({ table, gclsn });
}
