/**
 * Hints between the agents of a partition-set: they save time and carry no authority. A beat hint starts an observer's wait
 * without a read; a phase hint makes it read at once. Whoever misses all of them only notices later.
 */
import type { RegionName } from '../machine/index.ts';

export type Hint =
  | { readonly hint: 'beat'; readonly gcn: number; readonly writer: RegionName; readonly beat: number }
  | { readonly hint: 'phase'; readonly gcn: number; readonly step: number };
