/**
 * To which cluster an acceptor belongs. It belongs to one for life, from the moment in which it takes its first configuration.
 *
 *   free ──reserve──▶ reserved ──install──▶ member
 *                     ▲      │
 *                     └──────┘ reserve, by another cluster: the first start that asked before has not installed yet
 *
 * A first start reserves all its acceptors, then installs its configuration on them; so does a change of the set with the new
 * acceptors. Only the cluster that has the reservation may install, and only to a member's own cluster are requests answered. So a
 * reservation may be taken over: nothing was answered under it yet, and whoever had it finds out when it installs, and does not
 * open. What it has installed elsewhere stays a cluster of its own, to which this acceptor is one that never answers.
 */
import type { Configuration } from './configuration.ts';

export interface Claimed {
  /** Reserved for it, or a member of it. Absent in what earlier versions wrote: then the configuration says it. */
  readonly cluster?: string;
  readonly configuration?: Configuration;
}

export function mayReserve(claimed: Claimed, hasRegisters: boolean, cluster: string): boolean {
  const { configuration } = claimed;
  if (configuration !== undefined) return configuration.cluster === cluster;
  return !hasRegisters || claimed.cluster === cluster;
}

/** As for the cluster; whether it is newer than what is known is another question. */
export function mayInstall({ configuration, cluster }: Claimed, offered: Configuration): boolean {
  const own = configuration?.cluster ?? cluster;
  return own === undefined || own === offered.cluster;
}

/** Whether requests of that cluster are answered. Earlier versions do not name theirs. */
export function serves({ configuration }: Claimed, cluster: string | undefined): boolean {
  return cluster === undefined || configuration?.cluster === cluster;
}
