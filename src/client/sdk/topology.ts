/**
 * Where everything is: the account's regions and nodes, the containers, and which node of a region has which partition-set. It comes
 * from the map that any node gives; where the account's record in DNS has a region's addresses too, those count, because they
 * are the ones that clients are meant to use.
 */
import { type ContainerSettings, type ItemNames, itemNames, parseRid } from '../../engine/index.ts';
import { mapProblem, type PartitionRange } from '../core/index.ts';
import type { AccountRecord } from '../discovery/index.ts';
import type { ClusterMap } from '../wire/map-wire.ts';

const CONTAINER_RID_BYTES = 8;

export interface PlacedRange extends PartitionRange {
  /** Which of a region's nodes has it. */
  readonly column: number;
  /** Unique in the account, for ever. */
  readonly rangeId: string;
}

export interface ContainerPlace {
  readonly name: string;
  /** Its resource id. */
  readonly rid: string;
  readonly settings: ContainerSettings;
  readonly ranges: readonly PlacedRange[];
  readonly names: ItemNames;
}

interface NodePlace {
  readonly name: string;
  readonly address: string;
}

export class Topology {
  readonly map: ClusterMap;
  /** In order of priority. */
  readonly regions: readonly string[];
  readonly #nodes: ReadonlyMap<string, readonly NodePlace[]>;
  readonly #containers: ReadonlyMap<string, ContainerPlace>;

  /** The map must be a good one: see `problemOf`. */
  constructor(map: ClusterMap, record: AccountRecord | undefined) {
    this.map = map;
    this.regions = map.regions.map(({ name }) => name);
    this.#nodes = new Map(map.regions.map(({ name, nodes }) => [name, placedNodes(name, nodes, record)]));
    this.#containers = new Map(
      map.containers.map((container) => [container.name, placed(container)] as const),
    );
  }

  container(name: string): ContainerPlace | undefined {
    return this.#containers.get(name);
  }

  node(region: string, column: number): NodePlace | undefined {
    return this.#nodes.get(region)?.[column];
  }

  get addresses(): ReadonlySet<string> {
    return new Set([...this.#nodes.values()].flat().map(({ address }) => address));
  }

  get partitionSets(): ReadonlySet<string> {
    const ranges = [...this.#containers.values()].flatMap((container) => container.ranges);
    return new Set(ranges.map(({ partitionSet }) => partitionSet));
  }
}

/** What is wrong with a map, in one sentence. */
export function problemOf({ regions, containers }: ClusterMap): string | undefined {
  if (regions.length === 0 || regions.some(({ nodes }) => nodes.length === 0))
    return 'The map has a region without nodes, or none at all.';
  if (containers.some(({ rid }) => parseRid(rid)?.length !== CONTAINER_RID_BYTES))
    return 'The map has a container whose resource id is none.';
  return containers
    .map(({ partitionSets }) => mapProblem({ ranges: partitionSets.map(rangeOf) }))
    .find((problem) => problem !== undefined);
}

type MapContainer = ClusterMap['containers'][number];

function rangeOf({ name, from, to }: MapContainer['partitionSets'][number]): PartitionRange {
  return { partitionSet: name, min: from, max: to };
}

function placedNodes(
  region: string,
  nodes: ClusterMap['regions'][number]['nodes'],
  record: AccountRecord | undefined,
): readonly NodePlace[] {
  const recorded = record?.regions.find((one) => one.region === region)?.addresses ?? [];
  const isSame = recorded.length === nodes.length;
  return nodes.map(({ name, address }, column) => ({ name, address: isSame ? recorded[column]! : address }));
}

function placed({ name, rid, partitionKey, partitionSets }: MapContainer): ContainerPlace {
  return {
    name,
    rid,
    settings: { partitionKeyPaths: partitionKey },
    ranges: partitionSets.map((one) => ({ ...rangeOf(one), column: one.column, rangeId: one.rangeId })),
    names: itemNames(rid),
  };
}
