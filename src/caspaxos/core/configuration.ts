/**
 * The set of acceptors (DESIGN: CASPaxos rule 9). A configuration is numbered; every request carries the number, and
 * an acceptor refuses requests of an older set than it knows. The set changes in two steps, each decided in a register
 * of its own under the set in force at that moment:
 *
 *   set n:    the old acceptors
 *   set n+1:  old and new together; a quorum is a quorum of both. Every register is rewritten under it.
 *   set n+2:  the new acceptors, or the old ones again: while both are in force every quorum contains a quorum of the old,
 *             so the old acceptors alone can decide to go back, however many of the new were lost
 *
 * Proposers of neighbouring numbers share a quorum, so they are safe side by side. Those of n and n+2 are not: that is
 * what the refusals and the rewriting keep apart.
 *
 * A number is also raised by what is *recorded of a member* (`revised`): the members and their quorums stay, so all numbers
 * that differ only in that are safe side by side, and no register has to be rewritten.
 */
import { assert } from '../../protocol/index.ts';
import { isLife, type Life } from './life.ts';
import {
  both,
  everyone,
  flexible,
  majority,
  MAX_ACCEPTORS,
  maskOf,
  type AcceptorMask,
  type QuorumSystem,
  within,
} from './quorum.ts';

export interface AcceptorMember {
  /** The random id of the acceptor's identity document (rule 8). */
  readonly id: string;
  readonly url: string;
  /** Its memory was found not to be whole: nobody uses it any more. It counts among the quorums until it is replaced. */
  readonly retired?: Retirement;
  /** The one in use: answers of another are not counted (`life.ts`). Absent: it tells none, or none was recorded yet. */
  readonly life?: Life;
}

export interface Retirement {
  /** Of the error with which it was found. */
  readonly code: string;
  readonly why: string;
}

export interface AcceptorSet {
  readonly acceptors: readonly AcceptorMember[];
  /** Flexible quorum sizes; a majority when absent. All proposers must agree on them, so they live here. */
  readonly quorums?: { readonly phase1: number; readonly phase2: number };
}

export interface Configuration extends AcceptorSet {
  readonly cluster: string;
  readonly number: number;
  /** While the set changes: the old one, in force together with the new. */
  readonly previous?: AcceptorSet;
  /** The registers were recovered into that cluster, and this one is over (`recovery/recover.ts`). */
  readonly recoveredInto?: string;
}

/** All acceptors that the configuration speaks of, each once; their order gives the indices. */
export function membersOf(configuration: Configuration): readonly AcceptorMember[] {
  const members = [...configuration.acceptors];
  for (const member of configuration.previous?.acceptors ?? []) {
    if (!members.some(({ id }) => id === member.id)) members.push(member);
  }
  return members;
}

export function quorumsOf(configuration: Configuration): QuorumSystem {
  const members = membersOf(configuration);
  const current = quorumsOfSet(configuration, members);
  return configuration.previous === undefined
    ? current
    : both(current, quorumsOfSet(configuration.previous, members));
}

export function quorumsOfSet(set: AcceptorSet, members: readonly AcceptorMember[]): QuorumSystem {
  const size = set.acceptors.length;
  const inner = set.quorums ? flexible(size, set.quorums.phase1, set.quorums.phase2) : majority(size);
  const indices = set.acceptors.map(({ id }) => members.findIndex((member) => member.id === id));
  return within(members.length, indices, inner);
}

/** Whether those acceptors, if they refuse, leave no quorum of either kind to the others. */
export function blocks(system: QuorumSystem, mask: AcceptorMask): boolean {
  const rest = everyone(system.size) & ~mask;
  return !system.isPhase1Quorum(rest) && !system.isPhase2Quorum(rest);
}

export function maskOfMembers(members: readonly AcceptorMember[], ids: ReadonlySet<string>): AcceptorMask {
  let mask = 0;
  members.forEach(({ id }, index) => {
    if (ids.has(id)) mask |= maskOf(index);
  });
  return mask;
}

/** Step one: old and new in force together. */
export function joint(current: Configuration, next: AcceptorSet): Configuration {
  assert(current.previous === undefined, 'one change of the set at a time');
  const { cluster, number, ...old } = current;
  return { cluster, number: number + 1, ...next, previous: old };
}

/** Step two: the new set alone. */
export function settled(current: Configuration): Configuration {
  assert(current.previous !== undefined, 'only a change under way can be settled');
  const { previous: _, ...rest } = current;
  return { ...rest, number: current.number + 1 };
}

/** Instead of step two: the old set alone again. */
export function withdrawn({ cluster, number, previous }: Configuration): Configuration {
  assert(previous !== undefined, 'only a change under way can be taken back');
  return { ...previous, cluster, number: number + 1 };
}

/** The next number, with something else recorded of the members; the very same configuration when nothing changes. */
export function revised(
  configuration: Configuration,
  edit: (member: AcceptorMember) => AcceptorMember,
): Configuration {
  const { previous } = configuration;
  const acceptors = configuration.acceptors.map(edit);
  const before = previous?.acceptors.map(edit);
  const isSame = (members: readonly AcceptorMember[] | undefined, of: AcceptorSet | undefined): boolean =>
    members === undefined || members.every((member, at) => member === of!.acceptors[at]);
  if (isSame(acceptors, configuration) && isSame(before, previous)) return configuration;
  return {
    ...configuration,
    number: configuration.number + 1,
    acceptors,
    ...(previous && { previous: { ...previous, acceptors: before! } }),
  };
}

/** The life that a configuration records of that acceptor. */
export function recordedLife(configuration: Configuration | undefined, id: string): Life | undefined {
  if (configuration === undefined) return undefined;
  return membersOf(configuration).find((member) => member.id === id)?.life;
}

/** Whether they are the same sets in force, whatever their numbers and whatever is recorded of their members. */
export function sameSets(a: Configuration, b: Configuration): boolean {
  return a.cluster === b.cluster && print(a) === print(b) && print(a.previous) === print(b.previous);
}

export function sameConfiguration(a: Configuration, b: Configuration): boolean {
  return a.number === b.number && sameSets(a, b) && printRecorded(a) === printRecorded(b);
}

function print(set: AcceptorSet | undefined): string {
  return JSON.stringify([
    set?.acceptors.map(({ id }) => id).sort(),
    set?.quorums?.phase1,
    set?.quorums?.phase2,
  ]);
}

function printRecorded(configuration: Configuration): string {
  const lines = membersOf(configuration).map(({ id, retired, life }) =>
    JSON.stringify([id, retired?.code, life?.id]),
  );
  return lines.sort().join();
}

/** Reads what another process sent. Throws a plain Error on anything that is not a configuration. */
export function parseConfiguration(json: string): Configuration {
  return checkConfiguration(JSON.parse(json));
}

/** The same of what is parsed already. */
export function checkConfiguration(value: unknown): Configuration {
  const candidate = (value ?? {}) as Partial<Configuration>;
  const sound =
    isShortText(candidate.cluster) &&
    Number.isSafeInteger(candidate.number) &&
    isAcceptorSet(candidate) &&
    (candidate.previous === undefined || isAcceptorSet(candidate.previous)) &&
    (candidate.recoveredInto === undefined || isShortText(candidate.recoveredInto));
  if (!sound) throw new Error('not a configuration');
  quorumsOf(candidate as Configuration);
  return candidate as Configuration;
}

/** Of an id or an address. It is written down and passed on. */
const MAX_TEXT_LENGTH = 2048;

function isShortText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT_LENGTH;
}

function isAcceptorSet(set: Partial<AcceptorSet>): boolean {
  if (!Array.isArray(set.acceptors) || set.acceptors.length === 0) return false;
  if (set.acceptors.length > MAX_ACCEPTORS) return false;
  return set.acceptors.every((member: unknown) => {
    const { id, url, retired, life } = (member ?? {}) as Partial<AcceptorMember>;
    if (life !== undefined && !isLife(life)) return false;
    return isShortText(id) && isShortText(url) && (retired === undefined || isRetirement(retired));
  });
}

function isRetirement(retired: Partial<Retirement> | null): boolean {
  return isShortText(retired?.code) && isShortText(retired.why);
}
