/**
 * What people asked this node to change: who, as what, from where, when, and how it ended. A line of JSON for each in its data
 * directory, in two generations of some megabytes, as the history is kept. An action is written down before it is carried out,
 * because it may be the one that ends this process, and once more, under the same number, when its end is known. A node that
 * cannot write it says so in its log, and acts all the same: in an outage a full disk must not bind people's hands.
 */
import { z } from 'zod';
import { HTTP_ROLES } from '../http/index.ts';
import { HistoryFile, type Warn } from './history-file.ts';

export const AUDIT_ACTIONS = ['intent', 'reapply', 'dismiss', 'local'] as const;

export const AUDIT_ENTRY = z.object({
  n: z.int().min(1),
  at: z.string(),
  role: z.enum(HTTP_ROLES),
  /** The name that was given. */
  who: z.string().nullable(),
  /** The address that it came from. */
  from: z.string(),
  action: z.enum(AUDIT_ACTIONS),
  /** The partition-set, or the processes. */
  target: z.string().nullable(),
  /** What was asked, word for word. */
  detail: z.record(z.string(), z.unknown()),
  /** Begun: this process did not live to see the end, or it is not there yet. */
  outcome: z.enum(['begun', 'done', 'refused', 'failed']),
  /** Why it was refused or failed. */
  code: z.string().nullable(),
});
export type AuditEntry = z.infer<typeof AUDIT_ENTRY>;
export type AuditedAction = Omit<AuditEntry, 'n' | 'outcome' | 'code'>;
export type AuditEnd = Pick<AuditEntry, 'outcome' | 'code'>;

export interface AuditOptions {
  /** Absent: kept in memory alone. */
  readonly file?: string;
  /** Of a generation. */
  readonly maxBytes?: number;
  readonly warn?: Warn;
}

const MAX_BYTES = 2 * 1024 * 1024;

export class AuditTrail {
  readonly #file: HistoryFile | undefined;
  readonly #maxBytes: number;
  /** By their numbers, in their order. */
  #older = new Map<number, AuditEntry>();
  #newer = new Map<number, AuditEntry>();
  #bytes = 0;
  #next = 1;

  constructor({ file, maxBytes = MAX_BYTES, warn = () => {} }: AuditOptions = {}) {
    this.#maxBytes = maxBytes;
    if (file === undefined) return;
    this.#file = new HistoryFile(file, 'audit trail', warn);
    const { older, newer } = this.#file.read();
    this.#older = entriesIn(older);
    this.#newer = entriesIn(newer);
    this.#bytes = newer.reduce((sum, text) => sum + bytesOf(text), 0);
    this.#next = Math.max(0, ...this.#older.keys(), ...this.#newer.keys()) + 1;
  }

  /** Resolves, when it is on its way to the disk, with how to say how it ended. */
  async begin(action: AuditedAction): Promise<(end: AuditEnd) => void> {
    const n = this.#next;
    this.#next += 1;
    this.#keep({ n, ...action, outcome: 'begun', code: null });
    await this.#file?.written();
    return (end) => this.#keep({ n, ...action, ...end });
  }

  /** The last of those that have a lower number, the oldest first. `next`: for the page before this one. */
  page({ before = Infinity, limit }: { readonly before?: number | undefined; readonly limit: number }): {
    readonly entries: readonly AuditEntry[];
    readonly next?: number;
  } {
    const all = [...new Map([...this.#older, ...this.#newer]).values()].filter(({ n }) => n < before);
    all.sort((a, b) => a.n - b.n);
    const entries = all.slice(-limit);
    return { entries, ...(entries.length < all.length && { next: entries[0]!.n }) };
  }

  /** Resolves when everything is in the file, or cannot be. */
  async close(): Promise<void> {
    await this.#file?.written();
  }

  #keep(entry: AuditEntry): void {
    const text = JSON.stringify(entry);
    const bytes = bytesOf(text);
    if (this.#newer.size > 0 && this.#bytes + bytes > this.#maxBytes) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#bytes = 0;
      this.#file?.turnOver();
    }
    this.#newer.set(entry.n, entry);
    this.#bytes += bytes;
    this.#file?.add(text);
  }
}

/** What cannot be read is passed over. Of two lines with one number the later one holds. */
function entriesIn(lines: readonly string[]): Map<number, AuditEntry> {
  const entries = new Map<number, AuditEntry>();
  for (const text of lines) {
    try {
      const read = AUDIT_ENTRY.safeParse(JSON.parse(text));
      if (read.success) entries.set(read.data.n, read.data);
    } catch {
      continue;
    }
  }
  return entries;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text) + 1;
}
