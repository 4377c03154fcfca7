/**
 * The change feed: the log, as clients may see it. Only entries that every region of the commit set has on disk, in the order
 * of their LSNs, each once. A place in it is (epoch, LSN), so a reader that goes on after a failover, here or in another
 * region, goes on where it was; if what it has read was undone (which at Strong cannot be), it is told so instead.
 *
 * From the beginning it shows the newest version of what was trimmed, and then every change.
 */
import { type Entry, gcnOf, type Position } from '../model.ts';
import type { Refused } from './answers.ts';
import type { PartitionStateMachine } from './partition.ts';
import { entriesOf } from './copying.ts';
import { contains } from './progress-table.ts';

export interface FeedPosition extends Position {
  /** While what was trimmed is being shown: where the log began then. If that moves, the reader has to begin anew. */
  readonly base?: number;
}

export interface FeedRequest {
  /** What was read last; (0, 0) is the beginning. */
  readonly after: FeedPosition;
  readonly maxBytes: number;
}

export type FeedAnswer =
  | {
      readonly outcome: 'done';
      readonly entries: readonly Entry[];
      /** To go on from. */
      readonly position: FeedPosition;
    }
  | Refused;

export function feed(partition: PartitionStateMachine, { after, maxBytes }: FeedRequest): FeedAnswer {
  const { store, marks, reign, following, fence } = partition;
  if (!partition.isReadable) return { outcome: 'refused', code: 'NOT_READY' };
  const isCurrent = reign !== undefined || following?.isFollowing === true;
  const isShared = after.lsn === 0 || contains({ table: store.notes.table, tail: store.tail }, after);
  if (!isShared) {
    // A copy that is behind, or on its own branch, cannot say that anything was undone.
    const isNewer = fence >= gcnOf(after.epoch) && (reign !== undefined || store.tail.lsn >= after.lsn);
    const isUndone = isCurrent && isNewer;
    return { outcome: 'refused', code: isUndone ? 'FEED_UNDONE' : 'NOT_READY' };
  }
  const { base } = store;
  const isTrimmed = after.lsn > 0 && after.lsn + 1 < base && after.base !== base;
  if (isTrimmed) return { outcome: 'refused', code: 'FEED_TRIMMED' };
  if (after.lsn >= marks.safe) return { outcome: 'done', entries: [], position: after };
  try {
    const entries = entriesOf(store, after.lsn, maxBytes).filter(({ lsn }) => lsn <= marks.safe);
    const last = entries.at(-1);
    if (last === undefined) return { outcome: 'done', entries, position: after };
    const { epoch, lsn } = last;
    return { outcome: 'done', entries, position: lsn + 1 < base ? { epoch, lsn, base } : { epoch, lsn } };
  } catch (error) {
    partition.noticeDamage(error);
    return { outcome: 'refused', code: 'DAMAGED' };
  }
}
