/**
 * The first start of a cluster: all acceptors that were named are there, and none of them knows any configuration. They become
 * set 1. Two first starts may want the same acceptor at the same time: each reserves all of its own, then installs, and one that is
 * refused anywhere does not open (`core/claim.ts` says why no acceptor ever serves both).
 */
import { createHash } from 'node:crypto';
import type { Acceptor, AcceptorDescription } from './acceptors.ts';
import type { AcceptorMember, AcceptorSet, Configuration } from './core/index.ts';
import { quorumsOf } from './core/index.ts';
import { asCasPaxosError, CasPaxosError, type ErrorCode } from './errors.ts';
import type { Named } from './named.ts';

export async function startFirst(
  named: readonly Named[],
  quorums: AcceptorSet['quorums'],
): Promise<Configuration> {
  const configuration = firstConfiguration(named, quorums);
  // Whoever is refused by one of them leaves as little as possible behind on the others.
  for (const { acceptor } of named) await acceptor.reserve?.(configuration.cluster);
  for (const { acceptor } of named) await acceptor.install(configuration);
  return configuration;
}

function firstConfiguration(named: readonly Named[], quorums: AcceptorSet['quorums']): Configuration {
  const missing = named.filter(({ description }) => description === undefined);
  if (missing.length > 0) throw incomplete(missing, named.length);
  const acceptors = named.map(({ acceptor, description }) => memberOf(acceptor, description!));
  const ids = acceptors.map(({ id }) => id).sort();
  if (new Set(ids).size < ids.length) {
    throw new CasPaxosError('DUPLICATE_ACCEPTOR', 'Two of the URLs lead to the same acceptor.');
  }
  const inUse = named.find(({ description }) => description!.hasRegisters);
  if (inUse !== undefined) {
    throw new CasPaxosError(
      'ACCEPTOR_IN_USE',
      `Acceptor ${inUse.acceptor.url} holds registers of no known cluster.`,
    );
  }
  // The same for all that start with the same; whoever names other acceptors or other quorums starts another cluster.
  const parts = [...ids, ...(quorums === undefined ? [] : [`${quorums.phase1}+${quorums.phase2}`])];
  const cluster = createHash('sha256').update(parts.join()).digest('hex').slice(0, 16);
  const configuration: Configuration = { cluster, number: 1, acceptors, ...(quorums && { quorums }) };
  checkQuorums(configuration);
  return configuration;
}

/** As it is recorded when it becomes a member. */
export function memberOf({ url }: Acceptor, { id, life }: AcceptorDescription): AcceptorMember {
  return { id, url, ...(life && { life: { id: life.id, from: life.from } }) };
}

/** Of the caller, or of its configuration: to wait for the acceptors mends nothing. */
const NOT_LET_IN: ReadonlySet<ErrorCode> = new Set(['UNAUTHORIZED', 'CERTIFICATE_REFUSED']);

/** Nobody who answers knows the cluster. The cause comes first, and with its own code where it says more than that somebody is missing. */
function incomplete(missing: readonly Named[], inAll: number): CasPaxosError {
  const cause = missing.find(({ error }) => error !== undefined && NOT_LET_IN.has(error.code)) ?? missing[0]!;
  const why = cause.error?.message ?? `${cause.acceptor.url} does not answer.`;
  const code = cause.error !== undefined && NOT_LET_IN.has(cause.error.code) ? cause.error.code : undefined;
  const rest =
    missing.length === inAll
      ? `None of the ${inAll} acceptors can be used.`
      : `${missing.length} of ${inAll} acceptors cannot be used, and the others do not know this cluster yet: to begin it all must be there.`;
  return new CasPaxosError(code ?? 'FIRST_START_INCOMPLETE', `${why.replace(/\.$/, '')}. ${rest}`, {
    cause: cause.error,
  });
}

export function checkQuorums(configuration: Configuration): void {
  try {
    quorumsOf(configuration);
  } catch (error) {
    throw asCasPaxosError(error, 'QUORUMS_INVALID', 'These quorum sizes cannot be used');
  }
}
