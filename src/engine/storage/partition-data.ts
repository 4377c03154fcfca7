/** Log and indices of one partition: what a full copy replaces. */
import {
  type Change,
  DamagedEntry,
  type DocumentKey,
  type Entry,
  expiresAt,
  keyText,
} from '../core/index.ts';
import { DocumentIndex, NOWHERE, type Place } from './document-index.ts';
import { EntryLog } from './entry-log.ts';
import { entryKey } from './keys.ts';
import { Pending } from './pending.ts';
import { readRecord, writeRecord } from './records.ts';
import type { Tables } from './tables.ts';
import { changeIn, passCopiedEntry, passEntry, settleDeletions, type Trimmable } from './trimming.ts';
import type { WriteQueue } from './write-queue.ts';

export class PartitionData implements Trimmable {
  readonly log: EntryLog;
  readonly index: DocumentIndex;
  readonly #tables: Tables;
  readonly #queue: WriteQueue;
  readonly #number: number;
  readonly #superseded = new Pending<number, number>();

  constructor(tables: Tables, queue: WriteQueue, number: number) {
    this.#tables = tables;
    this.#queue = queue;
    this.#number = number;
    this.log = new EntryLog(tables, queue, number);
    this.index = new DocumentIndex(tables, queue, number);
  }

  add(entry: Entry): void {
    this.log.put(entry);
    this.indexEntry(entry);
  }

  /** An entry of a full copy that lies below the log. */
  addCopied(entry: Entry): void {
    this.log.put(entry);
    passCopiedEntry(this, entry);
    this.indexEntry(entry);
    settleDeletions(this, entry);
  }

  /** `rest`: what of it has no successor yet. */
  replace(entry: Entry, how: 'whole' | 'rest'): void {
    this.log.put(entry);
    if (how === 'rest' && this.superseded(entry.lsn) > 0) this.setSuperseded(entry.lsn, 0);
  }

  indexEntry(entry: Entry): void {
    const { lsn, at, operation, changes } = entry;
    for (const change of changes) {
      this.index.set(keyText(change), placeOf(lsn, at, change));
    }
    if (operation !== undefined) this.index.setOperation(operation, lsn);
  }

  /** An entry of a full copy that is read again after a restart. */
  indexCopied(entry: Entry): void {
    for (const change of entry.changes) {
      const place = change.body === undefined ? NOWHERE : placeOf(entry.lsn, entry.at, change);
      this.index.set(keyText(change), place);
    }
  }

  pass(entry: Entry): void {
    passEntry(this, entry);
  }

  /** Takes these entries, the newest first, out of log and indices. */
  undo(entries: readonly Entry[], base: number): void {
    const earlier = new Map<string, { readonly key: DocumentKey; lsn: number; expiries: number[] }>();
    for (const entry of entries) {
      this.log.remove(entry.lsn);
      if (entry.operation !== undefined) this.index.forgetOperation(entry.operation);
      for (const change of entry.changes) {
        const text = keyText(change);
        const document = earlier.get(text) ?? { key: change, lsn: 0, expiries: [] };
        document.lsn = change.previous;
        const { expiresAt: at } = placeOf(entry.lsn, entry.at, change);
        if (at !== 0) document.expiries.push(at);
        earlier.set(text, document);
      }
    }
    for (const [text, { key, lsn, expiries }] of earlier) {
      this.index.correct(text, this.#placeAt(key, lsn, base), expiries);
    }
  }

  peek(lsn: number): Entry | undefined {
    try {
      return this.log.get(lsn);
    } catch (error) {
      if (error instanceof DamagedEntry) return undefined;
      throw error;
    }
  }

  superseded(lsn: number): number {
    const pending = this.#superseded.get(lsn);
    if (pending !== undefined) return pending;
    const bytes = this.#tables.superseded.get(entryKey(this.#number, lsn));
    return readRecord<{ count: number }>(bytes, 'a trim')?.count ?? 0;
  }

  setSuperseded(lsn: number, count: number): void {
    this.#superseded.set(lsn, count);
    this.#queue.put(this.#tables.superseded, entryKey(this.#number, lsn), writeRecord({ count }));
  }

  changeCount(lsn: number): number | undefined {
    return this.log.changeCount(lsn);
  }

  removeEntry(lsn: number, changes: number): void {
    this.log.remove(lsn);
    if (changes > 1) this.#queue.remove(this.#tables.superseded, entryKey(this.#number, lsn));
  }

  newestLsn(key: DocumentKey): number {
    return this.index.find(keyText(key))?.lsn ?? 0;
  }

  forgetDocument(key: DocumentKey): void {
    this.index.correct(keyText(key), NOWHERE);
  }

  forgetOperation(id: string): void {
    this.index.forgetOperation(id);
  }

  begin(): void {
    this.log.begin();
    this.#superseded.begin();
  }

  committed(): void {
    this.log.committed();
    this.index.flushed();
    this.#superseded.committed();
  }

  /** Where the document is found when its newest version is that of this LSN. A deletion below the log may have been trimmed. */
  #placeAt(key: DocumentKey, lsn: number, base: number): Place {
    if (lsn === 0) return NOWHERE;
    let entry: Entry | undefined;
    try {
      entry = this.log.get(lsn);
    } catch (error) {
      if (!(error instanceof DamagedEntry)) throw error;
      // Whoever reads the document will meet the damage and have it repaired.
      return unread(lsn);
    }
    const change = entry && changeIn(entry, key);
    if (lsn < base && change?.body === undefined) return NOWHERE;
    return change === undefined ? unread(lsn) : placeOf(lsn, entry!.at, change);
  }
}

function placeOf(lsn: number, at: number, { body, ttl, createdLsn, partitionKey }: Change): Place {
  const isDeleted = body === undefined;
  return {
    lsn,
    expiresAt: ttl === undefined || isDeleted ? 0 : expiresAt({ at, ttl }),
    isDeleted,
    createdLsn: createdLsn === 0 ? lsn : createdLsn,
    partitionKey,
  };
}

function unread(lsn: number): Place {
  return { ...NOWHERE, lsn, isDeleted: false };
}
