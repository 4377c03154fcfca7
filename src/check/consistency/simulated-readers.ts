/** What a reader of the change feed and the copies of a simulated run would show after healing, as they should. */
import type { Choose } from '../simulated.ts';
import type { CopyDocument, CopyRecord } from './copies.ts';
import type { FeedChange, FeedRecord, FeedStretch } from './feed.ts';
import { BEFORE_ALL, type LogRow, type Position, positionOrder, type RunRecord } from './history.ts';

/** A reader that follows the log in stretches, from one region or another, and now and then goes back. */
export function simulateFeed(record: RunRecord, mode: FeedRecord['mode'], choose: Choose): FeedRecord {
  const rows = record.log.filter((row) => row.key !== undefined);
  const newest = new Map(rows.map((row) => [row.key, row]));
  const isShown = (row: LogRow) =>
    mode === 'all' || (row.value !== undefined && (newest.get(row.key) === row || choose(2) === 0));
  const stretches: FeedStretch[] = [];
  let from: Position = BEFORE_ALL;
  for (let next = 0; next < rows.length;) {
    const changes = rows.slice(next, next + 1 + choose(8));
    const shown = changes.filter(isShown).map(changeOf);
    stretches.push({ region: `region ${choose(3)}`, from, changes: shown });
    const last = changes.at(-1)!;
    const back = choose(6) === 0 ? changes[0]! : last;
    from = { epoch: back.epoch, lsn: back.lsn };
    next = rows.findIndex((row) => positionOrder(row, from) > 0);
    if (next < 0) break;
  }
  return { reader: 'reader', mode, stretches, caughtUp: true };
}

function changeOf({ epoch, lsn, key, value }: LogRow): FeedChange {
  return { epoch, lsn, key: key!, value };
}

/** Three equal copies, each of which has dropped some of the oldest entries. */
export function simulateCopies({ log }: RunRecord, choose: Choose): CopyRecord[] {
  const documents = new Map<string, CopyDocument>();
  for (const { epoch, lsn, key, value } of log) {
    if (key === undefined) continue;
    if (value === undefined) documents.delete(key);
    else documents.set(key, { epoch, lsn, value });
  }
  const entries = log.map(({ epoch, lsn }) => ({ epoch, lsn }));
  return ['east', 'west', 'north'].map((region) => {
    const dropped = choose(Math.max(1, entries.length));
    return { region, log: entries.slice(dropped), documents: new Map(documents) };
  });
}
