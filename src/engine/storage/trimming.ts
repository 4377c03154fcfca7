/**
 * What a trim takes away. An entry up to the trim's LSN is needed as long as one of its changes is the newest of its document
 * *up to that LSN*: newer versions above it may still be undone, and then the document is again what the entry says. So
 * passing an entry settles two things: the versions before those that it wrote are needed no more, and neither are its own
 * deletions. Each is passed once, in order, so the work is proportional to what leaves the log. A batch goes when all
 * its changes are settled; how many are is counted.
 */
import type { Change, DocumentKey, Entry } from '../core/index.ts';

export interface Trimmable {
  /** How many changes the entry has; undefined: it is gone already. */
  changeCount(lsn: number): number | undefined;
  /** Undefined: it is gone, or cannot be read and stays. */
  peek(lsn: number): Entry | undefined;
  superseded(lsn: number): number;
  setSuperseded(lsn: number, count: number): void;
  removeEntry(lsn: number, changes: number): void;
  newestLsn(key: DocumentKey): number;
  /** The document's newest version was a deletion that is no longer needed. */
  forgetDocument(key: DocumentKey): void;
  forgetOperation(id: string): void;
}

/** The log no longer needs this entry, and all before it. */
export function passEntry(data: Trimmable, entry: Entry): void {
  if (entry.operation !== undefined) data.forgetOperation(entry.operation);
  for (const change of entry.changes) settle(data, change, change.previous);
  settleDeletions(data, entry);
}

/** An entry of a full copy, which lies below the log from its first moment. What it takes the place of is known by looking. */
export function passCopiedEntry(data: Trimmable, entry: Entry): void {
  for (const change of entry.changes) settle(data, change, data.newestLsn(change));
}

/** After {@link passCopiedEntry}, when its changes stand in the index. */
export function settleDeletions(data: Trimmable, entry: Entry): void {
  const deletions = entry.changes.filter(({ body }) => body === undefined);
  for (const key of deletions) if (data.newestLsn(key) === entry.lsn) data.forgetDocument(key);
  addSuperseded(data, entry, deletions.length);
}

/** The version of the document that this entry wrote has a successor. */
function settle(data: Trimmable, key: DocumentKey, lsn: number): void {
  const count = lsn === 0 ? undefined : data.changeCount(lsn);
  if (count === undefined) return;
  const entry = data.peek(lsn);
  if (count === 1) {
    // In a full copy an entry may have come without the change that has a successor now.
    if (entry === undefined || changeIn(entry, key) !== undefined) data.removeEntry(lsn, 1);
    return;
  }
  // A deletion was settled when its entry was passed.
  if (entry !== undefined && changeIn(entry, key)?.body !== undefined) addSuperseded(data, entry, 1);
}

function addSuperseded(data: Trimmable, { lsn, changes }: Entry, count: number): void {
  if (count === 0 && changes.length > 0) return;
  const total = (changes.length === 1 ? 0 : data.superseded(lsn)) + count;
  if (total >= changes.length) data.removeEntry(lsn, changes.length);
  else data.setSuperseded(lsn, total);
}

export function changeIn(entry: Entry, { epk, id }: DocumentKey): Change | undefined {
  for (const change of entry.changes) if (change.id === id && change.epk === epk) return change;
  return undefined;
}
