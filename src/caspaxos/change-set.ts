/**
 * Changing the set of acceptors while everything runs (rule 9), as `core/configuration.ts` lays it out:
 *
 *   1. decide set n+1, "old and new together", in the configuration's own register;
 *   2. make it known to so many of the old acceptors that no quorum of them is left to proposers of set n;
 *   3. list the registers of exactly those acceptors, and rewrite every one under both sets;
 *   4. decide set n+2, the new acceptors alone, and make it known.
 *
 * Whoever runs it may die at any point. The next call, from anywhere, finds the unfinished change and finishes it first.
 */
import type { Acceptor } from './acceptors.ts';
import {
  type AcceptorMask,
  type AcceptorMember,
  type AcceptorSet,
  blocks,
  type Configuration,
  joint,
  maskOf,
  membersOf,
  quorumsOf,
  quorumsOfSet,
  type QuorumSystem,
  sameSets,
  settled,
} from './core/index.ts';
import { asCasPaxosError, CasPaxosError } from './errors.ts';
import { checkQuorums } from './first-start.ts';
import { describe, type Membership } from './membership.ts';
import type { EditConfiguration } from './revisions.ts';
import { CONFIGURATION_KEY } from './values.ts';

export interface SetChange {
  readonly membership: Membership;
  readonly urls: readonly string[];
  readonly quorums: { readonly phase1: number; readonly phase2: number } | undefined;
  /** A member that must not be kept even if its address is named again: a new acceptor stands there. */
  readonly leaving?: AcceptorMember | undefined;
  readonly rewrite: (key: string) => Promise<void>;
  readonly editConfiguration: EditConfiguration;
}

const REWRITES_AT_ONCE = 256;
const LIST_PAGE = 1000;

export async function changeSet(change: SetChange): Promise<void> {
  const { membership, urls, quorums, editConfiguration } = change;
  membership.checkUrls(urls);
  await membership.refresh();
  const installed = membership.configuration;
  const decided = await editConfiguration((known) => newer(known, installed));
  const current =
    decided.previous === undefined ? await bringIntoForce(change, decided) : await finish(change, decided);

  const next: AcceptorSet = {
    acceptors: await resolve(change, current),
    ...(quorums && { quorums }),
  };
  if (sameMembers(next, current)) return;
  checkQuorums(joint(current, next));
  const agreed = await editConfiguration((known) => {
    const found = newer(known, current);
    return sameSets(found, current) ? joint(found, withRecorded(next, found)) : found;
  });
  await finish(change, agreed);
  if (sameMembers(next, agreed)) return;
  throw new CasPaxosError(
    'SET_CHANGE_FAILED',
    'Somebody else changed the set of acceptors at the same time. Look, and try again.',
  );
}

/** From a decided set n+1 to set n+2 in force. Each step may have been done before. */
async function finish(change: SetChange, both: Configuration): Promise<Configuration> {
  const { membership, rewrite, editConfiguration } = change;
  if (both.previous === undefined) return bringIntoForce(change, both);
  const aware = await announce(membership, both);
  const keys = await listAll(membership, aware);
  await inParallel([...keys], REWRITES_AT_ONCE, rewrite);
  // A rewrite is done when quorums have it. Whoever changes the set expects the new acceptors to hold everything.
  await membership.caughtUp(CONFIGURATION_KEY);
  const decided = await editConfiguration((known) => {
    const found = newer(known, both);
    return sameSets(found, both) ? settled(found) : found;
  });
  return bringIntoForce(change, decided, both);
}

/**
 * Step 2. Returns the old acceptors that know. This process goes over to the set only when they do: from then on its changes
 * raise registers to that number, and a register of a number that no acceptor can explain is out of everybody's reach.
 */
async function announce(membership: Membership, both: Configuration): Promise<readonly AcceptorMember[]> {
  const members = membersOf(both);
  const installed = await membership.install(both, both.previous!.acceptors);
  checkAware(quorumsOfSet(both.previous!, members), installed, 'old');
  membership.adopt(both);
  await membership.install(both, both.acceptors);
  const oldIds = new Set(both.previous!.acceptors.map(({ id }) => id));
  return members.filter(({ id }, index) => oldIds.has(id) && (installed & maskOf(index)) !== 0);
}

/** Step 4, and catching up with a change that somebody else finished. */
async function bringIntoForce(
  change: SetChange,
  settledSet: Configuration,
  before?: Configuration,
): Promise<Configuration> {
  const { membership } = change;
  if (before !== undefined) {
    // Those who leave are told too, so that a proposer that knows only them finds out where everybody went.
    const installed = await membership.install(settledSet, membersOf(before));
    // A still newer one has its own people who saw to that.
    if (sameSets(settledSet, settled(before))) checkAware(quorumsOf(settledSet), installed, 'new');
  }
  membership.adopt(settledSet);
  await membership.install(settledSet, membersOf(settledSet));
  return settledSet;
}

function checkAware(quorums: QuorumSystem, installed: AcceptorMask, which: 'old' | 'new'): void {
  if (quorums.isPhase1Quorum(installed) && blocks(quorums, installed)) return;
  throw new CasPaxosError(
    'SET_CHANGE_FAILED',
    `Too few of the ${which} acceptors can be reached to change the set safely.`,
  );
}

async function listAll(
  membership: Membership,
  members: readonly AcceptorMember[],
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for (const member of members) {
    const acceptor = membership.acceptorOf(member)!;
    for (let after = ''; ;) {
      const page = await listPage(acceptor, after);
      for (const key of page) keys.add(key);
      if (page.length < LIST_PAGE) break;
      after = page.at(-1)!;
    }
  }
  return keys;
}

async function listPage(acceptor: Acceptor, after: string): Promise<readonly string[]> {
  try {
    return await acceptor.list(after, LIST_PAGE);
  } catch (error) {
    throw asCasPaxosError(error, 'UNREACHABLE', `Acceptor ${acceptor.url}`);
  }
}

/**
 * The wanted members: those that are in already, and new ones, which must be empty and nobody else's. At the address of one that
 * is not used any more there may stand its successor.
 */
async function resolve(
  { membership, urls, leaving }: SetChange,
  current: Configuration,
): Promise<readonly AcceptorMember[]> {
  const members: AcceptorMember[] = [];
  for (const url of urls) {
    const address = membership.addressOf(url);
    const present = current.acceptors.find((member) => member.url === address && member.id !== leaving?.id);
    const successor =
      present?.retired && (await successorOf(present, membership.openAcceptor(url), current.cluster));
    members.push(successor ?? present ?? (await inspect(membership.openAcceptor(url), current.cluster)));
  }
  if (new Set(members.map(({ id }) => id)).size < members.length) {
    throw new CasPaxosError('DUPLICATE_ACCEPTOR', 'Two of the URLs lead to the same acceptor.');
  }
  return members;
}

async function successorOf(
  member: AcceptorMember,
  acceptor: Acceptor,
  cluster: string,
): Promise<AcceptorMember | undefined> {
  const { description } = await describe(acceptor);
  if (description !== undefined && description.id !== member.id) return inspect(acceptor, cluster);
  await acceptor.close();
  return undefined;
}

/** It must be nobody's, and is reserved for this cluster. */
async function inspect(acceptor: Acceptor, cluster: string): Promise<AcceptorMember> {
  try {
    const { description, error } = await describe(acceptor);
    if (description === undefined) throw error!;
    if (description.configuration !== undefined || description.hasRegisters) throw inUse(acceptor);
    await acceptor.reserve?.(cluster);
    return { id: description.id, url: acceptor.url };
  } catch (error) {
    throw asCasPaxosError(error, 'UNREACHABLE', `Acceptor ${acceptor.url}`);
  } finally {
    await acceptor.close();
  }
}

function inUse({ url }: Acceptor): CasPaxosError {
  return new CasPaxosError('ACCEPTOR_IN_USE', `Acceptor ${url} is not empty: a new member must be.`);
}

/** Of those who stay, what was recorded of them meanwhile. */
function withRecorded(next: AcceptorSet, { acceptors }: Configuration): AcceptorSet {
  const known = (member: AcceptorMember): AcceptorMember =>
    acceptors.find(({ id }) => id === member.id) ?? member;
  return { ...next, acceptors: next.acceptors.map(known) };
}

function newer(a: Configuration | undefined, b: Configuration): Configuration {
  return a !== undefined && a.number > b.number ? a : b;
}

function sameMembers(a: AcceptorSet, b: AcceptorSet): boolean {
  const ids = new Set(b.acceptors.map(({ id }) => id));
  const same = a.acceptors.length === ids.size && a.acceptors.every(({ id }) => ids.has(id));
  return same && a.quorums?.phase1 === b.quorums?.phase1 && a.quorums?.phase2 === b.quorums?.phase2;
}

async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = [...items];
  const worker = async (): Promise<void> => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}
