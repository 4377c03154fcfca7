/**
 * `baton list`: every partition-set and where its writes are, a line for each; with `--regions` a line for each of its
 * regions. Of many, how many are where, and those that are not well.
 */
import type { Command } from 'commander';
import {
  chosen,
  type CommonFlags,
  operatorCommand,
  running,
  type ScopeFlags,
  watching,
  type WatchFlags,
  withScope,
  withWatch,
} from './command.ts';
import { EXIT } from './errors.ts';
import { conditionOf, lagOf, lagText, problemsOf } from './health.ts';
import type { ClusterView, NodeStatus, PartitionSet } from './merge.ts';
import {
  type Paint,
  plural,
  pretty,
  type Report,
  right,
  type Row,
  someOf,
  type Table,
  table,
  type Tone,
} from './output.ts';
import type { Stage } from './stage.ts';

interface Shown extends ScopeFlags {
  readonly all: boolean;
  readonly regions?: boolean;
}

export interface ListFlags extends CommonFlags, Shown, WatchFlags {}

/** More than this nobody reads row by row. */
export const MANY = 20;

export function listCommand(stage: Stage): Command {
  return withWatch(
    withScope(
      operatorCommand('list', 'Show every partition-set, its write region and the state of its regions.', [
        'baton list',
        'baton list --regions --partition-set items-03',
        'baton list --container items --watch 1',
        'baton list -f json',
      ]),
    ),
  )
    .option('-r, --regions', 'one line per region, with its role, status and lag', false)
    .option('--all', `also show partition-sets without problems when there are more than ${MANY}`, false)
    .action(
      running(
        stage,
        (context, flags: ListFlags) =>
          watching(context, flags, async () => ({
            report: listReport(await context.cluster.look(), flags),
            exit: EXIT.ok,
          })),
        ([flags]) => flags,
      ),
    );
}

export function listReport(view: ClusterView, flags: Shown): Report {
  const sets = chosen(view, flags);
  const shown = briefly(sets, flags);
  const shownRows = flags.regions === true ? rowsFor(shown) : shortRows(view, shown);
  return {
    value: valueOf(view, sets),
    table: rowsFor(sets),
    pretty: (paint) =>
      [
        headline(view, sets),
        deadNodes(view.nodes, paint),
        sets.length > MANY ? summary(sets, paint) : '',
        shown.length === 0 ? '' : pretty(shownRows, paint),
        hiddenLine(sets.length - shown.length),
        problemLines(shown, paint),
      ]
        .filter((part) => part !== '')
        .join('\n'),
  };
}

/** Of many, those that are not well; unless somebody wants to see all, or names them. */
export function briefly(
  sets: readonly PartitionSet[],
  { all, partitionSet }: ScopeFlags & { readonly all: boolean },
): readonly PartitionSet[] {
  if (all || partitionSet !== undefined || sets.length <= MANY) return sets;
  return sets.filter((one) => problemsOf(one).length > 0);
}

export function hiddenLine(count: number): string {
  return count === 0 ? '' : `${plural(count, 'partition-set')} more, all well; --all shows them.\n`;
}

export function headline({ cluster, nodes, at }: ClusterView, sets: readonly PartitionSet[]): string {
  const up = nodes.filter(({ isUp }) => isUp).length;
  const paused = sets.filter(({ state }) => state?.pausedAutomatic === true).length;
  const pause = paused === 0 ? '' : `, automatic failovers PAUSED in ${plural(paused, 'partition-set')}`;
  return `Cluster ${cluster}: ${plural(sets.length, 'partition-set')}, ${up} of ${plural(nodes.length, 'node')} up, at ${at}${pause}\n`;
}

export function deadNodes(nodes: readonly NodeStatus[], paint: Paint): string {
  return nodes
    .filter(({ isUp }) => !isUp)
    .map(({ name, region, reason }) => `${paint(`${name} (${region}) does not answer: ${reason}`, 'bad')}\n`)
    .join('');
}

/** The same sentence about many is said once. */
function problemLines(sets: readonly PartitionSet[], paint: Paint): string {
  const said = new Map<string, string[]>();
  for (const one of sets) {
    for (const { severity, sentence } of problemsOf(one)) {
      if (severity === 'critical') said.set(sentence, [...(said.get(sentence) ?? []), one.name]);
    }
  }
  return [...said].map(([sentence, names]) => `${paint(`${someOf(names)}: ${sentence}`, 'bad')}\n`).join('');
}

function summary(sets: readonly PartitionSet[], paint: Paint): string {
  const counts = new Map<string, number[]>();
  for (const one of sets) {
    const key = `${one.state?.writeRegion ?? '-'}\t${one.state?.phase ?? 'unknown'}`;
    const row = counts.get(key) ?? [0, 0];
    counts.set(key, [row[0]! + 1, row[1]! + (problemsOf(one).length > 0 ? 1 : 0)]);
  }
  const rows = [...counts]
    .sort(([, [a]], [, [b]]) => b! - a!)
    .map(([key, [count, unwell]]): Row => {
      const [region, phase] = key.split('\t') as [string, string];
      return {
        cells: [region, phase, String(count), String(unwell)],
        tone: unwell === 0 ? 'plain' : 'warning',
      };
    });
  return pretty(table(['WRITE REGION', 'PHASE', right('PARTITION-SETS'), right('NOT WELL')], rows), paint);
}

/** A line for each partition-set, with a column for each region. */
function shortRows(view: ClusterView, sets: readonly PartitionSet[]): Table {
  const all = [...view.regions, ...sets.flatMap(({ state }) => Object.keys(state?.regions ?? {}))];
  const regions = [...new Set(all)];
  const heads = ['PARTITION-SET', 'WRITE REGION', right('GCN'), 'PHASE', 'LEASE SET', ...regions];
  return table(
    heads,
    sets.map((one): Row => {
      const { name, state } = one;
      if (state === undefined) {
        const cells = [name, '-', '', 'unknown', '', ...regions.map(() => 'unknown')];
        return { cells, tone: 'bad' };
      }
      const pinned = state.pin == null || state.pin !== state.writeRegion ? '' : ' (pinned)';
      const writer = state.writeRegion === null ? '-' : `${state.writeRegion}${pinned}`;
      const cells = [name, writer, String(state.gcn), state.phase, inOrder(one).join(',')];
      return { cells: [...cells, ...regions.map((region) => inAWord(one, region))], tone: worstTone(one) };
    }),
  );
}

function inOrder(one: PartitionSet): readonly string[] {
  return regionsOf(one).filter((region) => one.state!.leaseSet.includes(region));
}

/** What a region does; behind it, how many writes it lacks. */
function inAWord(one: PartitionSet, region: string): string {
  const { state, writers } = one;
  if (state?.regions[region] === undefined) return '-';
  const condition = conditionOf(one, region);
  if (condition !== 'running') return condition;
  if (writers.includes(region)) return 'writes';
  if (region === state.writeRegion) return 'no writes';
  const lag = lagOf(one, region)?.entries ?? 0;
  return `${region === state.target ? 'target' : 'running'}${lag === 0 ? '' : ` +${lag}`}`;
}

function worstTone(one: PartitionSet): Tone {
  const problems = problemsOf(one);
  if (problems.some(({ severity }) => severity === 'critical')) return 'bad';
  return problems.length > 0 ? 'warning' : 'plain';
}

function rowsFor(sets: readonly PartitionSet[]): Table {
  const heads = [
    'PARTITION-SET',
    'WRITE REGION',
    right('GCN'),
    'PHASE',
    'REGION',
    'ROLE',
    'STATUS',
    right('LAG'),
    'STATE',
  ];
  return table(heads, sets.flatMap(rowsOf));
}

function rowsOf(one: PartitionSet): Row[] {
  const { name, state } = one;
  if (state === undefined)
    return [{ cells: [name, '', '', 'unknown', '', '', '', '', 'unknown'], tone: 'bad' }];
  const writer = state.writeRegion ?? '-';
  return regionsOf(one).map((region) => ({
    cells: [
      name,
      writer,
      String(state.gcn),
      state.phase,
      region,
      roleOf(one, region),
      state.regions[region]?.status ?? '',
      lagText(lagOf(one, region)),
      conditionOf(one, region),
    ],
    tone: toneOf(one, region),
  }));
}

/** In order of priority, then those that are in none. */
export function regionsOf({ state }: PartitionSet): readonly string[] {
  const { priorities } = state!.configuration;
  const all = Object.keys(state!.regions);
  return [
    ...priorities.filter((name) => all.includes(name)),
    ...all.filter((name) => !priorities.includes(name)),
  ];
}

export function roleOf({ state }: PartitionSet, region: string): string {
  if (region === state?.writeRegion) return 'writer';
  if (region === state?.target) return 'target';
  return state?.leaseSet.includes(region) === true ? 'reader' : 'outside';
}

export function toneOf(one: PartitionSet, region: string): Tone {
  const problems = problemsOf(one).filter(
    (problem) => problem.region === undefined || problem.region === region,
  );
  if (problems.some(({ severity }) => severity === 'critical')) return 'bad';
  return problems.length > 0 ? 'warning' : 'plain';
}

function valueOf(view: ClusterView, sets: readonly PartitionSet[]): unknown {
  const byWriteRegion: Record<string, number> = {};
  const byPhase: Record<string, number> = {};
  for (const { state } of sets) {
    const [region, phase] = [state?.writeRegion ?? 'none', state?.phase ?? 'unknown'];
    byWriteRegion[region] = (byWriteRegion[region] ?? 0) + 1;
    byPhase[phase] = (byPhase[phase] ?? 0) + 1;
  }
  return {
    cluster: view.cluster,
    at: view.at,
    nodes: view.nodes.map(nodeValue),
    summary: { byWriteRegion, byPhase, notWell: sets.filter((one) => problemsOf(one).length > 0).length },
    partitionSets: sets.map(setValue),
  };
}

export function nodeValue({ name, region, isUp, reason, facts }: NodeStatus): object {
  return {
    name,
    region,
    isUp,
    ...(reason !== undefined && { reason }),
    ...(facts && { version: facts.version }),
  };
}

function setValue(one: PartitionSet): object {
  const { name, container, state } = one;
  if (state === undefined) return { name, container, problems: problemsOf(one) };
  return {
    name,
    container,
    writeRegion: state.writeRegion,
    gcn: state.gcn,
    phase: state.phase,
    leaseSet: state.leaseSet,
    paused: state.pausedAutomatic,
    pinned: state.pin ?? null,
    regions: regionsOf(one).map((region) => ({
      region,
      role: roleOf(one, region),
      status: state.regions[region]!.status,
      state: conditionOf(one, region),
      ...(lagOf(one, region) && { lag: lagOf(one, region) }),
    })),
    problems: problemsOf(one),
  };
}
