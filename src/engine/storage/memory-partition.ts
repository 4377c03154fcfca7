/** A partition as maps: the plain meaning of the contract in `core/store.ts`. */
import { assert } from '../../protocol/index.ts';
import {
  BEGINNING,
  comparePositions,
  DamagedEntry,
  type DocumentKey,
  type Entry,
  type Glance,
  glanceAt,
  expiresAt,
  keyText,
  NEW_NOTES,
  type PartitionNotes,
  type Position,
  type ScanOptions,
  sizeOf,
  type UndoneEntry,
  type Version,
  versionIn,
} from '../core/index.ts';

import { compareTexts } from './key-order.ts';
import { changeIn, passCopiedEntry, passEntry, settleDeletions, type Trimmable } from './trimming.ts';

export type MemoryWrite =
  | { readonly type: 'append'; readonly entry: Entry }
  | { readonly type: 'truncate'; readonly lsn: number; readonly undoneAt: number }
  | { readonly type: 'replace'; readonly entry: Entry; readonly how: 'whole' | 'rest' }
  | { readonly type: 'give up'; readonly entries: readonly Entry[]; readonly undoneAt: number }
  | { readonly type: 'trim'; readonly lsn: number }
  | { readonly type: 'clear'; readonly base: number }
  | { readonly type: 'note'; readonly changes: Partial<PartitionNotes> }
  | {
      readonly type: 'close';
      readonly position: Position;
      readonly how: NonNullable<UndoneEntry['closed']>;
    };

export class MemoryPartition implements Trimmable {
  notes: PartitionNotes = NEW_NOTES;
  tail: Position = BEGINNING;
  base = 1;
  logBytes = 0;
  damaged = new Set<number>();
  #baseEpoch = 0;
  /** Trimming has looked at the entries up to this LSN. It cannot pass one that is damaged. */
  #passed = 0;
  #entries = new Map<number, Entry>();
  #newest = new Map<string, number>();
  #operations = new Map<string, number>();
  #superseded = new Map<number, number>();
  #undone = new Map<string, UndoneEntry>();
  /** Keys of documents in order, while no document came or went. */
  #order: readonly string[] | undefined;

  get unreadable(): number | undefined {
    return this.#passed + 1 < this.base ? this.#passed + 1 : undefined;
  }

  copy(): MemoryPartition {
    const copy = new MemoryPartition();
    copy.notes = this.notes;
    copy.tail = this.tail;
    copy.base = this.base;
    copy.logBytes = this.logBytes;
    copy.damaged = new Set(this.damaged);
    copy.#baseEpoch = this.#baseEpoch;
    copy.#passed = this.#passed;
    copy.#entries = new Map(this.#entries);
    copy.#newest = new Map(this.#newest);
    copy.#operations = new Map(this.#operations);
    copy.#superseded = new Map(this.#superseded);
    copy.#undone = new Map(this.#undone);
    return copy;
  }

  newest(key: DocumentKey): Version | undefined {
    const lsn = this.#newest.get(keyText(key));
    if (lsn === undefined) return undefined;
    const version = this.version(key, lsn);
    return version?.body === undefined && lsn < this.base ? undefined : version;
  }

  glance(key: DocumentKey): Glance | undefined {
    const version = this.newest(key);
    return version && glanceAt(version);
  }

  version(key: DocumentKey, lsn: number): Version | undefined {
    const entry = this.entry(lsn);
    const change = entry && changeIn(entry, key);
    return change && versionIn(entry, change);
  }

  entry(lsn: number): Entry | undefined {
    if (this.damaged.has(lsn)) throw new DamagedEntry(lsn);
    return this.#entries.get(lsn);
  }

  entriesAfter(lsn: number, maxBytes: number): readonly Entry[] {
    const entries: Entry[] = [];
    let bytes = 0;
    for (const next of this.#lsnsAfter(lsn)) {
      const entry = this.entry(next)!;
      bytes += sizeOf(entry);
      if (entries.length > 0 && bytes > maxBytes) break;
      entries.push(entry);
    }
    return entries;
  }

  operation(id: string): Entry | undefined {
    const lsn = this.#operations.get(id);
    return lsn === undefined || lsn < this.base ? undefined : this.entry(lsn);
  }

  scan({ from, to, after, limit }: ScanOptions): readonly Version[] {
    const afterText = after === undefined ? '' : keyText(after);
    const versions: Version[] = [];
    this.#order ??= [...this.#newest.keys()].sort(compareTexts);
    for (const text of this.#order) {
      if (versions.length >= limit || text >= to) break;
      if (text < from || compareTexts(text, afterText) <= 0) continue;
      const version = this.#newestOf(text);
      if (version?.body !== undefined) versions.push(version);
    }
    return versions;
  }

  expired(at: number, limit: number): readonly Version[] {
    const versions: Version[] = [];
    for (const text of this.#newest.keys()) {
      if (versions.length >= limit) break;
      const version = this.#newestOf(text);
      if (version?.body !== undefined && expiresAt(version) <= at) versions.push(version);
    }
    return versions;
  }

  undone(): Iterable<UndoneEntry> {
    return [...this.#undone.values()].sort((a, b) => comparePositions(a.entry, b.entry));
  }

  apply(write: MemoryWrite): void {
    switch (write.type) {
      case 'append':
        this.#append(write.entry);
        break;
      case 'truncate':
        this.#truncate(write.lsn, write.undoneAt);
        break;
      case 'replace':
        this.#replace(write.entry, write.how);
        break;
      case 'give up':
        for (const entry of write.entries) this.#list(entry, write.undoneAt);
        break;
      case 'trim':
        this.#trim(write.lsn);
        break;
      case 'clear':
        this.#clear(write.base);
        break;
      case 'note':
        this.notes = { ...this.notes, ...write.changes };
        break;
      case 'close': {
        const known = this.#undone.get(nameOf(write.position));
        if (known !== undefined) this.#undone.set(nameOf(write.position), { ...known, closed: write.how });
        break;
      }
    }
  }

  peek(lsn: number): Entry | undefined {
    if (this.damaged.has(lsn)) return undefined;
    return this.#entries.get(lsn);
  }

  superseded(lsn: number): number {
    return this.#superseded.get(lsn) ?? 0;
  }

  setSuperseded(lsn: number, count: number): void {
    this.#superseded.set(lsn, count);
  }

  changeCount(lsn: number): number | undefined {
    return this.#entries.get(lsn)?.changes.length;
  }

  removeEntry(lsn: number): void {
    this.#entries.delete(lsn);
    this.#superseded.delete(lsn);
    this.damaged.delete(lsn);
  }

  newestLsn(key: DocumentKey): number {
    return this.#newest.get(keyText(key)) ?? 0;
  }

  forgetDocument(key: DocumentKey): void {
    this.#setNewest(keyText(key), 0);
  }

  forgetOperation(id: string): void {
    this.#operations.delete(id);
  }

  #append(entry: Entry): void {
    const { epoch, lsn, operation, changes } = entry;
    const next = Math.max(this.tail.lsn + 1, this.base);
    const isNext = lsn === next || (this.notes.building && lsn > this.tail.lsn);
    assert(isNext, `LSN ${lsn} does not follow ${this.tail.lsn}`);
    assert(epoch >= this.tail.epoch, 'epochs of a log never go back');
    const isCopied = lsn < this.base;
    this.#entries.set(lsn, entry);
    if (isCopied) passCopiedEntry(this, entry);
    for (const change of changes) this.#setNewest(keyText(change), lsn);
    this.tail = { epoch, lsn };
    if (isCopied) settleDeletions(this, entry);
    else {
      if (operation !== undefined) this.#operations.set(operation, lsn);
      this.logBytes += bytesOf(entry);
    }
  }

  #truncate(lsn: number, undoneAt: number): void {
    assert(lsn >= this.base - 1, 'only what is in the log can be undone');
    if (lsn >= this.tail.lsn) return;
    const undone: Entry[] = [];
    for (let last = this.tail.lsn; last > lsn; last -= 1) undone.push(this.entry(last)!);
    for (const entry of undone) {
      this.#list(entry, undoneAt);
      this.#entries.delete(entry.lsn);
      this.logBytes -= bytesOf(entry);
      if (entry.operation !== undefined) this.#operations.delete(entry.operation);
      for (const { previous, ...key } of entry.changes) this.#setNewest(keyText(key), previous);
    }
    // A deletion below the log may have been trimmed.
    for (const key of undone.flatMap(({ changes }) => changes)) {
      const previous = this.newestLsn(key);
      if (previous === 0 || previous >= this.base) continue;
      const entry = this.#entries.get(previous);
      if ((entry && changeIn(entry, key))?.body === undefined) this.#setNewest(keyText(key), 0);
    }
    this.tail = this.#positionOf(lsn);
  }

  #list(entry: Entry, undoneAt: number): void {
    const isCommitted = entry.lsn <= this.notes.gclsn;
    this.#undone.set(nameOf(entry), { entry, undoneAt, ...(isCommitted && { committed: true }) });
  }

  #trim(lsn: number): void {
    assert(lsn <= this.tail.lsn, 'only what is in the log can be trimmed');
    if (lsn < this.base) return;
    for (let next = this.base; next <= lsn; next += 1) this.logBytes -= bytesOf(this.#entries.get(next)!);
    this.#baseEpoch = this.#positionOf(lsn).epoch;
    this.base = lsn + 1;
    this.#pass();
  }

  #pass(): void {
    for (; this.#passed + 1 < this.base; this.#passed += 1) {
      const next = this.#passed + 1;
      if (this.damaged.has(next)) return;
      passEntry(this, this.#entries.get(next)!);
    }
  }

  #replace(entry: Entry, how: 'whole' | 'rest'): void {
    this.#entries.set(entry.lsn, entry);
    this.damaged.delete(entry.lsn);
    if (how === 'rest') this.#superseded.delete(entry.lsn);
    this.#pass();
  }

  #clear(base: number): void {
    this.tail = BEGINNING;
    this.base = base;
    this.#passed = base - 1;
    this.logBytes = 0;
    this.#baseEpoch = 0;
    this.damaged = new Set();
    this.#entries = new Map();
    this.#newest = new Map();
    this.#operations = new Map();
    this.#superseded = new Map();
    this.#order = undefined;
  }

  #setNewest(text: string, lsn: number): void {
    if (lsn === 0 ? this.#newest.delete(text) : !this.#newest.has(text)) this.#order = undefined;
    if (lsn !== 0) this.#newest.set(text, lsn);
  }

  #newestOf(text: string): Version | undefined {
    return this.newest({ epk: text.slice(0, 32), id: text.slice(32) });
  }

  *#lsnsAfter(lsn: number): IterableIterator<number> {
    if (lsn < this.base - 1) {
      yield* [...this.#entries.keys()].filter((each) => each > lsn && each < this.base).sort((a, b) => a - b);
    }
    for (let next = Math.max(lsn + 1, this.base); next <= this.tail.lsn; next += 1) yield next;
  }

  #positionOf(lsn: number): Position {
    if (lsn >= this.base) return { epoch: this.#entries.get(lsn)!.epoch, lsn };
    if (this.#baseEpoch !== 0 || lsn === 0) return { epoch: this.#baseEpoch, lsn };
    const last = [...this.#entries.keys()].filter((each) => each < this.base).sort((a, b) => b - a)[0];
    return last === undefined ? BEGINNING : { epoch: this.#entries.get(last)!.epoch, lsn: last };
  }
}

/** The same before and after somebody has encoded the entry. */
function bytesOf({ changes }: Entry): number {
  return changes.reduce((sum, { id, body }) => sum + id.length + (body?.length ?? 0) + 100, 100);
}

function nameOf({ epoch, lsn }: Position): string {
  return `${epoch}-${lsn}`;
}
