/**
 * Making a decided set n+1, "old and new together", known (`change-set.ts`). The new acceptors are told first, and the old ones only
 * when a quorum of the new set has it for good: until then everybody goes on with the old set, whatever becomes of the new ones.
 */
import {
  type AcceptorMask,
  type AcceptorMember,
  blocks,
  type Configuration,
  maskOf,
  maskOfMembers,
  membersOf,
  quorumsOfSet,
  type QuorumSystem,
} from './core/index.ts';
import { CasPaxosError } from './errors.ts';

export interface Announcing {
  /** Returns which of all members of that configuration know it now. */
  install(configuration: Configuration, members: readonly AcceptorMember[]): Promise<AcceptorMask>;
  adopt(configuration: Configuration): void;
}

/**
 * Returns the old acceptors that know. This process goes over to the set only when they do: from then on its changes
 * raise registers to that number, and a register of a number that no acceptor can explain is out of everybody's reach.
 */
export async function announce(
  membership: Announcing,
  both: Configuration,
): Promise<readonly AcceptorMember[]> {
  const members = membersOf(both);
  const old = both.previous!.acceptors;
  const oldIds = new Set(old.map(({ id }) => id));
  const staying = both.acceptors.filter(({ id }) => oldIds.has(id));
  const told = await membership.install(
    both,
    both.acceptors.filter(({ id }) => !oldIds.has(id)),
  );
  const willKnow = maskOfMembers(members, new Set(staying.map(({ id }) => id)));
  checkAware(quorumsOfSet(both, members), told | willKnow, 'new');
  const installed = await membership.install(both, old);
  checkAware(quorumsOfSet(both.previous!, members), installed, 'old');
  membership.adopt(both);
  return members.filter(({ id }, index) => oldIds.has(id) && (installed & maskOf(index)) !== 0);
}

export function checkAware(quorums: QuorumSystem, installed: AcceptorMask, which: 'old' | 'new'): void {
  if (quorums.isPhase1Quorum(installed) && blocks(quorums, installed)) return;
  throw new CasPaxosError(
    'SET_CHANGE_FAILED',
    `Too few of the ${which} acceptors can be reached to change the set safely. ${WAY_OUT}`,
  );
}

export const WAY_OUT =
  'Call changeAcceptors again when they are there, or with the acceptors that were in force before, which takes the change back.';
