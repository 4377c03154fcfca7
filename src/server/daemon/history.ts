/**
 * What happened to this node's partition-sets. The failover state holds the last three changes; nodes keep the older ones, as
 * lines of JSON in their data directory. There are two generations of some megabytes: when the newer one is full it becomes
 * the older one. Both are in memory as they are on disk. Entries are numbered, over restarts too, so that whoever reads page
 * by page goes on where the last page began.
 *
 * It is for people. Nothing rests on it, and a node that cannot write it goes on without.
 */
import { z } from 'zod';
import { type AgentEvent, type FailoverState, type HistoryEntry, newEntries } from '../../failover/index.ts';
import { HistoryFile, type Warn } from './history-file.ts';

export interface KeptEntry extends HistoryEntry {
  readonly n: number;
  readonly partitionSet: string;
}

export interface HistoryPage {
  /** The oldest first. */
  readonly entries: readonly KeptEntry[];
  /** For the page before this one; absent: there is none. */
  readonly next?: number;
}

export interface HistoryOptions {
  /** Absent: kept in memory alone. */
  readonly file?: string;
  /** Of a generation. */
  readonly maxBytes?: number;
  readonly warn?: Warn;
}

const MAX_BYTES = 4 * 1024 * 1024;

/** What another version wrote may have words that this one does not know. */
const line = z.object({
  n: z.int().min(1),
  partitionSet: z.string(),
  at: z.string(),
  what: z.string(),
  who: z.string(),
  why: z.string(),
  from: z.number(),
  to: z.number(),
  region: z.string().nullable(),
});

export class HistoryKeeper {
  readonly #file: HistoryFile | undefined;
  readonly #maxBytes: number;
  #older: readonly KeptEntry[] = [];
  #newer: KeptEntry[] = [];
  #bytes = 0;
  #next = 1;

  constructor({ file, maxBytes = MAX_BYTES, warn = () => {} }: HistoryOptions = {}) {
    this.#maxBytes = maxBytes;
    if (file === undefined) return;
    this.#file = new HistoryFile(file, 'history', warn);
    const { older, newer } = this.#file.read();
    this.#older = older.flatMap(entryIn);
    this.#newer = newer.flatMap(entryIn);
    this.#bytes = newer.reduce((sum, text) => sum + bytesOf(text), 0);
    this.#next = (this.#newer.at(-1) ?? this.#older.at(-1))?.n ?? 0;
    this.#next += 1;
  }

  onEvent(partitionSet: string, event: AgentEvent): void {
    if (event.event !== 'state') return;
    const { before, state } = event;
    // The first that is seen since the start: some of it may have been seen before.
    const news = before === undefined ? this.#unknownIn(partitionSet, state) : newEntries(before, state);
    for (const entry of news) this.#keep({ n: this.#next, partitionSet, ...entry });
  }

  /** The oldest first. `state` may be newer than what was seen. */
  of(partitionSet: string, state: FailoverState | undefined): readonly HistoryEntry[] {
    const kept = this.#of(partitionSet).map(({ n: _n, partitionSet: _set, ...entry }) => entry);
    return [...kept, ...(state === undefined ? [] : this.#unknownIn(partitionSet, state))];
  }

  /** The last of those that have a lower number than `before`. */
  page(partitionSets: ReadonlySet<string>, { before = Infinity, limit }: PageRange): HistoryPage {
    const entries: KeptEntry[] = [];
    for (const entry of this.#backwards()) {
      if (entry.n >= before || !partitionSets.has(entry.partitionSet)) continue;
      if (entries.length === limit) return { entries: entries.toReversed(), next: entries.at(-1)!.n };
      entries.push(entry);
    }
    return { entries: entries.toReversed() };
  }

  /** The last of those that have a higher number, the oldest first; as many as `limit`. */
  since(after: number, limit: number): readonly KeptEntry[] {
    if (this.#next - 1 <= after) return [];
    const entries: KeptEntry[] = [];
    for (const entry of this.#backwards()) {
      if (entry.n <= after || entries.length === limit) break;
      entries.push(entry);
    }
    return entries.toReversed();
  }

  /** Resolves when everything is in the file, or cannot be. */
  async close(): Promise<void> {
    await this.#file?.written();
  }

  *#backwards(): IterableIterator<KeptEntry> {
    for (const generation of [this.#newer, this.#older])
      for (let at = generation.length - 1; at >= 0; at -= 1) yield generation[at]!;
  }

  #of(partitionSet: string): readonly KeptEntry[] {
    return [...this.#older, ...this.#newer].filter((entry) => entry.partitionSet === partitionSet);
  }

  #unknownIn(partitionSet: string, { history }: FailoverState): readonly HistoryEntry[] {
    if (history.length === 0) return [];
    const names = new Set(this.#of(partitionSet).map(nameOf));
    return history.filter((entry) => !names.has(nameOf(entry)));
  }

  #keep(entry: KeptEntry): void {
    const text = JSON.stringify(entry);
    const bytes = bytesOf(text);
    if (this.#newer.length > 0 && this.#bytes + bytes > this.#maxBytes) {
      this.#older = this.#newer;
      this.#newer = [];
      this.#bytes = 0;
      this.#file?.turnOver();
    }
    this.#newer.push(entry);
    this.#bytes += bytes;
    this.#next += 1;
    this.#file?.add(text);
  }
}

export interface PageRange {
  readonly before?: number | undefined;
  readonly limit: number;
}

function entryIn(text: string): readonly KeptEntry[] {
  try {
    const read = line.safeParse(JSON.parse(text));
    return read.success ? [read.data as KeptEntry] : [];
  } catch {
    return [];
  }
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text) + 1;
}

function nameOf({ at, what, who, why, from, to, region }: HistoryEntry): string {
  return JSON.stringify([at, what, who, why, from, to, region]);
}
