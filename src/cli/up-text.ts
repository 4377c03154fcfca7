/** What `baton up` shows. */
import { basename, relative } from 'node:path';
import { formatAddress, type LocalCluster, type Moved, nodesOf, type Order } from '../server/index.ts';
import { DEFAULT_DIRECTORY, dataDirectory } from './local.ts';
import { aligned } from './table.ts';

/** The address at which people read about a cluster that runs. */
export function describeJson(cluster: LocalCluster): object {
  const { config, directory } = cluster;
  const { account, regions, acceptors, dns, containers } = config;
  const scheme = config.tls ? 'https' : 'http';
  return {
    cluster: config.cluster,
    pid: process.pid,
    directory,
    config: config.path,
    consistency: account.consistency,
    regions: regions.map(({ name, nodes }) => ({
      name,
      nodes: nodes.map((node) => ({
        name: node.name,
        address: formatAddress(node.address),
        ...(node.http && { http: `${scheme}://${formatAddress(node.http)}` }),
      })),
    })),
    acceptors: acceptors.map(({ name, url }) => ({ name, url })),
    containers,
    ...(dns && { dns: { address: formatAddress(dns.listen), name: `${account.name}.${dns.zone}` } }),
  };
}

export function describePretty(cluster: LocalCluster, seconds: number): string {
  const { config, directory } = cluster;
  const { account, regions, acceptors, dns, containers, profile } = config;
  const scheme = config.tls ? 'https' : 'http';
  const rows = nodesOf(config).map(({ name, region, address, http }) => [
    region,
    name,
    formatAddress(address),
    http ? `${scheme}://${formatAddress(http)}` : '',
  ]);
  const sets = containers.reduce((sum, { partitionSets }) => sum + partitionSets, 0);
  const named = typeof profile === 'string' ? `, profile ${profile}` : '';
  const [first, last] = [acceptors[0]!, acceptors.at(-1)!];
  const facts = [
    ['acceptors', `${first.name} .. ${last.name}: ${first.url} .. ${last.url}`],
    ...(dns
      ? [['dns', `dig @${dns.listen.host} -p ${dns.listen.port} TXT ${account.name}.${dns.zone}`]]
      : []),
    ['data, logs', shown(directory)],
  ];
  return [
    `Baton is up: ${regions.length} regions, ${sets} partition-sets, ${account.consistency}${named} (${seconds.toFixed(1)} s)`,
    '',
    indented(leftAligned([['region', 'node', 'clients', 'status'], ...rows])),
    indented(leftAligned(facts)),
    'Try, in another terminal:',
    ...tryNext(directory, regions[0]!.name).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops everything; the data stays.',
    '',
  ].join('\n');
}

function tryNext(directory: string, region: string): string[] {
  const program = programName();
  const isDefault = directory === dataDirectory(undefined);
  const [data, cluster] = isDefault
    ? ['', '']
    : [` --data ${shown(directory)}`, ` --cluster ${shown(directory)}`];
  return [
    `${program} list${cluster}`,
    `${program} chaos kill ${region}${data}`,
    `${program} chaos heal${data}`,
  ];
}

/** As it was started. */
function programName(): string {
  const script = process.argv[1] ?? 'baton';
  return basename(script) === 'baton' ? 'baton' : `node ${relative(process.cwd(), script)}`;
}

export function shown(directory: string): string {
  const path = relative(process.cwd(), directory);
  if (path === DEFAULT_DIRECTORY) return `./${path}`;
  return path.startsWith('..') || path === '' ? directory : `./${path}`;
}

function leftAligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return aligned(rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at]!))));
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

export function orderText({ action, target, from, direction }: Order): string {
  const words = [action, target ?? 'everything'];
  if (action === 'cut') {
    if (from !== undefined && from !== 'all') words.push(`from ${from}`);
    if (direction !== undefined && direction !== 'both') words.push(`(${direction})`);
  }
  return words.join(' ');
}

export function moveText({ partitionSets, from, to }: Moved): string {
  const sorted = partitionSets.toSorted();
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  const what = first === last ? first : `${first} .. ${last} (${sorted.length})`;
  return `${what}: ${from ?? 'nobody'} -> ${to}`;
}
