/**
 * Which cluster is meant, and where its nodes are. A cluster is named by its file, or by the data directory of `baton up`,
 * which has the file in it: by the flag, by BATON_CLUSTER, by BATON_DATA, or by lying where they usually do.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import {
  type ClusterConfig,
  ConfigError,
  nodesOf,
  partitionSetsOf,
  readClusterFile,
  resolveSecrets,
  tlsFilesOf,
} from '../../server/config/index.ts';
import { OperateError, usage } from './errors.ts';
import type { Credentials, Target } from './http.ts';
import type { Place } from './places.ts';

const FILE_NAME = 'baton.yaml';
const DIRECTORY_NAME = 'baton-data';
/** What `baton up` keeps beside the file. */
const LOCAL_STATE = 'cluster.json';
/** Whose certificate the commands show, where every name has its own. */
const OPERATOR = 'operator';

export interface KnownNode {
  readonly name: string;
  readonly region: string;
  readonly column: number;
  /** Absent: the file gives it no HTTP address. */
  readonly http?: Target;
}

export interface KnownGateway {
  readonly name: string;
  /** None: the global endpoint. */
  readonly region?: string;
  /** Where it tells how it is. */
  readonly http?: Target;
}

export interface FoundCluster {
  /** `baton up` runs it, or did: its processes are started by that one. */
  readonly isLocal: boolean;
  /** What `baton up` and `baton chaos` need to mean this one: nothing, or ` --data DIRECTORY`. */
  readonly dataFlag: string;
  readonly config: ClusterConfig;
  readonly name: string;
  /** In order of priority, as the file has them. */
  readonly regions: readonly string[];
  readonly nodes: readonly KnownNode[];
  readonly gateways: readonly KnownGateway[];
  /** As the account began: the nodes know what was made and deleted since. */
  readonly firstPlaces: ReadonlyMap<string, Place>;
  readonly credentials: Credentials;
}

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export async function findCluster(
  flag: string | undefined,
  surroundings: Surroundings,
): Promise<FoundCluster> {
  try {
    const config = await readClusterFile(fileFor(flag, surroundings));
    return {
      isLocal: existsSync(join(dirname(config.path), LOCAL_STATE)),
      dataFlag: dataFlagFor(dirname(config.path), surroundings),
      config,
      name: config.cluster,
      regions: config.regions.map(({ name }) => name),
      nodes: nodesOf(config).map(({ name, region, column, http, address }) => ({
        name,
        region,
        column,
        ...(http && { http: reachable(http, address) }),
      })),
      gateways: config.gateways.map(({ name, region, http, address }) => ({
        name,
        ...(region !== undefined && { region }),
        ...(http && { http: reachable(http, address) }),
      })),
      firstPlaces: new Map(
        partitionSetsOf(config).map(({ name, container, column }) => [name, { container, column }]),
      ),
      credentials: credentialsFor(config, surroundings),
    };
  } catch (error) {
    if (error instanceof ConfigError) throw usage(error.message);
    throw error;
  }
}

/** For people, as part of a sentence. */
export function starting(
  { isLocal, dataFlag }: Pick<FoundCluster, 'isLocal' | 'dataFlag'>,
  role: string,
  name: string,
): string {
  return isLocal ? `baton chaos heal ${name}${dataFlag}` : `baton ${role} --config FILE --name ${name}`;
}

function dataFlagFor(directory: string, { env, cwd }: Surroundings): string {
  const usual = env['BATON_DATA'] ?? DIRECTORY_NAME;
  return directory === resolve(cwd, usual) ? '' : ` --data ${shownFrom(cwd, directory)}`;
}

export function shownFrom(cwd: string, directory: string): string {
  const inside = relative(cwd, directory);
  return inside.startsWith('..') ? directory : `./${inside}`;
}

function fileFor(flag: string | undefined, { env, cwd }: Surroundings): string {
  const named = [flag, env['BATON_CLUSTER'], env['BATON_DATA']].find(
    (text) => text !== undefined && text !== '',
  );
  if (named !== undefined) {
    const path = resolve(cwd, named);
    return isDirectory(path) ? join(path, FILE_NAME) : path;
  }
  const usual = [join(cwd, DIRECTORY_NAME, FILE_NAME), join(cwd, FILE_NAME)].find(mayBeThere);
  if (usual !== undefined) return usual;
  throw new OperateError(
    'CLUSTER_NOT_FOUND',
    `No cluster found in ./${DIRECTORY_NAME} or ./${FILE_NAME}; start one with \`baton up\`, or name its cluster file or data directory with --cluster.`,
  );
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false; // Reading it says why it cannot be used.
  }
}

/** Also where this user may not look: reading it says so, and no other cluster is taken instead. */
function mayBeThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Who listens everywhere is reached where others reach it. */
function reachable(http: Target, address: Target): Target {
  return { host: WILDCARDS.has(http.host) ? address.host : http.host, port: http.port };
}

function credentialsFor(config: ClusterConfig, { env }: Surroundings): Credentials {
  const { operator } = config.tokens;
  const { operator: token } = resolveSecrets(
    { path: config.path, tokens: operator === undefined ? {} : { operator } },
    { readFile: (path) => readFileSync(path, 'utf8'), env },
  );
  const files = tlsFilesOf(config, OPERATOR);
  return {
    ...(token && { token: token.reveal() }),
    ...(files && { tls: tlsIn(files) }),
  };
}

function tlsIn({ ca, cert, key }: { ca: string; cert: string; key: string }): Credentials['tls'] & object {
  const trusted = read(ca);
  if (trusted === undefined) throw usage(`The certificate of the authority cannot be read: ${ca}.`);
  const [own, secret] = [read(cert), read(key)];
  return { ca: trusted, ...(own !== undefined && secret !== undefined && { cert: own, key: secret }) };
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
