/**
 * How far the log may be trimmed. What a region that is behind needs, and what an undo could need, stays; a limit that the
 * user set goes before the first of these, never before the second, and a region that comes too late then copies everything.
 * (At the levels below bounded staleness the two are the same: a region that stays away has to be removed.)
 */
import type { PartitionStateMachine } from './partition.ts';

export interface TrimPolicy {
  /** The log is kept for at least this long, */
  readonly keepMs: number;
  /** unless it is larger than this. */
  readonly keepBytes: number;
  /** Beyond this nobody is waited for. */
  readonly hardBytes: number;
}

export const TRIM_POLICY: TrimPolicy = {
  keepMs: 24 * 3_600_000,
  keepBytes: 256 * 1024 * 1024,
  hardBytes: Infinity,
};

/** The LSN up to which the log may go; 0: nothing may. */
export function trimTo(partition: PartitionStateMachine, policy: TrimPolicy): number {
  const { store, marks, port } = partition;
  if (!partition.isReadable || store.tail.lsn < store.base) return 0;
  const bySize = lsnAtBytes(partition, policy.keepBytes);
  const byAge = lsnAtTime(partition, port.wallClock() - policy.keepMs);
  const unneeded = Math.min(Math.max(bySize, byAge), marks.everywhere);
  const lsn = Math.max(unneeded, lsnAtBytes(partition, policy.hardBytes));
  // The last entry says in which epoch the log ends.
  const allowed = Math.min(lsn, settledTo(partition), store.tail.lsn - 1);
  return allowed >= store.base ? allowed : 0;
}

/**
 * Up to where nothing can be undone any more. Below that, what a failover loses could not be listed. At Strong and bounded
 * staleness only regions of the lease set are elected; at weaker levels any region may be, also one that has been away for long.
 */
function settledTo({ marks, consistency }: PartitionStateMachine): number {
  const { level } = consistency;
  const isByLeaseSet = level === 'Strong' || level === 'BoundedStaleness';
  return isByLeaseSet ? Math.min(marks.gclsn, marks.safe) : Math.min(marks.gclsn, marks.everywhere);
}

/** About where the log behind it has so many bytes. */
function lsnAtBytes({ store }: PartitionStateMachine, bytes: number): number {
  if (store.logBytes <= bytes) return 0;
  const count = store.tail.lsn - store.base + 1;
  return Math.floor(store.tail.lsn - count * (bytes / store.logBytes));
}

/** The last entry that is older; mostly there is none. Times in the log do not go back, so it is found by halving. */
function lsnAtTime(partition: PartitionStateMachine, before: number): number {
  let low = partition.store.base - 1;
  if (timeAt(partition, low + 1, low) >= before) return low;
  let high = partition.store.tail.lsn;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (timeAt(partition, middle, low) < before) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Of that entry, or of one before it when it is damaged: nobody may have it any more, and it must not hold up the others. */
function timeAt(partition: PartitionStateMachine, lsn: number, after: number): number {
  for (let at = lsn; at > after; at -= 1) {
    try {
      return partition.store.entry(at)?.at ?? Infinity;
    } catch (error) {
      partition.noticeDamage(error);
    }
  }
  return Infinity;
}
