/** What an acceptor says to those who may not use it, or not yet (`core/claim.ts`). */
import {
  type Claimed,
  type Configuration,
  mayInstall,
  mayReserve,
  sameConfiguration,
  serves,
} from './core/index.ts';
import { CasPaxosError } from './errors.ts';

/** Whether there is anything to write: false, it is reserved, or a member, already. Throws if it may not be reserved. */
export function checkReserve(url: string, claimed: Claimed, hasRegisters: boolean, cluster: string): boolean {
  if (!mayReserve(claimed, hasRegisters, cluster)) {
    if (claimed.configuration !== undefined) throw otherCluster(url, claimed);
    throw new CasPaxosError('ACCEPTOR_IN_USE', `Acceptor ${url} holds registers of no known cluster.`);
  }
  return claimed.cluster !== cluster;
}

/** Whether a configuration is news to an acceptor; throws if the two can never belong together. */
export function checkInstall(url: string, claimed: Claimed, offered: Configuration): boolean {
  const known = claimed.configuration;
  const isOther = known?.number === offered.number && !sameConfiguration(known, offered);
  if (!mayInstall(claimed, offered) || isOther) throw otherCluster(url, claimed);
  return known === undefined || offered.number > known.number;
}

/** Throws if requests of that cluster are not answered. */
export function checkServes(url: string, claimed: Claimed, cluster: string | undefined): void {
  if (serves(claimed, cluster)) return;
  if (claimed.configuration !== undefined) throw otherCluster(url, claimed);
  const message = `Acceptor ${url} does not know to which set of acceptors it belongs.`;
  throw new CasPaxosError('ACCEPTOR_UNCLAIMED', message);
}

function otherCluster(url: string, { cluster, configuration }: Claimed): CasPaxosError {
  const whose =
    configuration === undefined
      ? `is reserved for another cluster (${cluster})`
      : `belongs to another set of acceptors (cluster ${configuration.cluster}, set ${configuration.number})`;
  return new CasPaxosError('CONFIGURATION_CONFLICT', `Acceptor ${url} ${whose}.`);
}
