/** What `baton up` prints about its cluster. */
import { relative } from 'node:path';
import { readFileSync } from 'node:fs';
import {
  type AnyOrder,
  type ClusterConfig,
  endpointOf,
  formatAddress,
  type LocalCluster,
  type MoveCause,
  type Moved,
  nodesOf,
  type Obeyed,
} from '../server/index.ts';
import { programName } from './invocation.ts';
import { DEFAULT_DIRECTORY, dataDirectory } from './local.ts';
import { plural } from './operate/output.ts';
import { aligned } from './table.ts';

/** The output of `baton up --json`. */
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
    ...(cluster.page !== undefined && { page: withoutToken(cluster.page) }),
    tokens: Object.fromEntries(filesOf(config.tokens)),
    ...(config.gateways.length > 0 && {
      gateways: config.gateways.map((gateway) => ({
        name: gateway.name,
        ...(gateway.region !== undefined && { region: gateway.region }),
        endpoint: endpointOf(config, gateway),
        ...(gateway.http && { http: `${scheme}://${formatAddress(gateway.http)}` }),
      })),
      keys: Object.fromEntries(filesOf(config.keys)),
    }),
    containers,
    ...(dns && { dns: { address: formatAddress(dns.listen), name: `${account.name}.${dns.zone}` } }),
  };
}

/** Tokens and keys are for the eyes of its owner: where the output may be kept, it says where they are instead. */
export function describePretty(cluster: LocalCluster, seconds: number, isTerminal: boolean): string {
  const { config, directory } = cluster;
  const { account, regions, acceptors, dns, containers, profile } = config;
  const scheme = config.tls ? 'https' : 'http';
  const rows = nodesOf(config).map(({ name, region, column, address, http }) => [
    region,
    name,
    formatAddress(address),
    http ? `${scheme}://${formatAddress(http)}` : '',
    ...(config.gateways.length === 0 ? [] : [column === 0 ? doorOf(config, region) : '']),
  ]);
  const heads = [
    'region',
    'node',
    'clients',
    'status',
    ...(config.gateways.length === 0 ? [] : ['Cosmos DB API']),
  ];
  const sets = containers.reduce((sum, { partitionSets }) => sum + partitionSets, 0);
  const named = typeof profile === 'string' ? `, profile ${profile}` : '';
  const facts = [
    ...acceptorFacts(acceptors),
    ...(dns
      ? [['DNS', `dig @${dns.listen.host} -p ${dns.listen.port} TXT ${account.name}.${dns.zone}`]]
      : []),
    ...doorFacts(config),
    ...durabilityFacts(account, regions.length),
    ...tokenFacts(config),
    ['data, logs', shown(directory)],
  ];
  return [
    `Baton is up: ${plural(regions.length, 'region')}, ${plural(sets, 'partition-set')}, ${account.consistency}${named} (${seconds.toFixed(1)} s)`,
    '',
    ...(cluster.page === undefined
      ? []
      : [
          ...(isTerminal
            ? [`Open ${cluster.page}`]
            : [`Open ${withoutToken(cluster.page)} and sign in with the token in ${operatorFile(config)}`]),
          `This web page is served by every region; the address is that of ${regions.at(-1)!.name}.`,
          '',
        ]),
    indented(leftAligned([heads, ...rows])),
    indented(leftAligned(facts)),
    'Try in another terminal:',
    indented(leftAligned(tryNext(directory, regions[0]!.name))),
    ...programFor(config, isTerminal),
    `Ctrl-C stops the cluster; its data stays in ${shown(directory)}.`,
    '',
  ].join('\n');
}

/** Below Strong the write region alone acknowledges, and there is nothing to choose for one region. */
function durabilityFacts(
  { consistency, minimumDurability }: ClusterConfig['account'],
  regions: number,
): string[][] {
  if (consistency !== 'Strong' || regions === 1) return [];
  const least = `acknowledged when every reachable region has stored them, and at least ${minimumDurability} of ${regions}`;
  return [['writes', minimumDurability < 2 ? `${least}: one may fail` : least]];
}

/** Acceptor processes have consecutive ports and share a line; each store has a line of its own. */
function acceptorFacts(acceptors: ClusterConfig['acceptors']): string[][] {
  const services = acceptors.filter(({ store }) => store === undefined);
  const [first, last] = [services[0], services.at(-1)];
  const stores = acceptors.filter(({ store }) => store !== undefined);
  return [
    ...(first && last ? [['acceptors', `${first.name} .. ${last.name}: ${first.url} .. ${last.url}`]] : []),
    ...stores.map(({ name, url }, at) => [at === 0 ? 'stores' : '', `${name}: ${url}`]),
  ];
}

/** Commands, each with what it does. */
function tryNext(directory: string, region: string): string[][] {
  const program = programName();
  const isDefault = directory === dataDirectory(undefined);
  const [data, cluster] = isDefault
    ? ['', '']
    : [` --data ${shown(directory)}`, ` --cluster ${shown(directory)}`];
  return [
    [`${program} list${cluster}`, 'show every partition-set and its write region'],
    [`${program} chaos kill ${region}${data}`, `kill region ${region} and watch the failover here`],
    [`${program} chaos heal${data}`, 'bring it back'],
  ];
}

function filesOf(secrets: ClusterConfig['tokens'] | ClusterConfig['keys']): [string, string][] {
  return Object.entries(secrets).flatMap(([name, source]): [string, string][] =>
    source.kind === 'file' ? [[name, source.file]] : [],
  );
}

/** What programs and people show at the ports of nodes. */
function tokenFacts({ tokens }: ClusterConfig): string[][] {
  const files = new Map(filesOf(tokens));
  const named = (['client', 'operator', 'viewer'] as const).flatMap((name) => files.get(name) ?? []);
  return named.length === 0 ? [] : [['tokens', named.map(shown).join(', ')]];
}

function operatorFile({ tokens, path }: ClusterConfig): string {
  const file = new Map(filesOf(tokens)).get('operator');
  return file === undefined ? `tokens.operator of ${shown(path)}` : shown(file);
}

function withoutToken(page: string): string {
  return page.replace(/#.*/, '');
}

function doorOf(config: ClusterConfig, region: string | undefined): string {
  const door = config.gateways.find((gateway) => gateway.region === region);
  return door === undefined ? '' : endpointOf(config, door);
}

function doorFacts(config: ClusterConfig): string[][] {
  if (config.gateways.length === 0) return [];
  const [first] = filesOf(config.keys);
  return [
    ['global endpoint', doorOf(config, undefined)],
    ...(first ? [['account key', shown(first[1])]] : []),
    ...(config.tls ? [['certificates', `NODE_EXTRA_CA_CERTS=${shown(config.tls.ca)}`]] : []),
  ];
}

/** A first program with the public Azure Cosmos DB client. */
function programFor(config: ClusterConfig, isTerminal: boolean): string[] {
  const door = doorOf(config, undefined);
  const [file] = filesOf(config.keys).flatMap(([name, path]) => (name === 'primary' ? [path] : []));
  if (door === '' || file === undefined) return [];
  const key = isTerminal
    ? `'${readFileSync(file, 'utf8').trim()}'`
    : `readFileSync('${shown(file)}', 'utf8').trim()`;
  const { name } = config.containers[0]!;
  return [
    'Or use it from a program (npm install @azure/cosmos):',
    ...(isTerminal ? [] : ["  import { readFileSync } from 'node:fs';"]),
    "  import { CosmosClient } from '@azure/cosmos';",
    `  const account = new CosmosClient({ endpoint: '${door}', key: ${key} });`,
    `  await account.database('main').container('${name}').items.upsert({ id: 'hello' });`,
    '',
  ];
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

export function orderText(order: AnyOrder): string {
  if (order.action === 'load') return `load ${order.on ? 'on' : 'off'}`;
  const { action, targets = [], from, direction } = order;
  const words = [action, targets.join(', ') || 'everything'];
  if (action === 'cut') {
    if (from !== undefined && from !== 'all') words.push(`from ${from}`);
    if (direction !== undefined && direction !== 'both') words.push(`(${direction})`);
  }
  return words.join(' ');
}

export function obeyedText(order: AnyOrder, { processes, load }: Obeyed): string {
  if (load === undefined) return `${orderText(order)}: ${processes.join(', ') || 'nothing to do'}`;
  if (load.on) return `${orderText(order)}: ${load.perSecond} writes per second`;
  return `${orderText(order)}: ${load.acknowledged} writes acknowledged, ${load.failed} failed`;
}

export function moveText({ partitionSets, from, to, cause }: Moved): string {
  const sorted = partitionSets.toSorted();
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  const some = sorted.length > MOST_NAMED ? `${first}, ..., ${last}` : sorted.join(', ');
  const what = sorted.length === 1 ? first : `${sorted.length} partition-sets (${some})`;
  const why = cause === undefined ? '' : ` (${CAUSES[cause](from ?? 'the write region', to)})`;
  return `${what}: ${from ?? 'no region'} -> ${to}${why}`;
}

const MOST_NAMED = 3;

const CAUSES: Readonly<Record<MoveCause, (from: string, to: string) => string>> = {
  silence: (from) => `the lease of ${from} expired`,
  unable: (from) => `${from} could not commit writes`,
  stop: (from) => `${from} was stopped`,
  signal: () => 'a health signal requested it',
  forced: () => 'an operator forced it',
  operator: () => 'an operator requested it',
  planned: (_, to) => `${to} has a higher priority`,
};

/** What an operator asks of the nodes is no consequence of what was done to processes. */
export function mayFollowFault({ cause }: Moved): boolean {
  return cause !== 'operator' && cause !== 'forced';
}
