/** The map of a cluster: where its regions' nodes are, and which partition-set holds which documents. */
import { READ_LEVELS, type ReadLevel } from '../../engine/index.ts';
import type { Payload } from '../../transport/index.ts';
import { countIn, listIn, optional, textIn } from './fields.ts';
import { malformed, packed, unpacked } from './packing.ts';

export interface ClusterMap {
  /** The higher one is the later one. */
  readonly version: number;
  readonly cluster: string;
  readonly account: { readonly name: string; readonly consistency: ReadLevel };
  /** In order of priority when the cluster was made. */
  readonly regions: readonly {
    readonly name: string;
    readonly nodes: readonly { readonly name: string; readonly address: string; readonly http?: string }[];
  }[];
  readonly containers: readonly {
    readonly name: string;
    /** Paths; more than one make a hierarchical key. */
    readonly partitionKey: readonly string[];
    readonly partitionSets: readonly {
      readonly name: string;
      /** Effective partition keys: from this one on, up to but without the other. */
      readonly from: string;
      readonly to: string;
      /** Which node of each region holds it: the place in the list. */
      readonly column: number;
    }[];
  }[];
}

export function encodeMap({ version, cluster, account, regions, containers }: ClusterMap): Payload {
  return packed([
    version,
    cluster,
    account.name,
    READ_LEVELS.indexOf(account.consistency),
    regions.map(({ name, nodes }) => [
      name,
      nodes.map((node) => [node.name, node.address, node.http ?? null]),
    ]),
    containers.map(({ name, partitionKey, partitionSets }) => [
      name,
      partitionKey,
      partitionSets.map((set) => [set.name, set.from, set.to, set.column]),
    ]),
  ]);
}

export function decodeMap(payload: Buffer): ClusterMap {
  const [version, cluster, account, level, regions, containers] = unpacked(payload).header;
  const consistency = READ_LEVELS[level as number];
  if (consistency === undefined) throw malformed();
  return {
    version: countIn(version),
    cluster: textIn(cluster),
    account: { name: textIn(account), consistency },
    regions: listIn(regions).map(regionIn),
    containers: listIn(containers).map(containerIn),
  };
}

function regionIn(value: unknown): ClusterMap['regions'][number] {
  const [name, nodes] = listIn(value);
  return {
    name: textIn(name),
    nodes: listIn(nodes).map((node) => {
      const [own, address, web] = listIn(node);
      const http = optional(web, textIn);
      return { name: textIn(own), address: textIn(address), ...(http !== undefined && { http }) };
    }),
  };
}

function containerIn(value: unknown): ClusterMap['containers'][number] {
  const [name, partitionKey, partitionSets] = listIn(value);
  return {
    name: textIn(name),
    partitionKey: listIn(partitionKey).map(textIn),
    partitionSets: listIn(partitionSets).map((set) => {
      const [own, from, to, column] = listIn(set);
      return { name: textIn(own), from: textIn(from), to: textIn(to), column: countIn(column) };
    }),
  };
}
