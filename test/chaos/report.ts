/** What a run prints: a table for people, or one object for programs. */
import type { Evidence } from './campaign.ts';
import { acceptorsIn } from './faults.ts';
import { SLACK_MS } from './gaps.ts';
import { BOUND_MS, FAULT_KINDS, type FaultKind, formatFault } from './schedule.ts';
import { acknowledgedIn, failoversIn, losses, type StoreLosses, type Violation } from './verdict.ts';

export interface GapRow {
  readonly fault: FaultKind;
  readonly times: number;
  readonly longestMs: number;
  readonly boundMs: number;
}

export interface Summary {
  readonly consistency: string;
  readonly seed: number;
  readonly partitionSets: number;
  readonly writes: { readonly acknowledged: number; readonly failed: number; readonly unknown: number };
  readonly reads: number;
  readonly feedChanges: number;
  readonly faults: number;
  readonly gaps: readonly GapRow[];
  /** Of a cluster with stores: how often each was away. */
  readonly stores: readonly StoreLosses[];
  readonly slackMs: number;
  readonly failovers: Readonly<Record<string, number>>;
  readonly undone: number;
  readonly notRun: readonly string[];
  readonly violations: readonly Violation[];
  /** Only of a run with violations. */
  readonly schedule?: readonly string[];
  readonly directory?: string;
}

export function summarize(evidence: Evidence, violations: readonly Violation[]): Summary {
  const { options, recorder, faults, failovers, sets, directory } = evidence;
  const { seed, consistency, partitionSets, abilities } = options;
  const count = (what: string): number => recorder.counts.get(what) ?? 0;
  const undone = new Set(
    sets.flatMap(({ partitionSet, final }) =>
      final.undone.map(({ epoch, lsn }) => `${partitionSet} ${epoch}:${lsn}`),
    ),
  );
  return {
    consistency,
    seed,
    partitionSets,
    writes: {
      acknowledged: acknowledgedIn(evidence),
      failed: count('write: failed'),
      unknown: count('write: unknown'),
    },
    reads: count('read: ok'),
    feedChanges: count('feed: changes'),
    faults: faults.length,
    gaps: gapRows(evidence),
    stores: losses(evidence),
    slackMs: SLACK_MS,
    failovers: Object.fromEntries(failovers),
    undone: undone.size,
    notRun: abilities.notRun,
    violations,
    ...(violations.length > 0 && {
      schedule: faults.map(
        ({ fault, targets, gapMs }) => `${formatFault(fault)} (${targets.join(', ')}): ${gapMs} ms`,
      ),
      directory,
    }),
  };
}

function gapRows({ faults }: Evidence): GapRow[] {
  return FAULT_KINDS.flatMap((kind) => {
    const ofKind = faults.filter((one) => one.kind === kind);
    if (ofKind.length === 0) return [];
    const longestMs = Math.max(...ofKind.map(({ gapMs }) => gapMs));
    return [{ fault: kind, times: ofKind.length, longestMs, boundMs: BOUND_MS[kind] }];
  });
}

export function countsOf({ recorder }: Evidence): string {
  const sorted = [...recorder.counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([what, times]) => `${what} ${times}`).join(', ');
}

const SHOWN = 20;

export function formatSummary(summary: Summary, evidence: Evidence): string {
  const { consistency, seed, partitionSets, writes, gaps, failovers, undone, violations, notRun } = summary;
  const causes = Object.entries(failovers).map(([cause, times]) => `${cause} ${times}`);
  const lines = [
    `${consistency}: seed ${seed}, three regions, ${acceptorsIn(evidence.options.abilities)}, ${partitionSets} partition-sets`,
    `  writes     ${writes.acknowledged} acknowledged, ${writes.failed} refused, ${writes.unknown} of unknown outcome; ${undone} undone`,
    `  reads      ${summary.reads}; ${summary.feedChanges} changes from the feed`,
    `  failovers  ${failoversIn(evidence)}: ${causes.join(', ')}`,
    ...summary.stores.map(
      ({ store, killed, paused, unnoticed }) =>
        `  ${store.padEnd(10)} ${killed} times killed, ${paused} paused${unnoticed === 0 ? '' : `, ${unnoticed} times without anybody noticing`}`,
    ),
    `  answers    ${countsOf(evidence)}`,
    `  ${'fault'.padEnd(20)}${'times'.padStart(6)}${'longest gap'.padStart(13)}${'bound'.padStart(10)}`,
    ...gaps.map(
      ({ fault, times, longestMs, boundMs }) =>
        `  ${fault.padEnd(20)}${String(times).padStart(6)}${`${longestMs} ms`.padStart(13)}${`${boundMs} ms`.padStart(10)}`,
    ),
    `  (slack of the bounds: ${SLACK_MS} ms, and as long as this process stood still)`,
    ...notRun.map((what) => `  not run: ${what}`),
    `  violations ${violations.length}`,
  ];
  if (violations.length === 0) return `${lines.join('\n')}\n`;
  return `${[
    ...lines,
    ...violations.slice(0, SHOWN).map(({ rule, sentence }) => `    ${rule}: ${sentence}`),
    ...(violations.length > SHOWN ? [`    and ${violations.length - SHOWN} more`] : []),
    '  schedule',
    ...(summary.schedule ?? []).map((line) => `    ${line}`),
    `  data, logs and histories are kept in ${summary.directory}`,
    `  again: npm run chaos -- --seed ${seed} --consistency ${consistency}${summary.stores.length === 0 ? '' : ' --stores'}`,
  ].join('\n')}\n`;
}
