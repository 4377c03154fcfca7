/**
 * `baton topology`: the nodes, and for every copy of a partition-set three things side by side. What the failover state tells
 * the region to be (assigned), what the region last said of itself (reported), and what its node does at this moment (actual).
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
import { conditionOf, lagOf, lagText, problemsOf } from './health.ts';
import { briefly, deadNodes, headline, hiddenLine, nodeValue, regionsOf, roleOf, toneOf } from './list.ts';
import type { ClusterView, NodeStatus, PartitionSet } from './merge.ts';
import { millis, pretty, type Report, right, type Row, type Table, table } from './output.ts';
import { isBuilding, type PartitionSetView } from './shapes.ts';
import type { Stage } from './stage.ts';

interface TopologyFlags extends CommonFlags, ScopeFlags, WatchFlags {
  readonly all: boolean;
}

export function topologyCommand(stage: Stage): Command {
  return withWatch(
    withScope(
      operatorCommand(
        'topology',
        'Show the nodes, and for each region its assigned role, its last report and what its node does now.',
        ['baton topology', 'baton topology --partition-set items-03 --watch'],
      ),
    ),
  )
    .option('--all', 'also show partition-sets without problems when there are many', false)
    .action(
      running(
        stage,
        (context, flags: TopologyFlags) =>
          watching(context, flags, async () => ({
            report: topologyReport(await context.cluster.look(), flags),
          })),
        ([flags]) => flags,
      ),
    );
}

export function topologyReport(view: ClusterView, flags: ScopeFlags & { readonly all: boolean }): Report {
  const sets = chosen(view, flags);
  const shown = briefly(sets, flags);
  return {
    value: {
      cluster: view.cluster,
      at: view.at,
      nodes: view.nodes.map(fullNodeValue),
      partitionSets: sets.map(setValue),
    },
    table: copies(sets),
    pretty: (paint) =>
      [
        headline(view, sets),
        deadNodes(view.nodes, paint),
        pretty(nodesTable(view.nodes), paint),
        shown.length === 0 ? '' : pretty(copies(shown), paint),
        hiddenLine(sets.length - shown.length),
      ]
        .filter((part) => part !== '')
        .join('\n'),
  };
}

function nodesTable(nodes: readonly NodeStatus[]): Table {
  const heads = [
    'NODE',
    'REGION',
    'HTTP',
    'STATE',
    'VERSION',
    right('UP FOR'),
    right('COPIES'),
    right('ANSWERS IN'),
  ];
  return table(
    heads,
    nodes.map(({ name, region, http, isUp, facts, views, rttMs }): Row => {
      const address = http === undefined ? '-' : `${http.host}:${http.port}`;
      if (!isUp) return { cells: [name, region, address, 'unreachable', '', '', '', ''], tone: 'bad' };
      const uptime = facts?.uptimeMs === undefined ? '' : millis(facts.uptimeMs);
      const cells = [name, region, address, 'up', facts?.version ?? '', uptime];
      return { cells: [...cells, String(views.length), rttMs === undefined ? '' : millis(rttMs)] };
    }),
  );
}

function copies(sets: readonly PartitionSet[]): Table {
  const heads = [
    'PARTITION-SET',
    right('GCN'),
    'REGION',
    'ASSIGNED',
    'IN LEASE SET',
    'REPORTED',
    right('UNDER GCN'),
    'ACTUAL',
    right('SEES GCN'),
    right('LAG'),
    'STATE',
  ];
  return table(heads, sets.flatMap(rowsOf));
}

function rowsOf(one: PartitionSet): Row[] {
  const { name, state, seen } = one;
  if (state === undefined) {
    return [{ cells: [name, '', '', '', '', '', '', '', '', '', 'unknown'], tone: 'bad' }];
  }
  return regionsOf(one).map((region) => ({
    cells: [
      name,
      String(state.gcn),
      region,
      state.regions[region]!.status,
      state.leaseSet.includes(region) ? 'yes' : 'no',
      reportedText(state, region),
      String(state.regions[region]!.reportedUnder ?? '-'),
      actualText(one, region),
      String(seen[region] ?? '-'),
      lagText(lagOf(one, region)),
      conditionOf(one, region),
    ],
    tone: toneOf(one, region),
  }));
}

function reportedText({ regions }: PartitionSetView, region: string): string {
  const said = regions[region]!;
  if (isBuilding(said)) return 'building';
  if (!said.progress) return 'nothing';
  const { epoch, lsn } = said.progress;
  return `log ${epoch}/${lsn}${said.gclsn == null ? '' : `, committed ${said.gclsn}`}`;
}

function actualText({ local }: PartitionSet, region: string): string {
  const here = local[region];
  if (here === undefined) return '-';
  const log = here.progress ? `log ${here.progress.epoch}/${here.progress.lsn}` : undefined;
  const writes = here.canWrite ? 'writes' : undefined;
  const stuck = here.canCommit === false ? 'cannot commit' : undefined;
  return [here.role ?? undefined, writes, stuck, log].filter((part) => part !== undefined).join(', ') || '-';
}

function fullNodeValue(node: NodeStatus): object {
  const { http, facts, rttMs } = node;
  return {
    ...nodeValue(node),
    ...(http && { http: `${http.host}:${http.port}` }),
    ...(rttMs !== undefined && { rttMs: Math.round(rttMs) }),
    ...(facts && { uptimeMs: facts.uptimeMs, acceptors: facts.acceptors, peers: facts.peers }),
  };
}

function setValue(one: PartitionSet): object {
  const { name, container, state, local, seen } = one;
  if (state === undefined) return { name, container, problems: problemsOf(one) };
  return {
    name,
    container,
    gcn: state.gcn,
    phase: state.phase,
    writeRegion: state.writeRegion,
    leaseSet: state.leaseSet,
    regions: regionsOf(one).map((region) => {
      const { status, ...reported } = state.regions[region]!;
      return {
        region,
        state: conditionOf(one, region),
        assigned: { status, role: roleOf(one, region), inLeaseSet: state.leaseSet.includes(region) },
        reported,
        ...(local[region] && { actual: { ...local[region], seesGcn: seen[region] } }),
      };
    }),
    problems: problemsOf(one),
  };
}
