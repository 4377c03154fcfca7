/** What a cluster file says once it was found good: every default filled in, addresses read, paths absolute. */
import { dirname, resolve } from 'node:path';
import { type Consistency, PROFILES, type Timings, usualMinDurability } from '../../failover/core/index.ts';
import type { TrimPolicy } from '../../engine/index.ts';
import { withLocalFiles } from '../../caspaxos/index.ts';
import type { Address } from '../../transport/index.ts';
import type { Position, Problem } from './problems.ts';
import {
  type ClusterFile,
  DEFAULT_PARTITION_SETS,
  DEFAULT_ZONE,
  KEY_NAMES,
  type LOG_LEVELS,
  TOKEN_NAMES,
} from './schema.ts';
import { type KeySources, Secret, type TokenSource, type TokenSources } from './secrets.ts';
import { readAcceptorUrl, readAddress } from './values.ts';

export interface NodeConfig {
  readonly name: string;
  readonly listen: Address;
  /** Where others reach it. */
  readonly address: Address;
  readonly http?: Address;
  readonly data: string;
}

export interface RegionConfig {
  readonly name: string;
  readonly nodes: readonly NodeConfig[];
}

export interface AcceptorConfig {
  readonly name: string;
  /** As people and the members of a set know it: never with a user, nor with files of this machine. */
  readonly url: string;
  /** For one that `baton acceptor` starts. */
  readonly serve?: { readonly listen: Address; readonly data: string; readonly secure: boolean };
  readonly store?: StoreConfig;
}

/** How a store on somebody's server is opened. */
export interface StoreConfig {
  /** All but the password. */
  readonly url: string;
  readonly password?: TokenSource;
}

export interface GatewayConfig {
  readonly name: string;
  /** None: the global endpoint. */
  readonly region?: string;
  readonly listen: Address;
  /** Where clients reach it. */
  readonly address: Address;
  /** Health and metrics. */
  readonly http?: Address;
}

export interface ContainerConfig {
  readonly name: string;
  /** More than one make a hierarchical key. */
  readonly partitionKey: readonly string[];
  readonly partitionSets: number;
}

export interface AccountConfig {
  readonly name: string;
  readonly consistency: Consistency;
  readonly staleness?: { readonly versions: number; readonly ms: number };
  readonly minimumDurability: number;
}

export interface LimitsConfig {
  readonly logMs: number;
  readonly logBytes: number;
  readonly logHardBytes?: number;
  readonly inFlight: number;
  readonly inFlightBytes: number;
}

/** Paths; `{name}` in them stands for whoever reads them (`tlsFilesOf`). */
export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export type LogLevel = (typeof LOG_LEVELS)[number];

export interface ClusterConfig {
  readonly path: string;
  readonly cluster: string;
  readonly account: AccountConfig;
  readonly profile: keyof typeof PROFILES | Timings;
  /** In order of priority. */
  readonly regions: readonly RegionConfig[];
  readonly acceptors: readonly AcceptorConfig[];
  readonly containers: readonly ContainerConfig[];
  readonly gateways: readonly GatewayConfig[];
  readonly dns?: { readonly listen: Address; readonly zone: string };
  readonly tls?: TlsFiles;
  readonly tokens: TokenSources;
  /** What HTTP clients sign with. */
  readonly keys: KeySources;
  readonly limits: LimitsConfig;
  readonly log: { readonly level: LogLevel };
  /** Allowed, and probably not meant. */
  readonly warnings: readonly Problem[];
}

export const DEFAULT_LIMITS: LimitsConfig = {
  logMs: 24 * 3_600_000,
  logBytes: 256 * 1024 * 1024,
  inFlight: 2048,
  inFlightBytes: 64 * 1024 * 1024,
};

export function timingsOf({ profile }: ClusterConfig): Timings {
  return typeof profile === 'string' ? PROFILES[profile] : profile;
}

export function trimPolicyOf({ limits }: ClusterConfig): TrimPolicy {
  return { keepMs: limits.logMs, keepBytes: limits.logBytes, hardBytes: limits.logHardBytes ?? Infinity };
}

interface BuildContext {
  readonly path: string;
  readonly warnings: readonly Problem[];
  readonly positionOf: (steps: readonly PropertyKey[]) => Position;
}

/** `file` has been found good: what is read here can be read. */
export function buildConfig(file: ClusterFile, { path, warnings, positionOf }: BuildContext): ClusterConfig {
  const absolute = resolve(path);
  const at = (relative: string): string => resolve(dirname(absolute), relative);
  const { cluster, account = {}, profile = 'fast', containers = [{ name: 'items' }], dns, tls } = file;
  return {
    path: absolute,
    cluster,
    account: {
      name: account.name ?? cluster,
      consistency: account.consistency ?? 'Strong',
      ...(account.staleness && { staleness: account.staleness }),
      minimumDurability: account.minimumDurability ?? usualMinDurability(file.regions.length),
    },
    profile,
    regions: file.regions.map(({ name, nodes }) => ({
      name,
      nodes: nodes.map((node) => buildNode(node, at)),
    })),
    acceptors: file.acceptors.map((acceptor, index) =>
      buildAcceptor(acceptor, at, positionOf(['acceptors', index, 'password'])),
    ),
    containers: containers.map(({ name, partitionKey = '/id', partitionSets = DEFAULT_PARTITION_SETS }) => ({
      name,
      partitionKey: typeof partitionKey === 'string' ? [partitionKey] : partitionKey,
      partitionSets,
    })),
    gateways: (file.gateways ?? []).map(buildGateway),
    ...(dns && { dns: { listen: addressIn(dns.listen), zone: dns.zone ?? DEFAULT_ZONE } }),
    ...(tls && { tls: { ca: at(tls.ca), cert: at(tls.cert), key: at(tls.key) } }),
    tokens: sourcesOf(TOKEN_NAMES, file.tokens ?? {}, at, (name) => positionOf(['tokens', name])),
    keys: sourcesOf(KEY_NAMES, file.keys ?? {}, at, (name) => positionOf(['keys', name])),
    limits: { ...DEFAULT_LIMITS, ...withoutUndefined(file.limits ?? {}) },
    log: { level: file.log?.level ?? 'info' },
    warnings,
  };
}

function buildNode(
  { name, listen, address, http, data }: ClusterFile['regions'][number]['nodes'][number],
  at: (path: string) => string,
): NodeConfig {
  return {
    name,
    listen: addressIn(listen),
    address: addressIn(address ?? listen),
    ...(http !== undefined && { http: addressIn(http) }),
    data: at(data ?? name),
  };
}

function buildAcceptor(
  { name, url, password, data, listen }: ClusterFile['acceptors'][number],
  at: (path: string) => string,
  position: Position,
): AcceptorConfig {
  const read = readAcceptorUrl(url);
  if ('wrong' in read) throw new TypeError(read.wrong);
  if (read.value.kind === 'store') {
    const source = password === undefined ? undefined : sourceOf(password, at, position);
    const store = { url: withLocalFiles(url, at), ...(source && { password: source }) };
    return { name, url: read.value.store.place, store };
  }
  if (read.value.kind !== 'service') {
    const { kind, rest } = read.value;
    return { name, url: `${kind}:${kind === 'lmdb' ? at(rest) : rest}` };
  }
  const { address, secure } = read.value;
  const serve = data !== undefined && {
    listen: listen === undefined ? address : addressIn(listen),
    data: at(data),
    secure,
  };
  return { name, url: read.value.url, ...(serve && { serve }) };
}

function buildGateway({
  name,
  region,
  listen,
  address,
  http,
}: NonNullable<ClusterFile['gateways']>[number]): GatewayConfig {
  return {
    name,
    ...(region !== undefined && { region }),
    listen: addressIn(listen),
    address: addressIn(address ?? listen),
    ...(http !== undefined && { http: addressIn(http) }),
  };
}

type Written = string | { readonly file?: string | undefined; readonly env?: string | undefined };

function sourcesOf<Name extends string>(
  names: readonly Name[],
  written: Readonly<Partial<Record<Name, Written | undefined>>>,
  at: (path: string) => string,
  positionOf: (name: Name) => Position,
): Readonly<Partial<Record<Name, TokenSource>>> {
  const sources: Partial<Record<Name, TokenSource>> = {};
  for (const name of names) {
    const given = written[name];
    const source = given === undefined ? undefined : sourceOf(given, at, positionOf(name));
    if (source !== undefined) sources[name] = source;
  }
  return sources;
}

function sourceOf(
  written: Written,
  at: (path: string) => string,
  position: Position,
): TokenSource | undefined {
  if (typeof written === 'string') return { at: position, kind: 'text', secret: new Secret(written) };
  if (written.file !== undefined) return { at: position, kind: 'file', file: at(written.file) };
  return written.env === undefined ? undefined : { at: position, kind: 'env', env: written.env };
}

function addressIn(text: string): Address {
  const read = readAddress(text);
  if ('wrong' in read) throw new TypeError(read.wrong);
  return read.value;
}

/** Fields that are `undefined` would hide the defaults they are spread over. */
function withoutUndefined<T extends object>(fields: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>;
  };
}
