/** The cluster's map: its nodes from its file, its containers from the account's catalogue. */
import { statSync } from 'node:fs';
import type { ClusterMap } from '../../client/index.ts';
import { isStronger, type ReadLevel } from '../../engine/index.ts';
import type { FailoverState } from '../../failover/index.ts';
import { type Catalog, databaseOf, placesIn, ridOf, sdkNameOf } from '../catalog/index.ts';
import { type ClusterConfig, formatAddress } from '../config/index.ts';

/** A file has no number of its own: the time of its last change, in seconds, takes its place, as it is DNS's serial. */
export function fileVersion(path: string): number {
  try {
    return Math.max(0, Math.floor(statSync(path).mtimeMs / 1000));
  } catch {
    return 0;
  }
}

/**
 * The catalogue first: nodes may have got their files at different times, and yet of two maps the one with the later catalogue has
 * to count. Both numbers only grow.
 */
export function mapVersionOf(catalogVersion: number, file: number): number {
  return catalogVersion * 2 ** 32 + Math.min(file, 2 ** 32 - 1);
}

/** `consistency`: as the registers have it, when that is known; the file says what they began with. */
export function clusterMapOf(
  config: ClusterConfig,
  catalog: Catalog,
  file: number,
  consistency: ReadLevel = config.account.consistency,
): ClusterMap {
  const { cluster, account, regions } = config;
  const columns = regions[0]!.nodes.length;
  return {
    version: mapVersionOf(catalog.version, file),
    cluster,
    account: { name: account.name, consistency },
    regions: regions.map(({ name, nodes }) => ({
      name,
      nodes: nodes.map((node) => ({
        name: node.name,
        address: formatAddress(node.address),
        ...(node.http && { http: formatAddress(node.http) }),
      })),
    })),
    containers: catalog.containers.map((container) => ({
      name: sdkNameOf(catalog, container),
      rid: ridOf(databaseOf(catalog, container), container),
      partitionKey: container.partitionKey,
      partitionSets: placesIn(catalog, container, columns).map(({ name, rangeId, from, to, column }) => ({
        name,
        rangeId,
        from,
        to,
        column,
      })),
    })),
  };
}

/** What every partition-set promises: the weakest level of theirs. */
export function weakestOf(states: Iterable<FailoverState | undefined>): ReadLevel | undefined {
  let weakest: ReadLevel | undefined;
  for (const state of states) {
    const level = state?.configuration.consistency;
    if (level !== undefined && (weakest === undefined || isStronger(weakest, level))) weakest = level;
  }
  return weakest;
}
