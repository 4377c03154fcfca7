/**
 * Undoing what another history does not contain. One thing is not undone at Strong: what this copy knows to be globally
 * committed. Everybody who may be elected has that on disk, so a writer without it has lost it, and is not followed.
 */
import type { Position } from '../model.ts';
import { DamagedEntry, type PartitionNotes, type PartitionStore } from '../store.ts';
import { cutBehind, listBehind } from './cutting.ts';
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
 * Undoes everything behind that LSN. `useless`: it cannot be undone here, because the copy is not whole, or because some of it is damaged
 * or was trimmed. Nothing is changed then, and the copy has to be made anew (`giveUpBehind`). `refused`: it is needed.
 */
export function undoBehind(
  store: PartitionStore,
  shared: number,
  port: UndoingPort,
): 'done' | 'useless' | 'refused' {
  const { tail, notes, base } = store;
  if (notes.building) return 'useless';
  if (tail.lsn <= shared) return 'done';
  if (isNeeded(store, shared, port)) return 'refused';
  if (shared < base - 1 || !cutBehind(store, shared, port.wallClock())) return 'useless';
  port.undone(tail.lsn - shared, shared, isCommittedBehind(notes, tail, shared));
  store.note({ table: upTo(notes.table, shared), gclsn: Math.min(notes.gclsn, shared) });
  return 'done';
}

/**
 * Before all of this copy is forgotten: what history does not contain of it goes into the list of undone writes, as far as it can be read.
 * That holds for a copy that was built half and for a disk that came back older, too: either may be the last to have a write.
 */
export function giveUpBehind(store: PartitionStore, shared: number, port: UndoingPort): void {
  const { tail, notes } = store;
  const { count, unread } = listBehind(store, shared, port.wallClock());
  if (count > 0) port.undone(count, shared, isCommittedBehind(notes, tail, shared));
  if (unread > 0) port.unlisted(unread);
}

function isCommittedBehind({ gclsn }: PartitionNotes, tail: Position, shared: number): boolean {
  return Math.min(gclsn, tail.lsn) > shared;
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
