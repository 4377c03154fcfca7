/** The cluster's map, from its file. */
import { statSync } from 'node:fs';
import type { ClusterMap } from '../../client/index.ts';
import { isStronger, type ReadLevel } from '../../engine/index.ts';
import type { FailoverState } from '../../failover/index.ts';
import { type ClusterConfig, formatAddress, partitionSetsOf } from '../config/index.ts';

/** A file has no number of its own: the time of its last change, in seconds, is the map's version, as it is DNS's serial. */
export function mapVersion(path: string): number {
  try {
    return Math.max(0, Math.floor(statSync(path).mtimeMs / 1000));
  } catch {
    return 0;
  }
}

/** `consistency`: as the registers have it, when that is known; the file says what they began with. */
export function clusterMapOf(
  config: ClusterConfig,
  version: number,
  consistency: ReadLevel = config.account.consistency,
): ClusterMap {
  const places = partitionSetsOf(config);
  const { cluster, account, regions, containers } = config;
  return {
    version,
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
    containers: containers.map(({ name, partitionKey }) => ({
      name,
      partitionKey,
      partitionSets: places
        .filter(({ container }) => container === name)
        .map((place) => ({ name: place.name, from: place.from, to: place.to, column: place.column })),
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
