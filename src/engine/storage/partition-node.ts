import type { LmdbPartition } from './lmdb-partition.ts';
import type { Tables } from './tables.ts';
import type { WriteQueue } from './write-queue.ts';

/** What a partition gets from its node. */
export interface Node {
  readonly tables: Tables;
  readonly queue: WriteQueue;
  /** There is something to commit. */
  touch(partition: LmdbPartition): void;
  sync(done: (error: Error | undefined) => void): void;
  /** A number that no data have. */
  newNumber(): number;
  /** The data with this number are not needed any more. */
  discard(number: number): void;
}
