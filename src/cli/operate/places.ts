/**
 * Which partition-sets there are, and where. Containers are made and deleted through the API, so the cluster file does not
 * know: the nodes do, each as far as it has heard. The map with the highest version is the newest, and it alone counts. Only
 * when no node tells does the file stand in.
 */
import type { ClusterMapFacts } from './shapes.ts';

export interface Place {
  /** As the SDK has it: `items`, or `DATABASE/CONTAINER`. */
  readonly container: string;
  /** Of nodes: those that hold it. */
  readonly column: number;
}

export interface Places {
  /** By name, in the order of the account. */
  readonly all: ReadonlyMap<string, Place>;
  /** No others are left. The file may lack some, a map does not. */
  readonly isWhole: boolean;
}

/** Undefined: none of them is a map of this cluster. */
export function placesIn(maps: readonly ClusterMapFacts[], cluster: string): Places | undefined {
  const newest = maps
    .filter((map) => map.cluster === cluster)
    .reduce<ClusterMapFacts | undefined>(
      (best, map) => (best === undefined || map.version > best.version ? map : best),
      undefined,
    );
  if (newest === undefined) return undefined;
  const all = newest.containers.flatMap(({ name: container, partitionSets }) =>
    partitionSets.map(({ name, column }) => [name, { container, column }] as const),
  );
  return { all: new Map(all), isWhole: true };
}
