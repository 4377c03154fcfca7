/**
 * The map of a cluster: where its regions' nodes are, and which partition-set holds which documents.
 *
 * Fields are only ever added behind the others, where older readers do not look. An older node's map has no resource ids and no
 * range ids: a reader makes up the resource ids that older clients used, and takes the names of the partition-sets, which are
 * unique too, for those of their ranges. Both are good until the node is a newer one.
 */
import { createHash } from 'node:crypto';
import { formatRid, READ_LEVELS, type ReadLevel } from '../../engine/index.ts';
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
    /** `items`, or `DATABASE/CONTAINER`. */
    readonly name: string;
    /** Its resource id. */
    readonly rid: string;
    /** Paths; more than one make a hierarchical key. */
    readonly partitionKey: readonly string[];
    readonly partitionSets: readonly {
      readonly name: string;
      /** Unique in the account, for ever. */
      readonly rangeId: string;
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
    containers.map(({ name, rid, partitionKey, partitionSets }) => [
      name,
      partitionKey,
      partitionSets.map((set) => [set.name, set.from, set.to, set.column, set.rangeId]),
      rid,
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
    containers: listIn(containers).map((one) => containerIn(one, textIn(account))),
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

function containerIn(value: unknown, account: string): ClusterMap['containers'][number] {
  const [name, partitionKey, partitionSets, rid] = listIn(value);
  return {
    name: textIn(name),
    rid: optional(rid, textIn) ?? olderRid(account, textIn(name)),
    partitionKey: listIn(partitionKey).map(textIn),
    partitionSets: listIn(partitionSets).map((set) => {
      const [own, from, to, column, rangeId] = listIn(set);
      return {
        name: textIn(own),
        rangeId: optional(rangeId, textIn) ?? textIn(own),
        from: textIn(from),
        to: textIn(to),
        column: countIn(column),
      };
    }),
  };
}

/** Eight bytes, of which the fifth says that it is a container. */
function olderRid(account: string, container: string): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([account, container]))
    .digest()
    .subarray(0, 8);
  bytes[4]! |= 0x80;
  return formatRid(bytes);
}
