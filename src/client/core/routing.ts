/**
 * Which partition-set a document lies in. A container's map divides the space of effective partition keys, "" to "FF", into
 * ranges without gaps; it has a version, and the newer one wins.
 */
import { type EpkRange, rangeContains } from '../../engine/core/index.ts';

export interface PartitionRange extends EpkRange {
  readonly partitionSet: string;
}

export interface PartitionMap {
  readonly container: string;
  readonly version: number;
  /** In order of `min`. */
  readonly ranges: readonly PartitionRange[];
}

const FIRST = '';
const LAST = 'FF';

/** The range that holds the key; undefined only if the map has a gap there. */
export function routeOf(epk: string, ranges: readonly PartitionRange[]): PartitionRange | undefined {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ranges[middle]!.min <= epk) low = middle + 1;
    else high = middle;
  }
  const range = ranges[low - 1];
  return range !== undefined && rangeContains(range, epk) ? range : undefined;
}

/**
 * The ranges that may hold documents under the first parts of a hierarchical key: their keys all begin with the key of those
 * parts.
 */
export function routesUnder(prefix: string, ranges: readonly PartitionRange[]): readonly PartitionRange[] {
  const end = `${prefix}${LAST}`;
  return ranges.filter(({ min, max }) => min < end && prefix < max);
}

/** What is wrong with a map, in one sentence. */
export function mapProblem({ ranges }: Pick<PartitionMap, 'ranges'>): string | undefined {
  if (ranges.length === 0) return 'The map has no ranges.';
  const names = new Set(ranges.map(({ partitionSet }) => partitionSet));
  if (names.size < ranges.length) return 'The map names a partition-set twice.';
  let end = FIRST;
  for (const { partitionSet, min, max } of ranges) {
    if (min !== end) return `The range of ${partitionSet} does not begin where the one before it ends.`;
    if (max <= min) return `The range of ${partitionSet} is empty.`;
    end = max;
  }
  return end === LAST ? undefined : 'The map does not reach to the end of the keys.';
}

/** The one of the two that is in force. */
export function newerMap(a: PartitionMap | undefined, b: PartitionMap): PartitionMap {
  return a !== undefined && a.version >= b.version ? a : b;
}
