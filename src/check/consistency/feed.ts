/**
 * A change feed: a reader follows the log from where it left off, through any region, across failovers. What it was given is a list
 * of *stretches*, each asked for from a position; a new stretch starts where the one before ended unless the reader went back.
 *
 *   feed.committed   every change of the feed is in the final log, with that key and value.
 *   feed.order       in a stretch, a change comes after the ones that are before it in the log.
 *   feed.repetition  in a stretch, no change comes twice, and none is at or before the position that was asked for.
 *   feed.gap         between the position asked for and the last change of a stretch nothing of the log is left out; a stretch starts
 *                    no later than the one before it ended; a reader that caught up has had the last change. In the mode
 *                    `latest`, deletions, and versions that the log replaces later, may be left out.
 */
import { must } from '../../protocol/index.ts';
import type { Evidence } from './evidence.ts';
import { type ConsistencyFinding, finding } from './findings.ts';
import { BEFORE_ALL, formatPosition, laterOf, type LogRow, type Position, positionOrder } from './history.ts';

export interface FeedChange extends Position {
  readonly key: string;
  /** Absent: deleted. */
  readonly value?: string | undefined;
}

export interface FeedStretch {
  readonly region: string;
  /** The changes asked for are those after this position. */
  readonly from: Position;
  readonly changes: readonly FeedChange[];
}

export interface FeedRecord {
  readonly reader: string;
  readonly mode: 'all' | 'latest';
  readonly stretches: readonly FeedStretch[];
  /** The reader was told that there is nothing more, after healing. */
  readonly caughtUp: boolean;
}

export function checkFeed(evidence: Evidence, feed: FeedRecord): ConsistencyFinding[] {
  return new FeedCheck(evidence, feed).run();
}

class FeedCheck {
  readonly #evidence: Evidence;
  readonly #feed: FeedRecord;
  /** The rows of the log that are changes, in order. */
  readonly #rows: readonly LogRow[];
  readonly #indexes = new Map<string, number>();
  readonly #findings: ConsistencyFinding[] = [];

  constructor(evidence: Evidence, feed: FeedRecord) {
    this.#evidence = evidence;
    this.#feed = feed;
    this.#rows = evidence.record.log.filter(({ key }) => key !== undefined);
    for (const [index, row] of this.#rows.entries())
      this.#indexes.set(`${row.epoch}:${row.lsn} ${row.key}`, index);
  }

  run(): ConsistencyFinding[] {
    let reached: Position = this.#feed.stretches[0]?.from ?? BEFORE_ALL;
    for (const stretch of this.#feed.stretches) {
      if (positionOrder(stretch.from, reached) > 0)
        this.#expectNothing(this.#after(reached), this.#after(stretch.from));
      reached = laterOf(reached, this.#follow(stretch));
    }
    if (this.#feed.caughtUp) this.#expectNothing(this.#after(reached), this.#rows.length);
    return this.#findings;
  }

  #follow({ from, changes }: FeedStretch): Position {
    const first = this.#after(from);
    let next = first;
    let end = from;
    const had = new Set<number>();
    for (const change of changes) {
      const index = this.#indexes.get(`${change.epoch}:${change.lsn} ${change.key}`);
      if (index === undefined || must(this.#rows[index]).value !== change.value) {
        this.#say('feed.committed', `was given ${this.#name(change)}, which is not in the final log`);
        continue;
      }
      if (had.has(index) || index < first)
        this.#say('feed.repetition', `was given ${this.#name(change)} again`);
      else if (index < next) this.#say('feed.order', `was given ${this.#name(change)} after a later change`);
      had.add(index);
      if (index >= next) next = index + 1;
      end = laterOf(end, change);
    }
    for (let index = first; index < next; index += 1)
      if (!had.has(index)) this.#expectNothing(index, index + 1);
    return end;
  }

  #expectNothing(from: number, to: number): void {
    for (const row of this.#rows.slice(from, to)) {
      const mayLack = this.#feed.mode === 'latest' && (row.value === undefined || this.#isReplaced(row));
      if (!mayLack) this.#say('feed.gap', `was not given ${this.#name(row)}`);
    }
  }

  #isReplaced(row: LogRow): boolean {
    const newest = this.#evidence.tree.final.versions.get(row.key!)?.at(-1);
    return newest !== undefined && positionOrder(newest, row) > 0;
  }

  /** The first row after the position. */
  #after(position: Position): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (positionOrder(this.#rows[middle]!, position) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #name(row: LogRow): string {
    return `${formatPosition(row)} of ${JSON.stringify(row.key)}`;
  }

  #say(rule: 'feed.committed' | 'feed.order' | 'feed.repetition' | 'feed.gap', what: string): void {
    this.#findings.push(finding(rule, `The reader ${this.#feed.reader} ${what}.`));
  }
}
