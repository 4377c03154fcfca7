/** What follows from the catalogue: the partition-sets, where they are, and the resource ids that clients see. */
import { epkRanges, formatRid } from '../../engine/index.ts';
import { digitsFor } from '../config/checks.ts';
import type { PartitionSetPlace } from '../config/index.ts';
import { type Catalog, type ContainerEntry, type DatabaseEntry, sdkNameOf } from './catalog.ts';

export interface CatalogPlace extends PartitionSetPlace {
  /** The number of its container. */
  readonly number: number;
  /** Unique in the account, for ever. */
  readonly rangeId: string;
}

/** In one order for everybody. `columns`: how many nodes a region has. */
export function placesOf(catalog: Catalog, columns: number): CatalogPlace[] {
  return catalog.containers.flatMap((container) => placesIn(catalog, container, columns));
}

export function placesIn(catalog: Catalog, entry: ContainerEntry, columns: number): CatalogPlace[] {
  const container = sdkNameOf(catalog, entry);
  const { partitionKey, partitionSets, number, firstRange } = entry;
  return epkRanges(partitionSets).map(({ min: from, max: to }, index) => ({
    name: partitionSetName(entry, index),
    container,
    partitionKey,
    from,
    to,
    column: index % columns,
    number,
    rangeId: String(firstRange + index),
  }));
}

export function partitionSetName(
  { prefix, partitionSets }: Pick<ContainerEntry, 'prefix' | 'partitionSets'>,
  index: number,
): string {
  return `${prefix}-${String(index).padStart(digitsFor(partitionSets), '0')}`;
}

/** Four bytes for a database; four more for a container, of which the first has its highest bit set. */
export function ridOf(
  database: Pick<DatabaseEntry, 'number'>,
  container?: Pick<ContainerEntry, 'number'>,
): string {
  const bytes = new Uint8Array(container === undefined ? 4 : 8);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, database.number);
  if (container !== undefined) view.setUint32(4, (container.number | 0x8000_0000) >>> 0);
  return formatRid(bytes);
}
