/**
 * Quorums (DESIGN: CASPaxos rule 6). A set of acceptors is a bit mask over their indices, a quorum system two
 * monotone predicates on such masks. All that safety asks for is that every phase-1 quorum meets every phase-2
 * quorum; which quorums those are is injected: majorities by default, flexible sizes, or both of an old and a new
 * set while the set of acceptors changes.
 */
import { assert, type Ballot, isZeroBallot } from '../../protocol/index.ts';

export type AcceptorMask = number;

export interface QuorumSystem {
  /** How many acceptors there are; their indices are 0 .. size-1. */
  readonly size: number;
  isPhase1Quorum(mask: AcceptorMask): boolean;
  isPhase2Quorum(mask: AcceptorMask): boolean;
  /** For people: `3 of 5`. */
  readonly description: string;
}

/** A bit mask is a 32-bit integer; one bit is the sign. */
export const MAX_ACCEPTORS = 30;

export function maskOf(index: number): AcceptorMask {
  return 1 << index;
}

export function countOf(mask: AcceptorMask): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

export function everyone(size: number): AcceptorMask {
  return 2 ** size - 1;
}

export function majority(size: number): QuorumSystem {
  const needed = Math.floor(size / 2) + 1;
  return flexible(size, needed, needed);
}

/** Any `phase1` acceptors for phase 1, any `phase2` for phase 2. */
export function flexible(size: number, phase1: number, phase2: number): QuorumSystem {
  assert(Number.isInteger(size) && size >= 1 && size <= MAX_ACCEPTORS, `1 to ${MAX_ACCEPTORS} acceptors`);
  assert(Number.isInteger(phase1) && Number.isInteger(phase2), 'quorum sizes are whole numbers');
  assert(phase1 >= 1 && phase1 <= size && phase2 >= 1 && phase2 <= size, 'a quorum is some of the acceptors');
  assert(phase1 + phase2 > size, 'every phase-1 quorum must meet every phase-2 quorum');
  return {
    size,
    isPhase1Quorum: (mask) => countOf(mask) >= phase1,
    isPhase2Quorum: (mask) => countOf(mask) >= phase2,
    description: phase1 === phase2 ? `${phase1} of ${size}` : `${phase1} then ${phase2} of ${size}`,
  };
}

/** A quorum system over some of the acceptors of a larger set: `members[i]` is the index there of acceptor i here. */
export function within(size: number, members: readonly number[], inner: QuorumSystem): QuorumSystem {
  assert(inner.size === members.length, 'one index for each member');
  const project = (mask: AcceptorMask): AcceptorMask => {
    let projected = 0;
    for (let i = 0; i < members.length; i += 1) {
      if ((mask & maskOf(members[i] as number)) !== 0) projected |= maskOf(i);
    }
    return projected;
  };
  return {
    size,
    isPhase1Quorum: (mask) => inner.isPhase1Quorum(project(mask)),
    isPhase2Quorum: (mask) => inner.isPhase2Quorum(project(mask)),
    description: inner.description,
  };
}

/** Both systems in force at once: what a change of the set of acceptors runs under (rule 9). */
export function both(one: QuorumSystem, other: QuorumSystem): QuorumSystem {
  assert(one.size === other.size, 'both systems speak of the same acceptors');
  return {
    size: one.size,
    isPhase1Quorum: (mask) => one.isPhase1Quorum(mask) && other.isPhase1Quorum(mask),
    isPhase2Quorum: (mask) => one.isPhase2Quorum(mask) && other.isPhase2Quorum(mask),
    description: `${one.description} and ${other.description}`,
  };
}

/** Whether a custom system is safe: tried on every pair of masks, so for small systems only. */
export function quorumsIntersect(system: QuorumSystem): boolean {
  assert(system.size <= 12, 'exhaustive only up to 12 acceptors');
  const all = everyone(system.size);
  for (let first = 0; first <= all; first += 1) {
    // If even the complement of a phase-1 quorum is a phase-2 quorum, the two can miss each other.
    if (system.isPhase1Quorum(first) && system.isPhase2Quorum(all & ~first)) return false;
  }
  return true;
}

/**
 * Whether those acceptors, all holding one accepted ballot, prove that its value is the register's (rule 5): a phase-1
 * quorum says that nothing newer is chosen, a phase-2 quorum that this is. With flexible quorums one is not the other. That
 * nothing was ever chosen (the zero ballot) needs only the first.
 */
export function isProof(system: QuorumSystem, ballot: Ballot, mask: AcceptorMask): boolean {
  return system.isPhase1Quorum(mask) && (isZeroBallot(ballot) || system.isPhase2Quorum(mask));
}
