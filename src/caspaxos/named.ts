/** What acceptors say that a process was told of: who they are, to which cluster they belong, and which configuration is to be believed. */
import type { Acceptor, AcceptorDescription } from './acceptors.ts';
import {
  type AcceptorMember,
  type Configuration,
  maskOfMembers,
  membersOf,
  quorumsOf,
} from './core/index.ts';
import { asCasPaxosError, CasPaxosError } from './errors.ts';

export interface Named {
  readonly acceptor: Acceptor;
  readonly description?: AcceptorDescription;
  readonly error?: CasPaxosError;
}

export async function describe(acceptor: Acceptor): Promise<Named> {
  try {
    return { acceptor, description: await acceptor.describe() };
  } catch (error) {
    return { acceptor, error: asCasPaxosError(error, 'UNREACHABLE', `Acceptor ${acceptor.url}`) };
  }
}

export function newest(named: readonly Named[], cluster: string | undefined): Configuration | undefined {
  let found: Configuration | undefined;
  for (const { description } of named) {
    const known = description?.configuration;
    if (known === undefined || known.cluster !== cluster) continue;
    if (found === undefined || known.number > found.number) found = known;
  }
  return found;
}

/** The newest, unless those who know none newer than another one are more, and a quorum of that: then it is in force. */
export function trusted(named: readonly Named[], cluster: string | undefined): Configuration | undefined {
  const known = named
    .flatMap(({ description }) => description?.configuration ?? [])
    .filter((configuration) => configuration.cluster === cluster)
    .sort((a, b) => b.number - a.number);
  return known.find(({ number }) => {
    const newer = known.filter((other) => other.number >= number).length;
    return !known.some(
      (other) => other.number < number && known.length - newer > newer && hasQuorumOf(other, named),
    );
  });
}

/** Whether those of its members that know no newer one are a quorum. */
export function hasQuorumOf(configuration: Configuration, named: readonly Named[]): boolean {
  const unaware = named.filter(
    ({ description }) =>
      description?.configuration !== undefined && description.configuration.number <= configuration.number,
  );
  const ids = new Set(unaware.map(({ description }) => description!.id));
  const mask = maskOfMembers(membersOf(configuration), ids);
  const quorums = quorumsOf(configuration);
  return quorums.isPhase1Quorum(mask) || quorums.isPhase2Quorum(mask);
}

/**
 * The cluster that most of the named acceptors belong to: one of them may have been given away. Of clusters with equally many, the one
 * that has more of the named ones as its members: a first start that was refused by one of them may have got no further than another.
 */
export function commonCluster(named: readonly Named[]): string | undefined {
  const ids = new Set(named.map(({ description }) => description?.id));
  const belongs = named.flatMap(({ description }) => description?.configuration?.cluster ?? []);
  const candidates = [...new Set(belongs)].map((cluster) => ({
    cluster,
    acceptors: belongs.filter((other) => other === cluster).length,
    members: membersOf(newest(named, cluster)!).filter(({ id }) => ids.has(id)).length,
  }));
  candidates.sort((a, b) => b.acceptors - a.acceptors || b.members - a.members);
  const [first, second] = candidates;
  if (second === undefined || first!.acceptors > second.acceptors || first!.members > second.members)
    return first?.cluster;
  throw new CasPaxosError('CONFIGURATION_CONFLICT', 'The acceptors belong to different clusters.');
}

/** By identity if it told us, else by address: then it must still prove who it is. */
export function findCandidate(candidates: readonly Named[], member: AcceptorMember): Acceptor | undefined {
  const byId = candidates.find(({ description }) => description?.id === member.id);
  const byUrl = candidates.find(({ acceptor }) => acceptor.url === member.url);
  return (byId ?? byUrl)?.acceptor;
}
