/**
 * Changing the set of acceptors while everything runs (rule 9), as `core/configuration.ts` lays it out:
 *
 *   0. reserve the acceptors that come in;
 *   1. decide set n+1, "old and new together", in the configuration's own register;
 *   2. make it known to a quorum of the new acceptors, then to so many of the old ones that no quorum of them is left to proposers
 *      of set n (`announce.ts`);
 *   3. list the registers of exactly those acceptors, and rewrite every one under both sets;
 *   4. decide set n+2, the new acceptors alone, and make it known.
 *
 * Whoever runs it may die at any point. The next call, from anywhere, finds the unfinished change and finishes it first, or takes
 * it back, if it names the acceptors that were in force before.
 */
import type { Acceptor } from './acceptors.ts';
import { announce, checkAware, WAY_OUT } from './announce.ts';
import {
  type AcceptorMember,
  type AcceptorSet,
  type Configuration,
  joint,
  membersOf,
  quorumsOf,
  sameSets,
  settled,
  withdrawn,
} from './core/index.ts';
import { asCasPaxosError, CasPaxosError } from './errors.ts';
import { checkQuorums, memberOf } from './first-start.ts';
import type { Membership } from './membership.ts';
import { describe } from './named.ts';
import { type ConfigurationEdit, type EditConfiguration, newer } from './revisions.ts';
import { CONFIGURATION_KEY } from './values.ts';

export interface SetChange {
  readonly membership: Membership;
  readonly urls: readonly string[];
  readonly quorums: { readonly phase1: number; readonly phase2: number } | undefined;
  /** A member that must not be kept even if its address is named again: a new acceptor stands there. */
  readonly leaving?: AcceptorMember | undefined;
  readonly rewrite: (key: string) => Promise<void>;
  readonly editConfiguration: EditConfiguration;
  /** The same, decided by the old acceptors of a change under way alone, under the number with which this process works. */
  readonly editByOld: EditConfiguration;
}

const REWRITES_AT_ONCE = 256;
const LIST_PAGE = 1000;

export async function changeSet(change: SetChange): Promise<void> {
  const { membership, urls, quorums, editConfiguration } = change;
  membership.checkUrls(urls);
  await membership.refresh();
  const installed = membership.configuration;
  // While a change is under way that lost its new acceptors, nothing can be asked of both sets.
  const decided =
    installed.previous !== undefined && isBack(change, installed)
      ? installed
      : await finishing(
          editConfiguration((known) => newer(known, installed)),
          installed,
        );
  if (decided.previous !== undefined && isBack(change, decided)) return goBack(change, decided);
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
  const settledSet = await finish(change, agreed);
  if (!sameMembers(next, settledSet)) throw overtaken();
}

/** Whether the acceptors that are wanted are those from which the change under way began. */
function isBack({ membership, urls, quorums }: SetChange, { previous }: Configuration): boolean {
  const old = new Set(previous!.acceptors.map(({ url }) => url));
  const isSame = old.size === urls.length && urls.every((url) => old.has(membership.addressOf(url)));
  const { phase1, phase2 } = previous!.quorums ?? {};
  return isSame && (quorums === undefined || (quorums.phase1 === phase1 && quorums.phase2 === phase2));
}

/**
 * Takes a change back that is not finished. Until set n+2 is decided by both, every change of a register was accepted by a
 * quorum of the old acceptors, that of the configuration among them. So what they decide alone is in no conflict with
 * anything: no register has to be rewritten, and whoever would finish the change finds that it is not to be.
 *
 * As long as this process has not gone over to set n+1 it decides under set n: perhaps no acceptor was told of n+1, and then whoever died
 * after a single message of that number would leave the configuration's register out of everybody's reach.
 */
async function goBack(change: SetChange, both: Configuration): Promise<void> {
  const { membership, editByOld } = change;
  const back: ConfigurationEdit = (known) => {
    const found = newer(known, both);
    return sameSets(found, both) ? withdrawn(found) : found;
  };
  const decided = await editByOld(back).catch(async (error: unknown) => {
    // The old acceptors answer nobody of this set when they know a later one.
    await membership.refresh();
    throw membership.configuration.number > both.number ? overtaken() : error;
  });
  // If it was too late, whoever finished the change may not have lived to tell anybody.
  if (decided.previous === undefined) await bringIntoForce(change, decided, both);
  if (!sameSets(decided, withdrawn(both))) throw overtaken();
}

function overtaken(): CasPaxosError {
  return new CasPaxosError(
    'SET_CHANGE_FAILED',
    'Somebody else changed the set of acceptors at the same time. Look, and try again.',
  );
}

/** What needs quorums of old and new, and cannot have them, says how to go on. */
async function finishing<T>(work: Promise<T>, { previous }: Configuration): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (previous === undefined || !(error instanceof CasPaxosError) || error.code !== 'DEADLINE_EXCEEDED')
      throw error;
    const why = `A change of the set is under way and cannot be finished: ${error.message} ${WAY_OUT}`;
    throw new CasPaxosError('SET_CHANGE_FAILED', why, { cause: error });
  }
}

/** From a decided set n+1 to set n+2 in force. Each step may have been done before. */
async function finish(change: SetChange, both: Configuration): Promise<Configuration> {
  return both.previous === undefined ? bringIntoForce(change, both) : finishing(toTheEnd(change, both), both);
}

async function toTheEnd(change: SetChange, both: Configuration): Promise<Configuration> {
  const { membership, rewrite, editConfiguration } = change;
  const aware = await announce(membership, both);
  const keys = await listAll(membership, aware);
  await inParallel([...keys], REWRITES_AT_ONCE, rewrite);
  // A rewrite is done when quorums have it. Whoever changes the set expects the new acceptors to hold everything.
  await membership.caughtUp(CONFIGURATION_KEY);
  const decided = await editConfiguration((known) => {
    const found = newer(known, both);
    return sameSets(found, both) ? settled(found) : found;
  });
  // Another change is under way already. Its new acceptors are told first, by whoever goes on with it.
  if (decided.previous !== undefined) throw overtaken();
  return bringIntoForce(change, decided, both);
}

/**
 * Step 4, and catching up with a change that somebody else finished or took back, and perhaps did not live to tell anybody of: this
 * process, too, goes over to a set only when enough know it.
 */
async function bringIntoForce(
  { membership }: SetChange,
  decided: Configuration,
  before = membership.configuration,
): Promise<Configuration> {
  // Those who leave, or do not come after all, are told too, so that a process that knows only them finds out where everybody went.
  const members = new Map([...membersOf(before), ...membersOf(decided)].map((member) => [member.id, member]));
  const installed = await membership.install(decided, [...members.values()]);
  if (decided.number > membership.configuration.number) {
    const isWithdrawn = before.previous !== undefined && sameSets(decided, withdrawn(before));
    checkAware(quorumsOf(decided), installed, isWithdrawn ? 'old' : 'new');
  }
  membership.adopt(decided);
  return decided;
}

async function listAll(
  membership: Membership,
  members: readonly AcceptorMember[],
): Promise<ReadonlySet<string>> {
  const keys = new Set<string>();
  for (const member of members) {
    const acceptor = membership.acceptorOf(member);
    if (acceptor === undefined) throw overtaken();
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
    return memberOf(acceptor, description);
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
