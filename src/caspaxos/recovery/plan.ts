/**
 * Who takes part in a recovery, and the configurations that lead through it (`recover.ts`). Nothing is changed here: whoever may not
 * take part is refused before anything is written.
 */
import { createHash } from 'node:crypto';
import type { Acceptor } from '../acceptors.ts';
import {
  type AcceptorMember,
  type Configuration,
  maskOfMembers,
  membersOf,
  quorumsOf,
  quorumsOfSet,
  type QuorumSystem,
  type Retirement,
} from '../core/index.ts';
import { CasPaxosError } from '../errors.ts';
import { describe } from '../named.ts';

export interface Participant {
  readonly acceptor: Acceptor;
  readonly id: string;
  readonly configuration: Configuration | undefined;
  readonly hasRegisters: boolean;
}

export interface RecoveryPlan {
  readonly survivors: readonly Participant[];
  readonly targets: readonly Participant[];
  /** The newest configuration that a survivor knows. */
  readonly newest: Configuration;
  /** For the survivors: the old cluster, over. */
  readonly fence: Configuration;
  /** For the targets: the new cluster while it is being filled, and afterwards. */
  readonly unfinished: Configuration;
  readonly finished: Configuration;
  /** An earlier attempt has begun to fill the targets. */
  readonly isBegun: boolean;
  /** Everything was copied by an earlier attempt. */
  readonly isCopied: boolean;
}

/** No proposer of the old cluster works with a number so far above the newest that a survivor knows. */
const FENCE_STEP = 1000;
const MAX_WHY_LENGTH = 1000;

export async function planRecovery(
  from: readonly Acceptor[],
  to: readonly Acceptor[],
  abandon: string | undefined,
): Promise<RecoveryPlan> {
  const survivors = await Promise.all(from.map(survivor));
  const targets = await Promise.all(to.map((acceptor) => participant(acceptor)));
  const ids = [...survivors, ...targets].map(({ id }) => id);
  if (new Set(ids).size < ids.length)
    throw new CasPaxosError('DUPLICATE_ACCEPTOR', 'Two of the URLs lead to the same acceptor.');
  const newest = newestOf(survivors);
  const cluster = clusterOf(newest, targets);
  for (const target of targets) checkTarget(target, cluster);
  checkSurvivors(survivors, newest, cluster, abandon);
  const finished = firstConfiguration(cluster, targets);
  return {
    survivors,
    targets,
    newest,
    fence: newest.recoveredInto === cluster ? newest : fenceFor(newest, finished),
    unfinished: { ...finished, number: 1, acceptors: retiredAll(finished.acceptors, UNFINISHED) },
    finished,
    isBegun: targets.some(({ hasRegisters }) => hasRegisters),
    isCopied: targets.some(({ configuration }) => (configuration?.number ?? 0) >= finished.number),
  };
}

export function refused(message: string): CasPaxosError {
  return new CasPaxosError('RECOVERY_REFUSED', message);
}

const UNFINISHED: Retirement = {
  code: 'RECOVERY_UNFINISHED',
  why: 'A recovery into these acceptors is under way, or was interrupted: run it again with the same acceptors to finish it.',
};

async function participant(acceptor: Acceptor): Promise<Participant> {
  const { description, error } = await describe(acceptor);
  if (description === undefined) throw error!;
  return { acceptor, ...description };
}

async function survivor(acceptor: Acceptor): Promise<Participant> {
  try {
    return await participant(acceptor);
  } catch (error) {
    const { code, message } = error as CasPaxosError;
    const wayOut = 'A survivor must answer, and be sound: mend it, or leave it out of the recovery.';
    throw new CasPaxosError(code, `${message.replace(/\.$/, '')}. ${wayOut}`, { cause: error });
  }
}

function newestOf(survivors: readonly Participant[]): Configuration {
  let newest: Configuration | undefined;
  for (const { acceptor, configuration } of survivors) {
    if (configuration === undefined)
      throw refused(`Acceptor ${acceptor.url} belongs to no set: there is nothing to recover from it.`);
    if (newest !== undefined && newest.cluster !== configuration.cluster) {
      const message = `The survivors belong to different clusters (${newest.cluster}, ${configuration.cluster}).`;
      throw new CasPaxosError('CONFIGURATION_CONFLICT', message);
    }
    if (newest === undefined || configuration.number > newest.number) newest = configuration;
  }
  return newest!;
}

/** The same for each attempt with the same acceptors, and never that of an ordinary first start. */
function clusterOf({ cluster }: Configuration, targets: readonly Participant[]): string {
  const parts = ['recovered', cluster, ...targets.map(({ id }) => id).sort()];
  return createHash('sha256').update(parts.join()).digest('hex').slice(0, 16);
}

function checkTarget({ acceptor, configuration, hasRegisters }: Participant, cluster: string): void {
  if (configuration === undefined ? !hasRegisters : configuration.cluster === cluster) return;
  const message = `Acceptor ${acceptor.url} is not empty: registers are recovered into new, empty acceptors only.`;
  throw new CasPaxosError('ACCEPTOR_IN_USE', message);
}

function checkSurvivors(
  survivors: readonly Participant[],
  newest: Configuration,
  cluster: string,
  abandon: string | undefined,
): void {
  const { recoveredInto, previous } = newest;
  if (recoveredInto === cluster) return;
  if (recoveredInto !== undefined && recoveredInto !== abandon)
    throw refused(
      `These survivors were recovered into other acceptors before (cluster ${recoveredInto}). ` +
        'Use those, or finish that recovery; only if they are lost for good, abandon that cluster by its name.',
    );
  if (recoveredInto !== undefined) return;
  const members = membersOf(newest);
  const sound = new Set(survivors.map(({ id }) => id));
  for (const { id, retired } of members) if (retired !== undefined) sound.delete(id);
  const isEnough = (quorums: QuorumSystem): boolean => {
    const mask = maskOfMembers(members, sound);
    return quorums.isPhase1Quorum(mask) && quorums.isPhase2Quorum(mask);
  };
  if (isEnough(quorumsOf(newest)))
    throw refused(
      'These acceptors are a quorum, so nothing is lost: use changeAcceptors or replaceAcceptor.',
    );
  if (previous !== undefined && isEnough(quorumsOfSet(previous, members)))
    throw refused(
      'A quorum of the old acceptors is there, so nothing is lost: take the change of the set back with changeAcceptors.',
    );
}

function firstConfiguration(cluster: string, targets: readonly Participant[]): Configuration {
  const acceptors = targets.map(({ id, acceptor }) => ({ id, url: acceptor.url }));
  return { cluster, number: 2, acceptors };
}

/** All its members are retired, so whoever goes over to it asks nobody for anything any more. */
function fenceFor(newest: Configuration, { cluster, acceptors }: Configuration): Configuration {
  const urls = acceptors.map(({ url }) => url).join(', ');
  const why = `The registers were recovered into other acceptors (cluster ${cluster}): ${urls}. Name those in the configuration, and restart.`;
  const retired = { code: 'ACCEPTOR_RECOVERED', why: why.slice(0, MAX_WHY_LENGTH) };
  const { previous } = newest;
  return {
    ...newest,
    number: newest.number + FENCE_STEP,
    acceptors: retiredAll(newest.acceptors, retired),
    ...(previous && { previous: { ...previous, acceptors: retiredAll(previous.acceptors, retired) } }),
    recoveredInto: cluster,
  };
}

function retiredAll(members: readonly AcceptorMember[], retired: Retirement): readonly AcceptorMember[] {
  return members.map(({ id, url }) => ({ id, url, retired }));
}
