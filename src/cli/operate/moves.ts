/** What `switchover` and `failover` share: which partition-sets are meant, the plan that people see, how it ended. */
import { chosen, type Context, type ScopeFlags } from './command.ts';
import { EXIT, type ExitCode, usage } from './errors.ts';
import { MANY } from './list.ts';
import type { ClusterView, PartitionSet } from './merge.ts';
import { millis, plural, pretty, type Report, right, type Row, table } from './output.ts';
import { readHistory } from './records.ts';
import { isAccepted, outcomeOf, reasonOf, type Sent, type Waited } from './wishes.ts';

export interface MoveFlags extends ScopeFlags {
  readonly all: boolean;
  readonly from?: string;
}

export function meant(view: ClusterView, flags: MoveFlags): readonly PartitionSet[] {
  const { all, from, partitionSet, container } = flags;
  const isSaid = all || from !== undefined || partitionSet !== undefined || container !== undefined;
  if (!isSaid && view.partitionSets.length > 1) {
    throw usage('Choose the partition-sets: --partition-set NAME, --container NAME, --from REGION or --all.');
  }
  if (all && partitionSet !== undefined) throw usage('--all and --partition-set cannot be combined.');
  return chosen(view, flags).filter(({ state }) => from === undefined || state?.writeRegion === from);
}

/** How many go from where. */
export function byWriter(sets: readonly PartitionSet[]): string {
  const counts = new Map<string, number>();
  for (const { state } of sets) {
    const region = state?.writeRegion ?? 'no region';
    counts.set(region, (counts.get(region) ?? 0) + 1);
  }
  return [...counts].map(([region, count]) => `${count} in ${region}`).join(', ');
}

export interface Moved {
  readonly sent: Sent;
  readonly waited?: Waited;
  /** The time without writes: it was not longer. */
  readonly gapMs?: number;
}

export type MoveOutcome =
  | 'done'
  | 'failed'
  | 'pending'
  | 'accepted'
  | 'refused'
  | 'unknown'
  | 'not delivered';

function endOf({ sent, waited }: Moved): { readonly outcome: MoveOutcome; readonly why: string } {
  if (waited?.fate === 'done') return { outcome: 'done', why: '' };
  if (!isAccepted(sent)) return { outcome: outcomeOf(sent) as MoveOutcome, why: reasonOf(sent) };
  if (waited === undefined) return { outcome: 'accepted', why: '' };
  if (waited.fate === 'pending')
    return { outcome: 'pending', why: `not done yet; the intent ${sent.id} stays open` };
  return { outcome: 'failed', why: waited.fate.failed };
}

export function moveExit(moved: readonly Moved[]): ExitCode {
  const outcomes = moved.map((one) => endOf(one).outcome);
  if (outcomes.every((outcome) => outcome === 'done' || outcome === 'accepted')) return EXIT.ok;
  if (outcomes.length > 0 && outcomes.every((outcome) => outcome === 'not delivered'))
    return EXIT.unreachable;
  const isLate = outcomes.every((outcome) => outcome === 'done' || outcome === 'pending');
  return isLate ? EXIT.timedOut : EXIT.problem;
}

/** `target`: the region that an operator has chosen, where the writes are pinned. */
export function movedReport(
  what: string,
  moved: readonly Moved[],
  skipped: readonly PartitionSet[],
  target: string | undefined,
): Report {
  const rows = moved.map(rowOf);
  const heads = ['PARTITION-SET', 'FROM', 'TO', right('GCN'), 'OUTCOME', right('GAP'), 'WHY'];
  const whole = table(heads, rows);
  return {
    value: {
      command: what,
      partitionSets: moved.map((one) => {
        const { from, to, gcn } = placesOf(one);
        const { outcome, why } = endOf(one);
        const reason = why === '' ? {} : { reason: why };
        const gap = one.gapMs === undefined ? {} : { gapMs: one.gapMs };
        return { name: one.sent.set.name, id: one.sent.id, from, to, gcn, outcome, ...gap, ...reason };
      }),
      unchanged: skipped.map(({ name }) => name),
    },
    advises: true,
    table: whole,
    pretty: (paint) => {
      const unchanged =
        skipped.length === 0 ? '' : `${plural(skipped.length, 'partition-set')}: already there.\n`;
      if (moved.length === 0) return unchanged === '' ? 'There is nothing to move.\n' : unchanged;
      // Of many, those that need somebody.
      const shown = moved.length > MANY ? rows.filter(({ tone }) => tone !== 'good') : rows;
      const list = shown.length === 0 ? '' : pretty(table(heads, shown), paint);
      return `${list}${unchanged}${verdict(what, moved)}${pinned(moved, target)}`;
    },
  };
}

function verdict(what: string, moved: readonly Moved[]): string {
  const done = moved.filter((one) => endOf(one).outcome === 'done');
  const gaps = done.flatMap(({ gapMs }) => (gapMs === undefined ? [] : [gapMs]));
  const gap = gaps.length === 0 ? '' : `; no writes for ${millis(Math.max(...gaps))} or less`;
  if (done.length === 0) return '';
  return `${what}: ${done.length} of ${plural(moved.length, 'partition-set')} done${gap}.\n`;
}

function pinned(moved: readonly Moved[], target: string | undefined): string {
  const isThere = moved.some((one) => endOf(one).outcome === 'done' && placesOf(one).to === target);
  return isThere
    ? `The writes are pinned: they stay in ${target} while it is healthy, until \`baton unpin\`.\n`
    : '';
}

function placesOf({ sent, waited }: Moved): { from: string | null; to: string | null; gcn: number | null } {
  const { state: before } = sent.set;
  const after = waited?.set.state ?? (sent.posted.kind === 'accepted' ? sent.posted.state : before);
  return { from: before?.writeRegion ?? null, to: after?.writeRegion ?? null, gcn: after?.gcn ?? null };
}

function rowOf(one: Moved): Row {
  const { from, to, gcn } = placesOf(one);
  const { outcome, why } = endOf(one);
  const gap = one.gapMs === undefined ? '' : millis(one.gapMs);
  const tone =
    outcome === 'done' ? 'good' : outcome === 'pending' || outcome === 'accepted' ? 'warning' : 'bad';
  return { cells: [one.sent.set.name, from ?? '-', to ?? '-', String(gcn ?? ''), outcome, gap, why], tone };
}

/** Changes among which the two of a move that was just made are. */
const LAST = 20;

/** Of a planned move: from when it began until the target had the writes. They stop somewhere in between. */
export async function gapOf({ cluster }: Context, set: PartitionSet): Promise<number | undefined> {
  const { changes: history } = await readHistory(cluster, [set.name], LAST);
  const end = history.findLast(({ what, to }) => what === 'switched' && to === set.state?.gcn);
  const start = history.findLast(({ what, from }) => what === 'began' && from === end?.from);
  if (end === undefined || start === undefined) return undefined;
  const gap = Date.parse(end.at) - Date.parse(start.at);
  return Number.isNaN(gap) ? undefined : Math.max(0, gap);
}
