/**
 * The writes that this copy had and history has not, by position. A record is the entry's bytes behind when it was undone
 * and what became of it.
 *
 *   crc u32 | closed u8, and 128 if it was known to be committed | undoneAt f64 | entry
 */
import { crc32 } from 'node:zlib';
import {
  comparePositions,
  DamagedEntry,
  type Entry,
  type Position,
  type UndoneEntry,
} from '../core/index.ts';
import { decodeEntry, encodeEntry } from '../entry-codec.ts';
import { numberKey, positionKey, positionOfKey } from './keys.ts';
import { Pending } from './pending.ts';
import type { Tables } from './tables.ts';
import type { WriteQueue } from './write-queue.ts';

const HEADER = 13;
const COMMITTED = 128;
const CLOSED = [undefined, 'returned', 'reapplied', 'dismissed'] as const;

export class UndoneList {
  readonly #tables: Tables;
  readonly #queue: WriteQueue;
  readonly #number: number;
  readonly #pending = new Pending<string, UndoneEntry>();

  /** `number` is that of the partition, which stays when its data are copied anew. */
  constructor(tables: Tables, queue: WriteQueue, number: number) {
    this.#tables = tables;
    this.#queue = queue;
    this.#number = number;
  }

  add(entry: Entry, undoneAt: number, isCommitted: boolean): void {
    this.#put({ entry, undoneAt, ...(isCommitted && { committed: true }) });
  }

  close(position: Position, how: NonNullable<UndoneEntry['closed']>): void {
    const known = this.#pending.get(nameOf(position)) ?? this.#stored(position);
    if (known !== undefined) this.#put({ ...known, closed: how });
  }

  /** In the order of their positions. All that can be read; then, if there are others, the first of them is thrown. */
  *all(): IterableIterator<UndoneEntry> {
    const pending = [...this.#pending.all().values()].sort((a, b) => comparePositions(a.entry, b.entry));
    const known = new Set(pending.map(({ entry }) => nameOf(entry)));
    let damaged: DamagedEntry | undefined;
    const range = { start: numberKey(this.#number), end: numberKey(this.#number + 1) };
    // Read at once: whoever goes through the list may take its time.
    const keys = [...this.#tables.undone.getKeys(range)];
    for (const key of keys) {
      const position = positionOfKey(key);
      while (pending.length > 0 && comparePositions(pending[0]!.entry, position) <= 0) yield pending.shift()!;
      if (known.has(nameOf(position))) continue;
      try {
        const stored = this.#stored(position);
        if (stored !== undefined) yield stored;
      } catch (error) {
        if (!(error instanceof DamagedEntry)) throw error;
        damaged ??= error;
      }
    }
    yield* pending;
    if (damaged !== undefined) throw damaged;
  }

  begin(): void {
    this.#pending.begin();
  }

  committed(): void {
    this.#pending.committed();
  }

  #put(undone: UndoneEntry): void {
    this.#queue.put(this.#tables.undone, positionKey(this.#number, undone.entry), encode(undone));
    this.#pending.set(nameOf(undone.entry), undone);
  }

  #stored(position: Position): UndoneEntry | undefined {
    const bytes = this.#tables.undone.get(positionKey(this.#number, position));
    if (bytes === undefined) return undefined;
    const undone = decode(bytes, position.lsn);
    if (comparePositions(undone.entry, position) !== 0) throw new DamagedEntry(position.lsn);
    return undone;
  }
}

function nameOf({ epoch, lsn }: Position): string {
  return `${epoch}-${lsn}`;
}

function encode({ entry, undoneAt, closed, committed }: UndoneEntry): Buffer {
  const header = Buffer.allocUnsafe(HEADER);
  header[4] = CLOSED.indexOf(closed) + (committed === true ? COMMITTED : 0);
  header.writeDoubleLE(undoneAt, 5);
  header.writeUInt32LE(crc32(header.subarray(4)), 0);
  return Buffer.concat([header, encodeEntry(entry)]);
}

function decode(bytes: Buffer, lsn: number): UndoneEntry {
  const header = bytes.subarray(0, HEADER);
  if (bytes.length < HEADER || crc32(header.subarray(4)) !== header.readUInt32LE(0))
    throw new DamagedEntry(lsn);
  const closed = CLOSED[header[4]! % COMMITTED];
  const isCommitted = header[4]! >= COMMITTED;
  try {
    const entry = decodeEntry(bytes.subarray(HEADER));
    const undoneAt = header.readDoubleLE(5);
    return {
      entry,
      undoneAt,
      ...(isCommitted && { committed: true }),
      ...(closed !== undefined && { closed }),
    };
  } catch {
    throw new DamagedEntry(lsn);
  }
}
