/** Sending a wish to many partition-sets, and waiting until it has come true. */
import type { IntentBody } from '../../failover/index.ts';
import { progressBar } from '../progress.ts';
import { inParallel, type Posted } from './cluster.ts';
import type { Context } from './command.ts';
import { EXIT, type ExitCode, OperateError } from './errors.ts';
import type { ClusterView, PartitionSet } from './merge.ts';
import { plural, pretty, type Report, type Row, table } from './output.ts';

export interface Sent {
  readonly set: PartitionSet;
  readonly id: string;
  readonly posted: Posted;
}

export interface SendOptions {
  readonly dryRun: boolean;
  /** The wish is void once this GCN has passed: sent twice, it still counts once. */
  readonly bound?: boolean;
  readonly id?: string;
}

export async function send(
  { cluster, stage }: Context,
  view: ClusterView,
  sets: readonly PartitionSet[],
  intent: (set: PartitionSet) => IntentBody,
  { dryRun, bound = false, id: given }: SendOptions,
): Promise<readonly Sent[]> {
  const run = given ?? stage.newId();
  return inParallel(sets, async (set) => {
    const body = intent(set);
    const id = `${body.kind.replaceAll(' ', '-')}-${run}`;
    const gcn = bound && set.state !== undefined ? { gcn: set.state.gcn } : {};
    const wish = { intent: body, id, who: stage.who, ...gcn, ...(dryRun && { dryRun }) };
    return { set, id, posted: await cluster.post(set, wish, view) };
  });
}

export function isAccepted({ posted }: Sent): boolean {
  return posted.kind === 'accepted';
}

/** Accepted, or perhaps accepted: worth waiting for. */
export function mayBeInForce({ posted }: Sent): boolean {
  return posted.kind === 'accepted' || posted.kind === 'unknown';
}

/** What became of a wish, in a few words. */
export function outcomeOf({ posted }: Sent, dryRun = false): string {
  switch (posted.kind) {
    case 'accepted':
      return dryRun ? 'would be accepted' : 'accepted';
    case 'refused':
      return dryRun ? 'would be refused' : 'refused';
    case 'unknown':
      return 'unknown';
    case 'unheard':
      return 'not delivered';
    default:
      return posted satisfies never;
  }
}

export function reasonOf({ posted }: Sent): string {
  switch (posted.kind) {
    case 'accepted':
      return '';
    case 'refused':
      return `${posted.message} [${posted.code}]`;
    case 'unknown':
      return `it may be in force: ${posted.reason}`;
    case 'unheard':
      return posted.reason;
    default:
      return posted satisfies never;
  }
}

export function exitFor(sent: readonly Sent[]): ExitCode {
  if (sent.every(isAccepted)) return EXIT.ok;
  return sent.every(({ posted }) => posted.kind === 'unheard') ? EXIT.unreachable : EXIT.problem;
}

/** Of wishes that are in force as soon as they are accepted. */
export function sentReport(what: string, sent: readonly Sent[], dryRun: boolean): Report {
  const failed = sent.filter((one) => !isAccepted(one));
  const rowOf = (one: Sent): Row => ({
    cells: [one.set.name, outcomeOf(one, dryRun), reasonOf(one)],
    tone: isAccepted(one) ? 'plain' : 'bad',
  });
  const heads = ['PARTITION-SET', 'OUTCOME', 'WHY'];
  return {
    value: {
      wish: what,
      dryRun,
      partitionSets: sent.map((one) => ({
        name: one.set.name,
        id: one.id,
        outcome: outcomeOf(one, dryRun),
        ...(!isAccepted(one) && { reason: reasonOf(one) }),
      })),
    },
    table: table(heads, sent.map(rowOf)),
    pretty: (paint) => {
      const done = plural(sent.length - failed.length, 'partition-set');
      const line = dryRun
        ? `${what}: would be accepted by ${done}. Nothing was done.\n`
        : `${what}: done in ${done}.\n`;
      return failed.length === 0 ? line : `${line}\n${pretty(table(heads, failed.map(rowOf)), paint)}`;
    },
  };
}

export type Fate = 'pending' | 'done' | { readonly failed: string };

export interface Waited {
  readonly set: PartitionSet;
  readonly fate: Fate;
}

const POLL_MS = 200;
const POLL_MANY_MS = 1000;
const MANY = 100;

/** Looks until every one has its fate, or the time is over: then the rest is pending. */
export async function waitUntil(
  { cluster, stage }: Context,
  names: readonly string[],
  timeoutMs: number,
  fateOf: (set: PartitionSet) => Fate,
): Promise<ReadonlyMap<string, Waited>> {
  const waited = new Map<string, Waited>();
  const bar = progressBar('partition-sets', { isTTY: stage.isTerminal, write: (text) => stage.err(text) });
  const until = stage.now() + timeoutMs;
  const isOpen = (name: string): boolean => (waited.get(name)?.fate ?? 'pending') === 'pending';
  try {
    for (;;) {
      const view = await lookPatiently(cluster);
      for (const set of view?.partitionSets ?? []) {
        if (names.includes(set.name) && isOpen(set.name)) waited.set(set.name, { set, fate: fateOf(set) });
      }
      const left = names.filter(isOpen).length;
      bar.update(names.length - left, names.length);
      if (left === 0 || stage.now() >= until) return waited;
      if (!(await stage.sleep(names.length > MANY ? POLL_MANY_MS : POLL_MS))) return waited;
    }
  } finally {
    bar.clear();
  }
}

async function lookPatiently(cluster: Context['cluster']): Promise<ClusterView | undefined> {
  try {
    return await cluster.look();
  } catch (error) {
    if (error instanceof OperateError && error.code === 'CLUSTER_UNREACHABLE') return undefined;
    throw error;
  }
}
