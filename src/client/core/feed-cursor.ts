/**
 * Where the reader of a container's change feed is: a place in the log of every partition-set, and whose turn it is. The places are
 * (epoch, LSN), which mean the same in every region, so nothing is left out or shown twice when a partition-set, or the reader,
 * moves. Turns go round, one page each, so that a busy partition-set does not hide the others.
 *
 * A page is shown entry by entry, and the continuation is taken after any of them. Mostly the entry's own place will do. Not in the one
 * page that begins in the part of the log that was trimmed (where a place counts only together with `base`, see the engine's feed) and
 * ends beyond it: there the continuation keeps the page's beginning and the last entry that was shown of it, and the page is fetched again.
 * It must contain that entry still; if not, what was shown has been undone, or trimmed.
 */
import type { FeedPosition, Position } from '../../engine/core/index.ts';
import { formatToken, parseToken, type Place } from './tokens.ts';

interface Progress {
  /** Everything up to here was shown; what to ask for next. */
  after: FeedPosition;
  /** The last entry that was shown of the page that begins there. */
  shown: Position | undefined;
  page: FeedPage<Position> | undefined;
}

/** As the node answered it. */
export interface FeedPage<E extends Position> {
  readonly entries: readonly E[];
  readonly position: FeedPosition;
}

export type ReceivedPage<E extends Position> =
  /** Those that were not shown before. */
  | { readonly ok: true; readonly entries: readonly E[] }
  | { readonly ok: false; readonly code: 'FEED_UNDONE' | 'FEED_TRIMMED' };

export type CursorProblem = 'TOKEN_INVALID' | 'TOKEN_NEWER';

const BEGINNING: FeedPosition = { epoch: 0, lsn: 0 };

export class FeedCursor {
  readonly #partitionSets: readonly string[];
  readonly #progress: Map<string, Progress>;
  #turn = 0;

  /** From the beginning. */
  constructor(partitionSets: readonly string[]) {
    this.#partitionSets = partitionSets;
    this.#progress = new Map(partitionSets.map((name) => [name, progressAt(BEGINNING)]));
  }

  /**
   * From where another cursor was. A partition-set that the token does not have is read from its beginning; one that the container
   * does not have makes it the token of another container.
   */
  static from(token: string, partitionSets: readonly string[]): FeedCursor | CursorProblem {
    const parsed = parseToken('f', token);
    if (!parsed.ok) return parsed.code;
    const cursor = new FeedCursor(partitionSets);
    for (const place of parsed.places) {
      const progress = progressIn(place);
      if (progress === undefined || !cursor.#progress.has(place.partitionSet)) return 'TOKEN_INVALID';
      cursor.#progress.set(place.partitionSet, progress);
    }
    return cursor;
  }

  /** Whose turn it is. Each call is the next one's turn. */
  next(): { readonly partitionSet: string; readonly after: FeedPosition } {
    const partitionSet = this.#partitionSets[this.#turn % this.#partitionSets.length]!;
    this.#turn = (this.#turn + 1) % this.#partitionSets.length;
    return { partitionSet, after: this.#of(partitionSet).after };
  }

  /** The page that was asked for has come. Its entries are to be shown in order, each followed by `shown`. */
  received<E extends Position>(partitionSet: string, page: FeedPage<E>): ReceivedPage<E> {
    const progress = this.#of(partitionSet);
    const { shown } = progress;
    progress.page = page;
    if (shown === undefined) {
      if (page.entries.length === 0) this.#turnPage(progress, page);
      return { ok: true, entries: page.entries };
    }
    const at = page.entries.findIndex(({ lsn }) => lsn >= shown.lsn);
    const found = page.entries[at];
    // In a log no LSN is missing, but in what was trimmed.
    if (found !== undefined && found.lsn !== shown.lsn) return { ok: false, code: 'FEED_TRIMMED' };
    if (found !== undefined && found.epoch !== shown.epoch) return { ok: false, code: 'FEED_UNDONE' };
    const entries = found === undefined ? [] : page.entries.slice(at + 1);
    if (entries.length > 0) return { ok: true, entries };
    // A page without anything new. One that does not even reach what was shown leaves that to the next.
    this.#turnPage(progress, page);
    if (found === undefined) progress.shown = shown;
    return { ok: true, entries };
  }

  /** The entry was handed to the reader. */
  shown(partitionSet: string, { epoch, lsn }: Position): void {
    const progress = this.#of(partitionSet);
    const { page, after } = progress;
    if (page === undefined) return;
    const { base } = page.position;
    const last = page.entries.at(-1);
    if (last?.lsn === lsn) this.#turnPage(progress, page);
    else if (base !== undefined) this.#moveTo(progress, { epoch, lsn, base });
    else if (after.lsn > 0 && after.base === undefined) this.#moveTo(progress, { epoch, lsn });
    else progress.shown = { epoch, lsn };
  }

  #turnPage(progress: Progress, { position }: FeedPage<Position>): void {
    this.#moveTo(progress, position);
    progress.page = undefined;
  }

  #moveTo(progress: Progress, { epoch, lsn, base }: FeedPosition): void {
    progress.after = { epoch, lsn, ...(base !== undefined && { base }) };
    progress.shown = undefined;
  }

  /** The continuation: everything that was shown so far, and nothing else. */
  get token(): string {
    const places = [...this.#progress].map(([partitionSet, { after, shown }]) => {
      const { epoch, lsn, base } = after;
      const numbers = [epoch, lsn];
      if (base !== undefined || shown !== undefined) numbers.push(base ?? 0);
      if (shown !== undefined) numbers.push(shown.epoch, shown.lsn);
      return { partitionSet, numbers };
    });
    return formatToken('f', places);
  }

  #of(partitionSet: string): Progress {
    let progress = this.#progress.get(partitionSet);
    if (progress === undefined) {
      progress = progressAt(BEGINNING);
      this.#progress.set(partitionSet, progress);
    }
    return progress;
  }
}

function progressAt(after: FeedPosition, shown?: Position): Progress {
  return { after, shown, page: undefined };
}

/** Epoch and LSN; 0 or the base; epoch and LSN of what was shown beyond. */
function progressIn({ numbers }: Place): Progress | undefined {
  if (![2, 3, 5].includes(numbers.length)) return undefined;
  const [epoch, lsn, base = 0, shownEpoch, shownLsn] = numbers as [number, number, ...number[]];
  const after: FeedPosition = base === 0 ? { epoch, lsn } : { epoch, lsn, base };
  if (shownEpoch === undefined || shownLsn === undefined) return progressAt(after);
  return progressAt(after, { epoch: shownEpoch, lsn: shownLsn });
}
