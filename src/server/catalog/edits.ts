/**
 * Changes of the catalogue. Each is a pure function of the catalogue to the next one, or to a refusal with the status that a
 * client is told: 400 for what can never be, 404 for what is not there, 409 for what is there already, 412 for an etag that is
 * not the current one.
 */
import { parsePath } from '../../engine/index.ts';
import { digitsFor } from '../config/checks.ts';
import type { ContainerConfig } from '../config/index.ts';
import { LONGEST_KEY_PATH, LONGEST_NAME } from '../config/values.ts';
import {
  type Catalog,
  type ContainerEntry,
  type DatabaseEntry,
  DEFAULT_DATABASE,
  findContainer,
  findDatabase,
} from './catalog.ts';

export interface Refusal {
  readonly status: 400 | 404 | 409 | 412;
  readonly message: string;
}

export type Edited = { readonly catalog: Catalog } | { readonly refusal: Refusal };

export const MAX_DATABASES = 500;
export const MAX_CONTAINERS = 500;
export const MAX_ACCOUNT_PARTITION_SETS = 10_000;
const LONGEST_ID = 255;
const LONGEST_TTL = 2 ** 31 - 1;
const LEAST_THROUGHPUT = 400;
const MOST_THROUGHPUT = 1_000_000;

export interface NewContainer {
  readonly id: string;
  readonly partitionKey: readonly string[];
  readonly partitionSets: number;
  readonly defaultTtl?: number | undefined;
  readonly throughput?: number | undefined;
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  readonly at: number;
}

export interface ContainerReplacement {
  /** When it is given it must be what it was. */
  readonly partitionKey?: readonly string[] | undefined;
  /** Undefined: time to live is off from now on. */
  readonly defaultTtl: number | undefined;
  readonly extra: Readonly<Record<string, unknown>> | undefined;
  /** The version that it must have. */
  readonly ifMatch?: number | undefined;
}

export function addDatabase(catalog: Catalog, { id, at }: { id: string; at: number }): Edited {
  const wrong = wrongId(id);
  if (wrong !== undefined) return refused(400, wrong);
  if (findDatabase(catalog, id) !== undefined) return refused(409, `There is a database ${id} already.`);
  if (catalog.databases.length >= MAX_DATABASES)
    return refused(400, `An account has at most ${MAX_DATABASES} databases.`);
  const { version, number } = nextOf(catalog);
  const databases = [...catalog.databases, { id, number, at, version }];
  return { catalog: { ...catalog, version, lastNumber: number, databases } };
}

/** Its containers go with it. */
export function dropDatabase(catalog: Catalog, id: string, ifMatch?: number): Edited {
  const database = findDatabase(catalog, id);
  if (database === undefined) return noDatabase(id);
  if (isOther(database, ifMatch)) return otherVersion(`Database ${id}`);
  return {
    catalog: {
      ...catalog,
      version: catalog.version + 1,
      databases: catalog.databases.filter((one) => one !== database),
      containers: catalog.containers.filter((one) => one.database !== database.number),
    },
  };
}

export function addContainer(catalog: Catalog, database: string, container: NewContainer): Edited {
  const into = findDatabase(catalog, database);
  if (into === undefined) return noDatabase(database);
  const { id, partitionKey, partitionSets, defaultTtl, throughput, extra, at } = container;
  const wrong =
    wrongId(id) ??
    wrongPartitionKey(partitionKey) ??
    wrongTtl(defaultTtl) ??
    wrongThroughput(throughput) ??
    wrongPartitionSets(partitionSets);
  if (wrong !== undefined) return refused(400, wrong);
  if (findContainer(catalog, database, id) !== undefined)
    return refused(409, `There is a container ${id} in database ${database} already.`);
  const tooMany = tooManyWith(catalog, partitionSets);
  if (tooMany !== undefined) return refused(400, tooMany);
  const { version, number, prefix } = nextPrefix(catalog, id, partitionSets);
  const entry: ContainerEntry = {
    id,
    database: into.number,
    number,
    at,
    version,
    partitionKey,
    prefix,
    partitionSets,
    firstRange: catalog.lastRange + 1,
    ...(defaultTtl !== undefined && { defaultTtl }),
    ...(throughput !== undefined && { throughput }),
    ...(extra !== undefined && { extra }),
  };
  return { catalog: withContainer(catalog, entry) };
}

export function replaceContainer(
  catalog: Catalog,
  database: string,
  id: string,
  { partitionKey, defaultTtl, extra, ifMatch }: ContainerReplacement,
): Edited {
  return changed(catalog, database, id, ifMatch, (entry) => {
    const isSameKey = partitionKey === undefined || partitionKey.join(',') === entry.partitionKey.join(',');
    const wrong = isSameKey ? wrongTtl(defaultTtl) : 'The partition key of a container cannot change.';
    if (wrong !== undefined) return refused(400, wrong).refusal;
    const { defaultTtl: _, extra: __, ...kept } = entry;
    return {
      ...kept,
      ...(defaultTtl !== undefined && { defaultTtl }),
      ...(extra !== undefined && { extra }),
    };
  });
}

/** Undefined: as much as there is. */
export function setThroughput(
  catalog: Catalog,
  database: string,
  id: string,
  { throughput, ifMatch }: { throughput: number | undefined; ifMatch?: number | undefined },
): Edited {
  return changed(catalog, database, id, ifMatch, (entry) => {
    const wrong = wrongThroughput(throughput);
    if (wrong !== undefined) return refused(400, wrong).refusal;
    const { throughput: _, ...kept } = entry;
    return { ...kept, ...(throughput !== undefined && { throughput }) };
  });
}

export function dropContainer(catalog: Catalog, database: string, id: string, ifMatch?: number): Edited {
  const found = found404(catalog, database, id);
  if ('refusal' in found) return found;
  const { container } = found;
  if (isOther(container, ifMatch)) return otherVersion(`Container ${id}`);
  const containers = catalog.containers.filter((one) => one !== container);
  return { catalog: { ...catalog, version: catalog.version + 1, containers } };
}

/** Containers that the cluster file names and that were never made: whoever adds one to the file finds it after a restart, and one
 * that was dropped does not come back. The same catalogue when there are none. */
export function adoptContainers(
  catalog: Catalog,
  containers: readonly ContainerConfig[],
  at: number,
): Catalog {
  return containers.reduce(
    (next, container) => (next.adopted.includes(container.name) ? next : withAdopted(next, container, at)),
    catalog,
  );
}

function withAdopted(
  catalog: Catalog,
  { name, partitionKey, partitionSets }: ContainerConfig,
  at: number,
): Catalog {
  const version = catalog.version + 1;
  const noted = { ...catalog, version, adopted: [...catalog.adopted, name] };
  if (findContainer(noted, DEFAULT_DATABASE, name) !== undefined) return noted;
  const into = findDatabase(noted, DEFAULT_DATABASE) === undefined ? withMain(noted, at) : noted;
  const isFree = !mayBeTaken(into, name);
  const { number, prefix } = isFree
    ? { number: into.lastNumber + 1, prefix: name }
    : nextPrefix(into, name, partitionSets);
  return withContainer(into, {
    id: name,
    database: findDatabase(into, DEFAULT_DATABASE)!.number,
    number,
    at,
    version,
    partitionKey,
    prefix,
    partitionSets,
    firstRange: into.lastRange + 1,
  });
}

function withMain(catalog: Catalog, at: number): Catalog {
  const number = catalog.lastNumber + 1;
  const main: DatabaseEntry = { id: DEFAULT_DATABASE, number, at, version: catalog.version };
  return { ...catalog, lastNumber: number, databases: [...catalog.databases, main] };
}

function withContainer(catalog: Catalog, entry: ContainerEntry): Catalog {
  return {
    ...catalog,
    version: entry.version,
    lastNumber: entry.number,
    lastRange: catalog.lastRange + entry.partitionSets,
    containers: [...catalog.containers, entry],
  };
}

function changed(
  catalog: Catalog,
  database: string,
  id: string,
  ifMatch: number | undefined,
  edit: (entry: ContainerEntry) => ContainerEntry | Refusal,
): Edited {
  const found = found404(catalog, database, id);
  if ('refusal' in found) return found;
  const { container } = found;
  if (isOther(container, ifMatch)) return otherVersion(`Container ${id}`);
  const edited = edit(container);
  if ('status' in edited) return { refusal: edited };
  const version = catalog.version + 1;
  const containers = catalog.containers.map((one) => (one === container ? { ...edited, version } : one));
  return { catalog: { ...catalog, version, containers } };
}

function found404(
  catalog: Catalog,
  database: string,
  id: string,
): { readonly container: ContainerEntry } | { readonly refusal: Refusal } {
  if (findDatabase(catalog, database) === undefined) return noDatabase(database);
  const container = findContainer(catalog, database, id);
  return container === undefined
    ? refused(404, `There is no container ${id} in database ${database}.`)
    : { container };
}

function nextOf({ version, lastNumber }: Catalog): { version: number; number: number } {
  return { version: version + 1, number: lastNumber + 1 };
}

/** A prefix that no partition-set ever had: it ends with the container's number, and is not one of those from the file. */
function nextPrefix(
  catalog: Catalog,
  id: string,
  partitionSets: number,
): { version: number; number: number; prefix: string } {
  const { version, number: first } = nextOf(catalog);
  for (let number = first; ; number += 1) {
    const prefix = prefixFor(id, number, partitionSets);
    if (!catalog.adopted.includes(prefix)) return { version, number, prefix };
  }
}

function prefixFor(id: string, number: number, partitionSets: number): string {
  const room = LONGEST_NAME - `-${number}-`.length - digitsFor(partitionSets);
  const slug = id
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, room)
    .replace(/-$/, '');
  return `${slug === '' ? 'c' : slug}-${number}`;
}

/** Whether a container made by a client may have had the prefix. */
function mayBeTaken({ lastNumber }: Catalog, prefix: string): boolean {
  const [, number] = /-(\d+)$/.exec(prefix) ?? [];
  return number !== undefined && Number(number) <= lastNumber + 1;
}

function tooManyWith({ containers }: Catalog, partitionSets: number): string | undefined {
  if (containers.length >= MAX_CONTAINERS) return `An account has at most ${MAX_CONTAINERS} containers.`;
  const sets = containers.reduce((sum, one) => sum + one.partitionSets, partitionSets);
  if (sets <= MAX_ACCOUNT_PARTITION_SETS) return undefined;
  return `An account has at most ${MAX_ACCOUNT_PARTITION_SETS} partition-sets; with this container it would have ${sets}.`;
}

function wrongId(id: string): string | undefined {
  if (typeof id !== 'string' || id.length < 1 || id.length > LONGEST_ID)
    return `An id has 1 to ${LONGEST_ID} characters.`;
  if (/[/\\?#]/.test(id)) return 'An id holds none of the characters / \\ ? #.';
  if (/\s$/.test(id)) return 'An id does not end with a blank.';
  return id.isWellFormed() ? undefined : 'An id is well-formed Unicode.';
}

function wrongPartitionKey(paths: readonly string[]): string | undefined {
  const [path, ...more] = paths;
  if (path === undefined) return 'A container needs a partition key path, such as /customer.';
  if (more.length > 0) return 'A container has one partition key path; hierarchical keys are not supported.';
  if (path.length > LONGEST_KEY_PATH)
    return `A partition key path has at most ${LONGEST_KEY_PATH} characters.`;
  return parsePath(path) === undefined ? `${path} is not a path, such as /customer.` : undefined;
}

function wrongTtl(ttl: number | undefined): string | undefined {
  if (ttl === undefined || ttl === -1) return undefined;
  const isGood = Number.isInteger(ttl) && ttl >= 1 && ttl <= LONGEST_TTL;
  return isGood ? undefined : `The default time to live is -1 or 1 to ${LONGEST_TTL} seconds.`;
}

function wrongThroughput(units: number | undefined): string | undefined {
  if (units === undefined) return undefined;
  const isGood = Number.isInteger(units) && units >= LEAST_THROUGHPUT && units <= MOST_THROUGHPUT;
  return isGood
    ? undefined
    : `The throughput is ${LEAST_THROUGHPUT} to ${MOST_THROUGHPUT} request units per second.`;
}

function wrongPartitionSets(count: number): string | undefined {
  const isGood = Number.isInteger(count) && count >= 1;
  return isGood ? undefined : 'A container has at least one partition-set.';
}

function isOther({ version }: { readonly version: number }, ifMatch: number | undefined): boolean {
  return ifMatch !== undefined && ifMatch !== version;
}

function noDatabase(id: string): { readonly refusal: Refusal } {
  return refused(404, `There is no database ${id}.`);
}

function otherVersion(what: string): { readonly refusal: Refusal } {
  return refused(412, `${what} has changed since.`);
}

function refused(status: Refusal['status'], message: string): { readonly refusal: Refusal } {
  return { refusal: { status, message } };
}
