/**
 * The way back when no quorum of the acceptors is left, and none will ever be again. It is asked for by name, because it gives up
 * what CASPaxos promises: a change that only lost acceptors had accepted is gone. What the survivors have is carried into new acceptors,
 * which become another cluster:
 *
 *   1. reserve the new acceptors, and install the new cluster's configuration 1, in which all members are retired: nobody can use them;
 *   2. install on every survivor a configuration of the old cluster in which all members are retired: whoever hears of it asks nobody
 *      any more, and those who work with an older number are refused;
 *   3. copy every register (`copying.ts`);
 *   4. install configuration 2, the same members without the retirement.
 *
 * Whoever runs it may die at any point. The same call goes on where it stopped: the new cluster's name follows from the old one's and from the new
 * acceptors, survivors answer the number of the fence, and a register that was copied is accepted again under the same ballot.
 * Configuration 2 is on no acceptor before all of them hold every register, so a quorum of it may be used even if step 4 was interrupted.
 *
 * It cannot stop acceptors that it does not reach. If those that were taken for lost come back, they serve the old cluster, and
 * nothing that is written there is in the new one.
 */
import type { Host } from '../../protocol/index.ts';
import type { Acceptor } from '../acceptors.ts';
import { MAX_ACCEPTORS, membersOf } from '../core/index.ts';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';
import { NODE_HOST } from '../node-host.ts';
import { openAcceptor, printableUrl } from '../open-acceptor.ts';
import type { ServiceTls } from '../service/client.ts';
import { Copying, type Copied } from './copying.ts';
import { type Participant, planRecovery, type RecoveryPlan, refused } from './plan.ts';

export interface RecoveryOptions {
  /** URLs of the survivors, of the old set, the new one, or both. */
  readonly from: readonly string[];
  /** URLs of new, empty acceptors. */
  readonly to: readonly string[];
  /** Says that it is understood: changes that only lost acceptors had accepted are gone. */
  readonly changesMayBeLost: true;
  /** A cluster into which the same survivors were recovered before, and which must never be used again: it is lost, too. */
  readonly abandon?: string | undefined;
  /** The acceptor services' bearer token, for those whose URL has none. */
  readonly token?: string | undefined;
  readonly tls?: (() => ServiceTls | undefined) | undefined;
  /** How long one acceptor may take to answer: 10,000. */
  readonly requestTimeoutMs?: number | undefined;
  readonly openAcceptor?: (url: string) => Acceptor | undefined;
  readonly onProgress?: (registers: number) => void;
  readonly host?: Host;
}

export interface RecoveryOutlook {
  /** The names of both clusters. */
  readonly oldCluster: string;
  readonly cluster: string;
  /** Without credentials. */
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** How many acceptors the newest set has that a survivor knows, and its number. */
  readonly members: number;
  readonly set: number;
  /** Of the survivor that has most of them; among them are those that hold no value. */
  readonly registers: number;
  readonly state: 'not begun' | 'begun' | 'copied';
}

export interface RecoveryOutcome extends Copied {
  readonly oldCluster: string;
  readonly cluster: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** An earlier attempt had copied everything: nothing was copied now. */
  readonly wasCopied: boolean;
}

const REQUEST_TIMEOUT_MS = 10_000;
const LIST_PAGE = 1000;

export async function recoverAcceptors(options: RecoveryOptions): Promise<RecoveryOutcome> {
  if (!options.changesMayBeLost)
    throw refused('A recovery loses what only lost acceptors had accepted: say changesMayBeLost.');
  return prepared(options, async (plan) => {
    const { survivors, targets, newest, unfinished, fence, finished } = plan;
    // Whoever is refused by one of them leaves as little as possible behind on the others.
    for (const { acceptor } of targets) await acceptor.reserve?.(unfinished.cluster);
    for (const { acceptor } of targets) await acceptor.install(unfinished);
    for (const { acceptor } of survivors) await acceptor.install(fence);
    for (const one of survivors) await checkFenced(one, plan);
    const copied = plan.isCopied ? { registers: 0, tombstones: 0 } : await copyAll(plan, options);
    for (const { acceptor } of targets) await acceptor.install(finished);
    const { oldCluster, cluster, from, to } = namesOf(plan, newest.cluster);
    return { oldCluster, cluster, from, to, ...copied, wasCopied: plan.isCopied };
  });
}

/** What a recovery would find. It changes nothing, and refuses what the recovery would refuse. */
export function inspectRecovery(
  options: Omit<RecoveryOptions, 'changesMayBeLost'>,
): Promise<RecoveryOutlook> {
  return prepared(options, async (plan) => {
    const { newest, survivors, isBegun, isCopied } = plan;
    const counts = await Promise.all(survivors.map(({ acceptor }) => countRegisters(acceptor)));
    return {
      ...namesOf(plan, newest.cluster),
      members: membersOf(newest).length,
      set: newest.number,
      registers: Math.max(...counts),
      state: isCopied ? 'copied' : isBegun ? 'begun' : 'not begun',
    };
  });
}

async function prepared<T>(
  options: Omit<RecoveryOptions, 'changesMayBeLost'>,
  work: (plan: RecoveryPlan) => Promise<T>,
): Promise<T> {
  checkUrls(options);
  const open = (url: string): Acceptor =>
    options.openAcceptor?.(url) ??
    openAcceptor(url, { token: options.token, tls: options.tls, timeoutMs: timeoutOf(options) });
  const [from, to] = [options.from.map(open), options.to.map(open)];
  try {
    return await work(await planRecovery(from, to, options.abandon));
  } catch (error) {
    throw asCasPaxosError(error, 'UNREACHABLE', 'The recovery failed');
  } finally {
    await Promise.all([...from, ...to].map((acceptor) => acceptor.close()));
  }
}

function checkUrls({ from, to, openAcceptor: own }: Omit<RecoveryOptions, 'changesMayBeLost'>): void {
  if (from.length === 0 || to.length === 0)
    throw new CasPaxosError('NO_ACCEPTORS', 'A recovery needs at least one survivor and one new acceptor.');
  if (Math.max(from.length, to.length) > MAX_ACCEPTORS)
    throw new CasPaxosError('TOO_MANY_ACCEPTORS', `A cluster has at most ${MAX_ACCEPTORS} acceptors.`);
  const places = [...from, ...to].map((url) => (own === undefined ? printableUrl(url) : url));
  const repeated = places.find((place, at) => places.indexOf(place) !== at);
  if (repeated !== undefined)
    throw new CasPaxosError('DUPLICATE_ACCEPTOR', `An acceptor is named twice: ${repeated}.`);
}

/** Another recovery may have been faster with that number, into other acceptors. */
async function checkFenced({ acceptor, id }: Participant, { fence }: RecoveryPlan): Promise<void> {
  const { configuration } = await acceptor.describe();
  if (configuration?.number !== fence.number || configuration.recoveredInto !== fence.recoveredInto)
    throw refused(
      `Acceptor ${acceptor.url} is being recovered into other acceptors (cluster ${configuration?.recoveredInto ?? 'unknown'}).`,
    );
  acceptor.expect(id, fence.cluster);
}

function copyAll(plan: RecoveryPlan, options: RecoveryOptions): Promise<Copied> {
  for (const { acceptor, id } of plan.targets) acceptor.expect(id, plan.unfinished.cluster);
  const { host = NODE_HOST, onProgress = () => {} } = options;
  return new Copying({ plan, host, timeoutMs: timeoutOf(options), onProgress }).run();
}

function namesOf(
  { survivors, targets, finished }: RecoveryPlan,
  oldCluster: string,
): Pick<RecoveryOutlook, 'oldCluster' | 'cluster' | 'from' | 'to'> {
  const urlsOf = (all: readonly Participant[]): readonly string[] => all.map(({ acceptor }) => acceptor.url);
  return { oldCluster, cluster: finished.cluster, from: urlsOf(survivors), to: urlsOf(targets) };
}

async function countRegisters(acceptor: Acceptor): Promise<number> {
  let count = 0;
  for (let after = ''; ;) {
    const page = await acceptor.list(after, LIST_PAGE);
    count += page.length;
    if (page.length < LIST_PAGE) return count;
    after = page.at(-1)!;
  }
}

function timeoutOf({
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
}: Pick<RecoveryOptions, 'requestTimeoutMs'>): number {
  return requestTimeoutMs;
}
