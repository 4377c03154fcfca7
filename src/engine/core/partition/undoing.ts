/**
 * Undoing what another history does not contain. One thing is not undone at Strong: what this copy knows to be globally
 * committed. Everybody who may be elected has that on disk, so a writer without it has lost it, and is not followed.
 */
import type { Position } from '../model.ts';
import { DamagedEntry, type PartitionStore } from '../store.ts';
import { cutBehind } from './cutting.ts';
import { epochAt, upTo } from './progress-table.ts';

export interface UndoingPort {
  wallClock(): number;
  undone(count: number, after: number, committed: boolean): void;
  /** So many of them were damaged, and are in no list here. */
  unlisted(count: number): void;
  /** Whether that entry, which is known here to be globally committed, may be undone all the same. */
  mayUndo(position: Position): boolean;
}

/**
 * Undoes everything behind that LSN. `useless`: some of it is damaged here, or was trimmed; nobody else has it, and this copy is of no
 * use any more. `refused`: it is needed.
 */
export function undoBehind(
  store: PartitionStore,
  shared: number,
  port: UndoingPort,
): 'done' | 'useless' | 'refused' {
  const { tail, notes, base } = store;
  if (tail.lsn <= shared || notes.building) return 'done';
  if (isNeeded(store, shared, port)) return 'refused';
  const isCommitted = Math.min(notes.gclsn, tail.lsn) > shared;
  port.undone(tail.lsn - shared, shared, isCommitted);
  const from = Math.max(shared, base - 1);
  const unread = tail.lsn > from ? cutBehind(store, from, port.wallClock()) : 0;
  if (unread > 0) {
    port.unlisted(unread);
    return 'useless';
  }
  store.note({ table: upTo(notes.table, from), gclsn: Math.min(notes.gclsn, from) });
  return from === shared ? 'done' : 'useless';
}

/** Whether that would end in copying everything: this log is too old for one that begins there, or cannot be cut back. */
export function needsCopy(
  store: PartitionStore,
  shared: number,
  writersBase: number,
  port: Pick<UndoingPort, 'mayUndo'>,
): boolean {
  const { tail, notes, base } = store;
  if (notes.building) return true;
  if (isNeeded(store, shared, port)) return false;
  if (shared + 1 < writersBase) return true;
  return tail.lsn > shared && (shared < base - 1 || !isReadable(store, shared));
}

/** Something behind that LSN is known here to be globally committed, and must not be undone. */
function isNeeded(
  { tail, notes }: PartitionStore,
  shared: number,
  port: Pick<UndoingPort, 'mayUndo'>,
): boolean {
  const lsn = Math.min(notes.gclsn, tail.lsn);
  return lsn > shared && !port.mayUndo({ epoch: epochAt(notes.table, lsn), lsn });
}

function isReadable(store: PartitionStore, after: number): boolean {
  try {
    for (let { lsn } = store.tail; lsn > after; lsn -= 1) store.entry(lsn);
    return true;
  } catch (error) {
    if (error instanceof DamagedEntry) return false;
    throw error;
  }
}
