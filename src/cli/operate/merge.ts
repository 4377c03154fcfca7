/**
 * One picture from what many nodes say. Each says what it saw last of a partition-set's failover state; the register that
 * holds the state has one history, so of two different ones one is older. The higher GCN is the newer, then the higher step.
 * Within a step every update raises somebody's beat, and what only people change raises the configuration's version.
 */
import type { KnownNode } from './find.ts';
import type { Places } from './places.ts';
import type { LocalView, NodeFacts, PartitionSetView } from './shapes.ts';

export interface NodeStatus extends KnownNode {
  readonly isUp: boolean;
  /** Why it is not up. */
  readonly reason?: string;
  /** It wants other credentials. */
  readonly isRefused?: boolean;
  readonly facts?: NodeFacts;
  readonly rttMs?: number;
  /** Its clock against this machine's; and how far off that can be. */
  readonly offsetMs?: number;
  readonly offsetErrorMs?: number;
  readonly certificateEnds?: string;
  readonly views: readonly PartitionSetView[];
}

/** What one node sees. */
export interface Sighting {
  readonly node: string;
  readonly region: string;
  readonly view: PartitionSetView;
}

export interface PartitionSet {
  readonly name: string;
  readonly container: string;
  /** The newest that any node has seen; absent when no node that holds it answers. */
  readonly state?: PartitionSetView;
  /** By region: what its node does itself. */
  readonly local: Readonly<Record<string, LocalView>>;
  /** By region: the GCN that its node has seen last. */
  readonly seen: Readonly<Record<string, number>>;
  /** Regions whose nodes say that they take writes now. */
  readonly writers: readonly string[];
  /** Regions whose nodes answer and have not seen it yet. */
  readonly starting: readonly string[];
}

export interface ClusterView {
  readonly cluster: string;
  readonly at: string;
  readonly regions: readonly string[];
  readonly nodes: readonly NodeStatus[];
  readonly partitionSets: readonly PartitionSet[];
}

export function isNewer(one: PartitionSetView, other: PartitionSetView): boolean {
  return (
    (one.gcn - other.gcn ||
      (one.step ?? 0) - (other.step ?? 0) ||
      beatsOf(one) - beatsOf(other) ||
      one.configuration.version - other.configuration.version) > 0
  );
}

function beatsOf({ regions }: PartitionSetView): number {
  return Object.values(regions).reduce((sum, { beat }) => sum + beat, 0);
}

export function mergeSightings(
  name: string,
  container: string,
  sightings: readonly Sighting[],
  starting: readonly string[] = [],
): PartitionSet {
  let state: PartitionSetView | undefined;
  for (const { view } of sightings) if (state === undefined || isNewer(view, state)) state = view;
  const local = Object.fromEntries(
    sightings.flatMap(({ region, view }) => (view.local ? [[region, view.local] as const] : [])),
  );
  return {
    name,
    container: container || (state?.container ?? ''),
    ...(state && { state }),
    local,
    seen: Object.fromEntries(sightings.map(({ region, view }) => [region, view.gcn])),
    starting,
    writers: sightings.filter(({ view }) => view.local?.canWrite === true).map(({ region }) => region),
  };
}

/** A node that still shows what was deleted has not heard of it yet. */
export function mergeNodes(nodes: readonly NodeStatus[], { all: expected, isWhole }: Places): PartitionSet[] {
  const sightings = new Map<string, Sighting[]>([...expected.keys()].map((name) => [name, []]));
  for (const { name: node, region, views } of nodes) {
    for (const view of views) {
      if (isWhole && !expected.has(view.partitionSet)) continue;
      const known = sightings.get(view.partitionSet) ?? [];
      known.push({ node, region, view });
      sightings.set(view.partitionSet, known);
    }
  }
  return [...sightings].map(([name, seen]) => {
    const place = expected.get(name);
    const starting = nodes
      .filter(({ isUp, column }) => isUp && column === place?.column)
      .map(({ region }) => region)
      .filter((region) => !seen.some((sighting) => sighting.region === region));
    return mergeSightings(name, place?.container ?? '', seen, starting);
  });
}
