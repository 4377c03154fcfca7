/**
 * One partition's share of its node's disk, as the protocol sees it. Reads answer at once and see everything that was
 * written so far, durable or not. Writes are put into one queue in the order in which they are made, together with those of
 * the node's other partitions; a crash loses an end of that queue and nothing else. `sync` says when everything before it is
 * on disk. This is where a quorum of replicas will stand when a region keeps several: then `sync` means that a quorum has it.
 *
 *   entries by LSN     the log, and the bodies: a version lies in the entry that wrote it, and nowhere else
 *   newest version     for each document, the LSN of the entry that wrote it last
 *   undone writes      what this copy had and history has not
 *   notes              a few numbers: fence, incarnation, progress table, GCLSN
 *
 * Trimming takes away entries that no document needs any more; an entry below `base` that still holds a document's newest
 * version stays, as data. So below `base` there are gaps, and from `base` on there are none.
 */
import type { DocumentKey, Entry, Epoch, Glance, Position, Version } from './model.ts';

/** The first entry of an epoch in this log. The progress table is the list of these (paper 5.3). */
export interface EpochStart {
  readonly epoch: Epoch;
  readonly lsn: number;
}

/** What the protocol keeps on disk besides the log. It is small, and replaced as a whole. */
export interface PartitionNotes {
  /** Of the process that runs now: raised by every start. */
  readonly incarnation: number;
  /** Replication of lower GCNs is refused (rule 7). */
  readonly fence: number;
  /** What this copy knows to be globally committed; may be behind the truth, never ahead. */
  readonly gclsn: number;
  readonly table: readonly EpochStart[];
  /** A full copy is under way: the data are not usable. */
  readonly building: boolean;
}

export const NEW_NOTES: PartitionNotes = { incarnation: 0, fence: 0, gclsn: 0, table: [], building: false };

/** An entry that was undone, and what became of it. */
export interface UndoneEntry {
  readonly entry: Entry;
  /** When it was undone, in milliseconds since 1970 on this region's wall clock. */
  readonly undoneAt: number;
  /** This copy knew it to be globally committed: whoever wrote it had been told so, and others may have read it. */
  readonly committed?: true;
  /** Rule 21: history contains it again; or its changes were applied once more by somebody who wanted them. */
  readonly closed?: 'returned' | 'reapplied' | 'dismissed';
}

export interface ScanOptions {
  /** Effective partition keys from (with) and to (without), as hexadecimal text; a single key is a range too. */
  readonly from: string;
  readonly to: string;
  /** Goes on behind this document. */
  readonly after?: DocumentKey;
  readonly limit: number;
}

/** Thrown by a read that met a record whose checksum is wrong: it is not served, and has to be fetched from another region. */
export class DamagedEntry extends Error {
  readonly lsn: number;

  constructor(lsn: number) {
    super(`The entry with LSN ${lsn} is damaged on this disk.`);
    this.name = 'DamagedEntry';
    this.lsn = lsn;
  }
}

export interface PartitionStore {
  /** As they were last written. */
  readonly notes: PartitionNotes;
  /** The last entry; (0, 0) in an empty log. */
  readonly tail: Position;
  /** The first LSN from which on the log has no gaps: 1 in a log that was never trimmed. */
  readonly base: number;
  /** Bytes of the entries from `base` on, about. */
  readonly logBytes: number;
  /** A damaged entry that keeps housekeeping from going on. */
  readonly unreadable: number | undefined;

  /** The newest version of a document, a deletion too. Undefined: there is none, or only trimmed deletions. */
  newest(key: DocumentKey): Version | undefined;
  /** The same without its body. */
  glance(key: DocumentKey): Glance | undefined;
  /** The version that the entry with this LSN wrote. */
  version(key: DocumentKey, lsn: number): Version | undefined;
  entry(lsn: number): Entry | undefined;
  /** Entries behind that LSN in order, those below `base` too, up to about so many bytes (at least one if there is one). */
  entriesAfter(lsn: number, maxBytes: number): readonly Entry[];
  /** The entry that this operation id made, if the log still has it. */
  operation(id: string): Entry | undefined;
  /** Newest versions of existing documents, ordered by effective partition key and id (its UTF-8 bytes). */
  scan(options: ScanOptions): readonly Version[];
  /** Documents whose time to live was over at that moment, some of them. */
  expired(at: number, limit: number): readonly Version[];
  undone(): Iterable<UndoneEntry>;

  /** Entries that follow the tail. While `building`, LSNs may leave gaps. */
  append(entries: readonly Entry[]): void;
  /** Undoes every entry behind that LSN, newest first, and keeps them in the list of undone writes, with whether the notes have them as committed. */
  truncate(lsn: number, undoneAt: number): void;
  /**
   * Another region's copy of a damaged entry. `rest`: of one below `base` what documents still need, perhaps nothing; it stays damaged
   * where the indices have yet to be made from all of it.
   */
  replace(entry: Entry, how?: 'whole' | 'rest'): void;
  /** Puts entries that are about to be forgotten into the list of undone writes: one among them is damaged, and cannot be undone. */
  giveUp(entries: readonly Entry[], undoneAt: number): void;
  /** Removes entries up to and with that LSN that no document needs; `base` becomes the next LSN. */
  trim(lsn: number): void;
  /** Forgets all entries and documents, not the undone writes and notes: a full copy begins, whose log begins at `base`. */
  clear(base: number): void;
  note(changes: Partial<PartitionNotes>): void;
  closeUndone(position: Position, how: NonNullable<UndoneEntry['closed']>): void;

  /** Calls back once when everything written so far is on disk; with an error if the disk did not take it (it is tried
   * again with the next `sync`, and nothing of it is lost while the process lives). Calls come back in order. */
  sync(done: (error: Error | undefined) => void): void;
}
