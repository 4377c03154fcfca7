/**
 * The account's catalogue: which databases and containers there are, and which partition-sets hold each container. All of it is
 * one value, so that a change of it is one compare-and-swap: two that create the same container cannot both succeed, and whoever
 * reads it reads one moment. `edits.ts` has the changes, `placement.ts` what follows from it for nodes and clients, and
 * `catalog-register.ts` the register that it lives in.
 *
 * Numbers, ranges and names of partition-sets are given once and never again, also when what had them is gone: clients keep
 * session tokens by range, nodes keep data by name, and a container that is made anew must not meet what was left of the old one.
 * So the counters only grow, and `adopted` keeps the names that came from the cluster file.
 *
 * A value of a newer schema is refused, not guessed at. Fields that this version does not know are kept by every edit.
 */
import type { ContainerConfig } from '../config/index.ts';
import { CatalogError } from './errors.ts';

export interface DatabaseEntry {
  readonly id: string;
  readonly number: number;
  /** When it was made: milliseconds since 1970. */
  readonly at: number;
  /** The catalogue's version that last changed it: its etag. */
  readonly version: number;
}

export interface ContainerEntry {
  readonly id: string;
  /** The number of its database. */
  readonly database: number;
  readonly number: number;
  readonly at: number;
  readonly version: number;
  /** Paths. */
  readonly partitionKey: readonly string[];
  /** Its partition-sets are PREFIX-00, PREFIX-01 and so on. */
  readonly prefix: string;
  readonly partitionSets: number;
  /** The range of partition-set k has the id `firstRange + k`. */
  readonly firstRange: number;
  /** Seconds; -1: items live for ever unless they say otherwise; absent: time to live is off. */
  readonly defaultTtl?: number;
  /** Request units per second; absent: as many as there are. */
  readonly throughput?: number;
  /** What clients said of it that is kept and given back, and not acted on. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

export interface Catalog {
  readonly schema: 1;
  /** One more with every change. */
  readonly version: number;
  /** When it was made. Nodes tell by it that this is the catalogue they know, and not one that was made anew. */
  readonly since: number;
  /** The last number given to a database or container. */
  readonly lastNumber: number;
  readonly lastRange: number;
  /** How many nodes every region has, as the first node said: where data lie follows from it, so it stays. */
  readonly columns?: number;
  /** Of its last versions, the newest first (`marks.ts`). */
  readonly marks?: readonly string[];
  /** Names of containers in the cluster file that have been made, whether they are still there or not. */
  readonly adopted: readonly string[];
  readonly databases: readonly DatabaseEntry[];
  readonly containers: readonly ContainerEntry[];
}

/** Where the containers of the cluster file are. */
export const DEFAULT_DATABASE = 'main';
export const CATALOG_KEY = 'account/catalog';
const SCHEMA = 1;
/** Of an account: as many as the largest cluster file and all that clients may add. Whoever reads a catalogue makes an object for each. */
const MOST_PARTITION_SETS = 100_000;

/** Of a new account: one database with the file's containers. */
export function firstCatalog(containers: readonly ContainerConfig[], at: number): Catalog {
  const main: DatabaseEntry = { id: DEFAULT_DATABASE, number: 1, at, version: 1 };
  let lastRange = 0;
  const entries = containers.map(({ name, partitionKey, partitionSets }, index): ContainerEntry => {
    const firstRange = lastRange + 1;
    lastRange += partitionSets;
    return {
      id: name,
      database: main.number,
      number: main.number + 1 + index,
      at,
      version: 1,
      partitionKey,
      prefix: name,
      partitionSets,
      firstRange,
    };
  });
  return {
    schema: SCHEMA,
    version: 1,
    since: at,
    lastNumber: main.number + entries.length,
    lastRange,
    adopted: containers.map(({ name }) => name),
    databases: [main],
    containers: entries,
  };
}

export function findDatabase(catalog: Catalog, id: string): DatabaseEntry | undefined {
  return catalog.databases.find((database) => database.id === id);
}

export function findContainer(catalog: Catalog, database: string, id: string): ContainerEntry | undefined {
  const { number } = findDatabase(catalog, database) ?? {};
  return catalog.containers.find((container) => container.database === number && container.id === id);
}

export function containersOf(catalog: Catalog, database: DatabaseEntry): readonly ContainerEntry[] {
  return catalog.containers.filter((container) => container.database === database.number);
}

export function databaseOf(catalog: Catalog, container: ContainerEntry): DatabaseEntry {
  return catalog.databases.find(({ number }) => number === container.database)!;
}

/** What clients call it: `items` in the database `main`, `DATABASE/CONTAINER` elsewhere. No id holds a slash. */
export function sdkNameOf(catalog: Catalog, container: ContainerEntry): string {
  const { id } = databaseOf(catalog, container);
  return id === DEFAULT_DATABASE ? container.id : `${id}/${container.id}`;
}

/** The register's value; undefined: there is none yet. Throws a CatalogError for one that this version cannot use. */
export function parseCatalog(value: unknown): Catalog | undefined {
  if (value === undefined) return undefined;
  const { schema } = isRecord(value) ? value : {};
  if (typeof schema === 'number' && schema > SCHEMA)
    throw new CatalogError(
      'CATALOG_NEWER',
      `The account's catalogue has schema ${schema}; this version reads up to ${SCHEMA}.`,
    );
  if (!isCatalog(value)) throw new CatalogError('CATALOG_DAMAGED', `The account's catalogue is damaged.`);
  return value;
}

type Fields = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCatalog(value: unknown): value is Catalog {
  if (!isRecord(value) || value['schema'] !== SCHEMA) return false;
  const { adopted, databases, containers } = value;
  return (
    areCounts(value, 'version', 'since', 'lastNumber', 'lastRange') &&
    areCounts({ columns: 1, ...value }, 'columns') &&
    areTexts(adopted) &&
    areTexts(value['marks'] ?? []) &&
    Array.isArray(databases) &&
    databases.every(isDatabase) &&
    Array.isArray(containers) &&
    containers.every(isContainer) &&
    containers.every(({ database }) => databases.some(({ number }) => number === database)) &&
    containers.reduce((sum, { partitionSets }) => sum + partitionSets, 0) <= MOST_PARTITION_SETS
  );
}

function isDatabase(value: unknown): value is DatabaseEntry {
  return isRecord(value) && typeof value['id'] === 'string' && areCounts(value, 'number', 'at', 'version');
}

function isContainer(value: unknown): value is ContainerEntry {
  if (!isRecord(value)) return false;
  const { id, prefix, partitionKey, defaultTtl = 0, throughput = 0, extra = {} } = value;
  return (
    areCounts(value, 'database', 'number', 'at', 'version', 'partitionSets', 'firstRange') &&
    value['partitionSets'] !== 0 &&
    typeof id === 'string' &&
    typeof prefix === 'string' &&
    areTexts(partitionKey) &&
    typeof defaultTtl === 'number' &&
    typeof throughput === 'number' &&
    isRecord(extra)
  );
}

function areCounts(fields: Fields, ...names: readonly string[]): boolean {
  return names.every((name) => Number.isSafeInteger(fields[name]) && (fields[name] as number) >= 0);
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
