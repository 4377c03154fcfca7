/**
 * Who holds what. Every region has the same number of nodes, its columns: node i of each region holds the copies of the
 * partition-sets k with k mod columns = i, so that a node has exactly one peer in each other region.
 */
import { epkRanges } from '../../engine/core/index.ts';
import { type Configuration, configurationFor } from '../../failover/core/index.ts';
import { digitsFor } from './checks.ts';
import {
  type AcceptorConfig,
  type ClusterConfig,
  type GatewayConfig,
  type NodeConfig,
  type TlsFiles,
  timingsOf,
} from './cluster-config.ts';
import { formatAddress } from './values.ts';

export interface PlacedNode extends NodeConfig {
  readonly region: string;
  readonly column: number;
}

export interface PartitionSetPlace {
  /** `items-07`. */
  readonly name: string;
  readonly container: string;
  /** More than one path make a hierarchical key. */
  readonly partitionKey: readonly string[];
  /** Effective partition keys, hexadecimal: from this one on, up to but without the other. */
  readonly from: string;
  readonly to: string;
  readonly column: number;
}

export function nodesOf({ regions }: ClusterConfig): PlacedNode[] {
  return regions.flatMap(({ name: region, nodes }) =>
    nodes.map((node, column) => ({ ...node, region, column })),
  );
}

export function nodeOf(config: ClusterConfig, name: string): PlacedNode | undefined {
  return nodesOf(config).find((node) => node.name === name);
}

export function acceptorOf({ acceptors }: ClusterConfig, name: string): AcceptorConfig | undefined {
  return acceptors.find((acceptor) => acceptor.name === name);
}

export function gatewayOf({ gateways }: ClusterConfig, name: string): GatewayConfig | undefined {
  return gateways.find((gateway) => gateway.name === name);
}

/** Where HTTP clients find it, spelled the same wherever it stands: with a slash at the end. */
export function endpointOf({ tls }: ClusterConfig, { address }: GatewayConfig): string {
  return `${tls ? 'https' : 'http'}://${formatAddress(address)}/`;
}

export function columnOf(config: ClusterConfig, name: string): number | undefined {
  return nodeOf(config, name)?.column;
}

/** The node of each other region that holds the same partition-sets; none for a name that is not a node's. */
export function peersOf(config: ClusterConfig, name: string): PlacedNode[] {
  const self = nodeOf(config, name);
  return nodesOf(config).filter(
    ({ region, column }) => self && region !== self.region && column === self.column,
  );
}

/** In one order for everybody: it decides the columns. */
export function partitionSetsOf({ containers, regions }: ClusterConfig): PartitionSetPlace[] {
  const columns = regions[0]!.nodes.length;
  return containers.flatMap(({ name: container, partitionKey, partitionSets }) =>
    epkRanges(partitionSets).map(({ min: from, max: to }, index) => {
      const name = `${container}-${String(index).padStart(digitsFor(partitionSets), '0')}`;
      return { name, container, partitionKey, from, to, column: index % columns };
    }),
  );
}

export function partitionSetsOn(config: ClusterConfig, name: string): PartitionSetPlace[] {
  const self = columnOf(config, name);
  return partitionSetsOf(config).filter(({ column }) => column === self);
}

/** What a partition-set of this cluster begins with; afterwards its register decides. */
export function failoverConfigurationOf(config: ClusterConfig): Configuration {
  const { consistency, staleness, minimumDurability } = config.account;
  return configurationFor(
    config.regions.map(({ name }) => name),
    {
      consistency,
      minDurability: minimumDurability,
      timings: timingsOf(config),
      ...(staleness && { staleness: { writes: staleness.versions, seconds: staleness.ms / 1000 } }),
    },
  );
}

/** The certificate files of one node, acceptor or gateway. */
export function tlsFilesOf({ tls }: ClusterConfig, name: string): TlsFiles | undefined {
  if (tls === undefined) return undefined;
  const of = (path: string): string => path.replaceAll('{name}', name);
  return { ca: of(tls.ca), cert: of(tls.cert), key: of(tls.key) };
}
