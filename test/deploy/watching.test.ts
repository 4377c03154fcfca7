import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { EngineMetrics } from '../../src/server/node/engine-metrics.ts';
import { repositoryTree, ROOT, textOf } from '../repository/tree.ts';
import { deployed, documented } from './files.ts';
import {
  gaugesIn,
  groupingsIn,
  metricsIn,
  processMetrics,
  registeredIn,
  SCRAPED,
  seriesOf,
  usesIn,
} from './metrics.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface Target {
  readonly refId: string;
  readonly expr: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly Target[];
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { readonly name: string; readonly query?: string }[] };
  readonly panels: readonly Panel[];
}

const rules = (parse(deployed('prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules: some }) => some,
);
const scraped = parse(deployed('prometheus/scrape.yml')) as {
  scrape_configs: { job_name: string; static_configs: { labels: Record<string, string> }[] }[];
};
const dashboard = JSON.parse(deployed('grafana/baton.json')) as Dashboard;
const charts = dashboard.panels.filter(({ type }) => type !== 'row');
const GUIDES = ['failover.md', 'caspaxos.md', 'metrics.md'].filter((name) =>
  existsSync(join(ROOT, 'docs', name)),
);

/** What a node says about its engine and its connections. */
const engine = new Registry();
void new EngineMetrics(engine, () => undefined);

/** What others than we give to Prometheus: itself, and the node_exporter of a machine. */
const FOREIGN = seriesOf([
  { name: 'up', type: 'gauge', labels: [] },
  { name: 'node_filesystem_avail_bytes', type: 'gauge', labels: ['mountpoint'] },
  { name: 'node_filesystem_size_bytes', type: 'gauge', labels: ['mountpoint'] },
]);
const SERIES = new Map([
  ...seriesOf(GUIDES.flatMap((name) => metricsIn(documented(name)))),
  ...seriesOf(processMetrics()),
  ...seriesOf(registeredIn(engine)),
  ...seriesOf(gaugesIn(textOf(repositoryTree(), 'src/server/daemon/node-daemon.ts'))),
  ...FOREIGN,
]);

/** What is wrong with an expression: names that nobody has, labels that are not on them. */
function complaintsAbout(expression: string): string[] {
  const uses = usesIn(expression);
  const unknown = uses
    .filter(({ metric }) => !SERIES.has(metric))
    .map(({ metric }) => `no process has ${metric}`);
  const strange = uses.flatMap(({ metric, labels }) => {
    const known = SERIES.get(metric);
    return labels
      .filter((label) => known !== undefined && !known.has(label) && !SCRAPED.has(label))
      .map((label) => `${metric} has no label ${label}`);
  });
  const labels = new Set(uses.flatMap(({ metric }) => [...(SERIES.get(metric) ?? [])]));
  const lost = groupingsIn(expression).filter((label) => !labels.has(label) && !SCRAPED.has(label));
  return [...unknown, ...strange, ...lost.map((label) => `nothing has the label ${label}`)];
}

/** As GitHub and others make an anchor of a heading. */
function anchorsOf(markdown: string): Set<string> {
  const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, text]) => text!);
  return new Set(
    headings.map((text) =>
      text
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

describe('what is read out of an expression', () => {
  test('metrics, without functions, labels, strings and durations', () => {
    const expression =
      'histogram_quantile(0.99, sum by (region, le) (rate(a_bucket{job=~"x{y}_z", what!="gave up"}[5m]))) > 1e3 and on (cluster) b:c offset 5m or up == 0';
    expect(usesIn(expression)).toEqual([
      { metric: 'a_bucket', labels: ['job', 'what'] },
      { metric: 'b:c', labels: [] },
      { metric: 'up', labels: [] },
    ]);
    expect(groupingsIn(expression)).toEqual(['region', 'le', 'cluster']);
  });

  test('a name that no process has is caught, and a label that is not on it', () => {
    expect(complaintsAbout('rate(baton_agent_update_total[5m])')).toEqual([
      'no process has baton_agent_update_total',
    ]);
    expect(complaintsAbout('baton_agent_update_seconds')).toEqual([
      'no process has baton_agent_update_seconds',
    ]);
    expect(complaintsAbout('baton_failover_phases{fase="Steady"}')).toEqual([
      'baton_failover_phases has no label fase',
    ]);
    expect(complaintsAbout('sum by (partitionSet) (up)')).toEqual(['nothing has the label partitionSet']);
  });

  test('a label that the scraping has too is known by its other name', () => {
    const series = seriesOf([{ name: 'lag', type: 'gauge', labels: ['region', 'role'] }]);
    expect([...series.get('lag')!]).toEqual(['exported_region', 'role']);
  });

  test('metrics of every kind of process are known', () => {
    for (const name of [
      'baton_agent_update_seconds_bucket',
      'baton_acceptor_set',
      'baton_engine_commit_seconds_bucket',
      'baton_node_ready',
      'process_start_time_seconds',
      'nodejs_eventloop_lag_p99_seconds',
    ])
      expect([...SERIES.keys()]).toContain(name);
  });
});

describe('the alerts', () => {
  const runbooks = documented('operations.md');

  test('are there, each once', () => {
    expect(rules.length).toBeGreaterThan(15);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  test.each(rules.map((rule) => [rule.alert, rule] as const))('%s asks for what there is', (_, { expr }) => {
    expect(usesIn(expr)).not.toEqual([]);
    expect(complaintsAbout(expr)).toEqual([]);
  });

  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s says what is the matter and what to do',
    (alert, rule) => {
      const { summary, runbook } = rule.annotations;
      expect(['critical', 'warning', 'info']).toContain(rule.labels.severity);
      expect(summary).toMatch(/^.{20,120}\.$/);
      expect(runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
      expect([...anchorsOf(runbooks)]).toContain(alert.toLowerCase());
    },
  );

  test('have all the runbooks that there are', () => {
    const described = [...runbooks.matchAll(/^### (Baton\w+)$/gm)].map(([, name]) => name!);
    expect(described.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });

  test('go by jobs that are scraped, with the labels that they use', () => {
    const jobs = scraped.scrape_configs.map(({ job_name }) => job_name);
    const named = [...deployed('prometheus/alerts.yml').matchAll(/job="([^"]+)"/g)].map(([, job]) => job!);
    expect(named).not.toEqual([]);
    for (const job of named) expect(jobs).toContain(job);
    for (const { static_configs } of scraped.scrape_configs)
      for (const { labels } of static_configs) expect(Object.keys(labels)).toContain('cluster');
  });
});

describe('the dashboard', () => {
  test('is one that Grafana takes', () => {
    expect(dashboard).toMatchObject({ uid: 'baton', title: 'Baton', id: null });
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'cluster', 'region']);
  });

  test('has panels with ids and titles of their own, that do not lie on each other', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
  });

  test.each(charts.map((panel) => [panel.title, panel] as const))('%s asks for what there is', (_, panel) => {
    expect(panel.datasource).toMatchObject({ type: 'prometheus', uid: '${datasource}' });
    expect(panel.targets).not.toHaveLength(0);
    const refs = panel.targets!.map(({ refId }) => refId);
    expect(new Set(refs).size).toBe(refs.length);
    for (const { expr } of panel.targets!) {
      expect(expr).toContain('$cluster');
      expect(usesIn(expr)).not.toEqual([]);
      expect(complaintsAbout(expr)).toEqual([]);
    }
  });

  test.each([
    'Partition-sets that take writes',
    'Failovers by cause',
    'Leases lost',
    'Lag in entries',
    'Time of a write',
    'Time of a state update',
    'State updates by outcome',
    'Bytes on disk',
    'Processes up',
  ])('shows %s', (title) => {
    expect(charts.map((panel) => panel.title)).toContain(title);
  });
});
