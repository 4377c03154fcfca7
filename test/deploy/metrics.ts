/** Which metrics there are, as the documentation lists them, and which ones an expression of Prometheus asks for. */
import { collectDefaultMetrics, Registry } from 'prom-client';

export interface DocumentedMetric {
  readonly name: string;
  readonly type: string | undefined;
  readonly labels: readonly string[];
}

/** The rows of every table whose first column is headed `metric`. */
export function metricsIn(markdown: string): DocumentedMetric[] {
  const found: DocumentedMetric[] = [];
  let columns: readonly string[] | undefined;
  for (const line of markdown.split('\n')) {
    if (!line.startsWith('|')) {
      columns = undefined;
      continue;
    }
    const cells = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (columns === undefined) columns = cells.map((cell) => cell.toLowerCase());
    else if (columns[0] === 'metric' && !cells[0]!.startsWith('-')) found.push(rowOf(columns, cells));
  }
  return found;
}

function rowOf(columns: readonly string[], cells: readonly string[]): DocumentedMetric {
  const cell = (column: string): string | undefined => cells[columns.indexOf(column)];
  return {
    name: codeIn(cells[0]!)[0] ?? cells[0]!,
    type: cell('type'),
    labels: codeIn(cell('labels') ?? ''),
  };
}

function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);
}

/** What prom-client says about a process by itself, on the machine that this runs on. */
export function processMetrics(): DocumentedMetric[] {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registeredIn(registry);
}

/** Gauges without labels that a source registers by a helper of its own: `gauge('name', ...)`. */
export function gaugesIn(source: string): DocumentedMetric[] {
  const names = [...source.matchAll(/\bgauge\(\s*'(baton_\w+)'/g)].map(([, name]) => name!);
  return names.map((name) => ({ name, type: 'gauge', labels: [] }));
}

export function registeredIn(registry: Registry): DocumentedMetric[] {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, type, labelNames } = metric as unknown as {
      name: string;
      type: string;
      labelNames?: readonly string[];
    };
    return { name, type, labels: labelNames ?? [] };
  });
}

/** Labels that the scraping puts on every series (deploy/prometheus/scrape.yml). */
export const SCRAPED: ReadonlySet<string> = new Set(['job', 'instance', 'cluster', 'region', 'place']);

/** The names of time series, with the labels of each. Prometheus renames one that the scraping has too. */
export function seriesOf(metrics: readonly DocumentedMetric[]): Map<string, ReadonlySet<string>> {
  const series = new Map<string, ReadonlySet<string>>();
  for (const { name, type, labels: given } of metrics) {
    const labels = given.map((label) => (SCRAPED.has(label) ? `exported_${label}` : label));
    const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const suffix of suffixes)
      series.set(`${name}${suffix}`, new Set(suffix === '_bucket' ? [...labels, 'le'] : labels));
  }
  return series;
}

export interface Use {
  readonly metric: string;
  /** Labels that are matched on it. */
  readonly labels: readonly string[];
}

const KEYWORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'inf', 'nan']);
const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g;

/** The metrics of an expression, in the order in which it names them. */
export function usesIn(expression: string): Use[] {
  const plain = expression
    .replace(/"(?:[^"\\]|\\.)*"/g, '""')
    .replace(GROUPING, ' ')
    .replace(/\[[^\]]*\]/g, ' ');
  return [...plain.matchAll(/(?<![\w.$])([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?/g)].flatMap(
    ([, name, after]) => {
      if (after === '(' || KEYWORDS.has(name!.toLowerCase())) return [];
      return [
        { metric: name!, labels: [...(after ?? '').matchAll(/(\w+)\s*(?:=|!)/g)].map(([, label]) => label!) },
      ];
    },
  );
}

/** Labels that an expression groups or joins by. */
export function groupingsIn(expression: string): string[] {
  return [...expression.matchAll(GROUPING)].flatMap(
    ([text]) => text.replace(/^\w+\s*\(/, '').match(/\w+/g) ?? [],
  );
}
