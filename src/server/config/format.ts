/** A configuration as a file for people: in the order of the documentation, with what each part means. Read back, it is the same. */
import { dirname, isAbsolute, relative } from 'node:path';
import { withLocalFiles } from '../../caspaxos/index.ts';
import type { Address } from '../../transport/index.ts';
import type { AcceptorConfig, ClusterConfig, GatewayConfig, NodeConfig } from './cluster-config.ts';
import { fieldAt, KEY_NAMES, TOKEN_NAMES } from './schema.ts';
import type { TokenSource } from './secrets.ts';
import { formatAddress, readAcceptorUrl, REDACTED } from './values.ts';

export interface FormatOptions {
  /** Tokens that stand in the file itself are left out unless this says otherwise. */
  readonly withSecrets?: boolean;
}

type Pairs = readonly (readonly [name: string, value: string | undefined])[];

export function formatClusterFile(
  config: ClusterConfig,
  { withSecrets = false }: FormatOptions = {},
): string {
  const at = (path: string): string => relativeTo(dirname(config.path), path);
  const { account, profile, gateways, dns, tls, tokens, keys, limits } = config;
  const secrets = (
    sources: Readonly<Record<string, TokenSource | undefined>>,
    names: readonly string[],
  ): Pairs => names.map((name) => [name, secretText(sources[name], at, withSecrets)] as const);
  const parts = [
    part('cluster', scalar(config.cluster)),
    block('account', accountPairs(account)),
    part('profile', typeof profile === 'string' ? profile : flow(numbers(profile))),
    part('regions', config.regions.map((region) => regionText(region, at)).join('')),
    part(
      'acceptors',
      config.acceptors.map((acceptor) => `\n  - ${flow(acceptorPairs(acceptor, at, withSecrets))}`).join(''),
    ),
    part(
      'containers',
      config.containers.map((container) => `\n  - ${flow(containerPairs(container))}`).join(''),
    ),
    gateways.length > 0 &&
      part('gateways', gateways.map((gateway) => `\n  - ${flow(gatewayPairs(gateway))}`).join('')),
    dns &&
      block('dns', [
        ['listen', address(dns.listen)],
        ['zone', scalar(dns.zone)],
      ]),
    tls &&
      block('tls', [
        ['ca', scalar(at(tls.ca))],
        ['cert', scalar(at(tls.cert))],
        ['key', scalar(at(tls.key))],
      ]),
    Object.keys(tokens).length > 0 && block('tokens', secrets(tokens, TOKEN_NAMES)),
    Object.keys(keys).length > 0 && block('keys', secrets(keys, KEY_NAMES)),
    block('limits', numbers(limits)),
    block('log', [['level', config.log.level]]),
  ];
  return parts.filter((text) => typeof text === 'string').join('\n');
}

/** One field of the file, under the words that the documentation has for it. */
function part(name: string, value: string): string {
  return `# ${fieldAt(name)!.meaning}\n${name}:${value.startsWith('\n') ? '' : ' '}${value}\n`;
}

function block(name: string, pairs: Pairs): string {
  const lines = pairs.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]));
  const width = Math.max(...lines.map(([key, value]) => key.length + value.length)) + 6;
  const text = lines.map(([key, value]) => {
    const meaning = fieldAt(`${name}.${key}`)?.meaning;
    return `\n${`  ${key}: ${value}`.padEnd(Math.min(width, 40))}${meaning === undefined ? '' : ` # ${meaning}`}`;
  });
  return part(name, text.join(''));
}

function accountPairs({ name, consistency, staleness, minimumDurability }: ClusterConfig['account']): Pairs {
  return [
    ['name', scalar(name)],
    ['consistency', consistency],
    ['staleness', staleness && flow(numbers(staleness))],
    ['minimumDurability', String(minimumDurability)],
  ];
}

function regionText({ name, nodes }: ClusterConfig['regions'][number], at: (path: string) => string): string {
  const lines = nodes.map((node) => `\n      - ${flow(nodePairs(node, at))}`);
  return `\n  - name: ${scalar(name)}\n    nodes:${lines.join('')}`;
}

function nodePairs(node: NodeConfig, at: (path: string) => string): Pairs {
  const [listen, reached] = [address(node.listen), address(node.address)];
  return [
    ['name', scalar(node.name)],
    ['listen', listen],
    ['address', reached === listen ? undefined : reached],
    ['http', node.http && address(node.http)],
    ['data', scalar(at(node.data))],
  ];
}

function gatewayPairs({ name, region, listen, address: reached, http }: GatewayConfig): Pairs {
  const [at, from] = [address(listen), address(reached)];
  return [
    ['name', scalar(name)],
    ['region', region === undefined ? undefined : scalar(region)],
    ['listen', at],
    ['address', from === at ? undefined : from],
    ['http', http && address(http)],
  ];
}

function acceptorPairs(
  { name, url, serve, store }: AcceptorConfig,
  at: (path: string) => string,
  withSecrets: boolean,
): Pairs {
  const path = /^lmdb:(.*)$/s.exec(url)?.[1];
  const local = path === undefined ? url : `lmdb:${at(path)}`;
  return [
    ['name', scalar(name)],
    ['url', scalar(store === undefined ? local : withLocalFiles(store.url, at))],
    ['password', secretText(store?.password, at, withSecrets)],
    ['listen', serve && listenText(url, serve.listen)],
    ['data', serve && scalar(at(serve.data))],
  ];
}

/** Nothing when the URL says the same. */
function listenText(url: string, listen: Address): string | undefined {
  const read = readAcceptorUrl(url);
  const same =
    'value' in read &&
    read.value.kind === 'service' &&
    formatAddress(read.value.address) === formatAddress(listen);
  return same ? undefined : address(listen);
}

function containerPairs({ name, partitionKey, partitionSets }: ClusterConfig['containers'][number]): Pairs {
  const paths = partitionKey.map(scalar);
  return [
    ['name', scalar(name)],
    ['partitionKey', paths.length === 1 ? paths[0] : `[${paths.join(', ')}]`],
    ['partitionSets', String(partitionSets)],
  ];
}

function secretText(
  source: TokenSource | undefined,
  at: (path: string) => string,
  withSecrets: boolean,
): string | undefined {
  switch (source?.kind) {
    case undefined:
      return undefined;
    case 'file':
      return flow([['file', scalar(at(source.file))]]);
    case 'env':
      return flow([['env', scalar(source.env)]]);
    case 'text':
      return JSON.stringify(withSecrets ? source.secret.reveal() : REDACTED);
  }
}

function numbers(fields: object): Pairs {
  return Object.entries(fields).map(
    ([key, value]) => [key, value === undefined ? undefined : String(value)] as const,
  );
}

function flow(pairs: Pairs): string {
  const inner = pairs.flatMap(([key, value]) => (value === undefined ? [] : [`${key}: ${value}`]));
  return `{ ${inner.join(', ')} }`;
}

function address(value: Address): string {
  return scalar(formatAddress(value));
}

/** Plain where YAML would read the same text, in quotation marks otherwise. */
function scalar(text: string): string {
  const plain = /^(?:\.\/|\/)?[a-zA-Z0-9_][a-zA-Z0-9_./-]*(?::[0-9]+)?$/.test(text);
  const word = /[a-zA-Z_]/.test(text) && !/^(?:true|false|null|~|0x.*|0o.*|[\d.]+e[\d]+)$/i.test(text);
  if (plain && (word || /^\d+(?:\.\d+){3}:\d+$/.test(text))) return text;
  if (/^(?:https?):\/\/[a-zA-Z0-9.-]+(?::\d+)?$/.test(text)) return text;
  return JSON.stringify(text);
}

function relativeTo(directory: string, path: string): string {
  const short = relative(directory, path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : `./${short}`;
}
