/** From the shape of a local cluster and its addresses to the cluster file that every process of it reads. */
import { join } from 'node:path';
import { type ClusterConfig, DEFAULT_LIMITS } from '../config/cluster-config.ts';
import { DEFAULT_ZONE } from '../config/schema.ts';
import { formatAddress } from '../config/values.ts';
import type { Ground } from './ground.ts';
import { keySources } from './keys.ts';
import type { Shape } from './shape.ts';
import { storesOf } from './stores.ts';

export const CLUSTER_FILE_NAME = 'baton.yaml';
export const CERTIFICATES = 'certs';
const NAME = 'demo';
const GATEWAY = 'gateway';
/** Of the documentation's examples of BoundedStaleness. */
const STALENESS = { versions: 100_000, ms: 300_000 };

export interface PlanOptions {
  readonly directory: string;
  readonly shape: Shape;
  readonly ground: Ground;
  /** Beyond loopback: with certificates. */
  readonly secure: boolean;
}

export function planCluster({ directory, shape, ground, secure }: PlanOptions): ClusterConfig {
  const { regions, partitionSets, profile, consistency, minimumDurability } = shape;
  return settle(
    {
      path: join(directory, CLUSTER_FILE_NAME),
      cluster: NAME,
      account: {
        name: NAME,
        consistency,
        ...(consistency === 'BoundedStaleness' && { staleness: STALENESS }),
        minimumDurability,
      },
      profile,
      regions: regions.map((name) => ({ name, nodes: [] })),
      acceptors: [],
      containers: [{ name: 'items', partitionKey: ['/id'], partitionSets }],
      gateways: [],
      tokens: {},
      keys: {},
      limits: DEFAULT_LIMITS,
      log: { level: 'info' },
      warnings: [],
    },
    { directory, shape, ground, secure },
  );
}

/** The same cluster at the addresses of this run; whatever else people wrote into the file stays. */
export function settle(
  config: ClusterConfig,
  { directory, shape, ground, secure }: PlanOptions,
): ClusterConfig {
  const { tls: _, ...rest } = config;
  const at = (name: string): string => join(directory, CERTIFICATES, name);
  return {
    ...rest,
    regions: shape.regions.map((region, index) => ({
      name: region,
      nodes: ground.nodes[index]!.map(({ listen, http }, column) => {
        const name = `${region}-${column + 1}`;
        return { name, listen, address: listen, http, data: join(directory, name) };
      }),
    })),
    acceptors: [
      ...ground.acceptors.map((listen, index) => {
        const name = `a${index + 1}`;
        const url = `${secure ? 'https' : 'http'}://${formatAddress(listen)}`;
        return { name, url, serve: { listen, data: join(directory, name), secure } };
      }),
      ...storesOf(config),
    ],
    ...doorsOf(config, directory, ground),
    dns: { listen: ground.dns, zone: config.dns?.zone ?? DEFAULT_ZONE },
    ...(secure && { tls: { ca: at('ca.pem'), cert: at('{name}.pem'), key: at('{name}.key') } }),
  };
}

/** The same cluster with the gateways of this run, or without any. They keep nothing, so they may come and go. */
export function withDoors(config: ClusterConfig, directory: string, ground: Ground): ClusterConfig {
  return { ...config, ...doorsOf(config, directory, ground) };
}

function doorsOf(
  { keys }: ClusterConfig,
  directory: string,
  { gateways }: Ground,
): Pick<ClusterConfig, 'gateways' | 'keys'> {
  const isKeyless = gateways.length > 0 && Object.keys(keys).length === 0;
  return {
    gateways: gateways.map((door) => ({
      name: door.region === undefined ? GATEWAY : `${door.region}-${GATEWAY}`,
      ...door,
      address: door.listen,
    })),
    keys: isKeyless ? keySources(directory) : keys,
  };
}
