/**
 * What a local cluster is made of, and what stays the same from run to run. A directory that holds a cluster decides its
 * shape: options that say something else are refused, because data and registers were made for the old shape. Addresses are
 * no part of it: they may be others in every run.
 */
import {
  CONSISTENCY_LEVELS,
  type Consistency,
  type PROFILES,
  usualMinDurability,
} from '../../failover/index.ts';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { DEFAULT_PARTITION_SETS, MAX_ACCEPTORS, MAX_PARTITION_SETS } from '../config/schema.ts';
import { wrongName } from '../config/values.ts';
import { LocalClusterError } from './errors.ts';
import { readStores, storesOf } from './stores.ts';

export type Profile = ClusterConfig['profile'];

export interface ShapeOptions {
  /** How many, or their names in order of priority. */
  readonly regions?: number | readonly string[];
  readonly nodesPerRegion?: number;
  /** Acceptor services: processes of the cluster. Without it: as many as make five with the stores. */
  readonly acceptors?: number;
  /** URLs of stores that are acceptors too, on servers that somebody else runs. They may have passwords. */
  readonly stores?: readonly string[];
  readonly partitionSets?: number;
  readonly profile?: Profile;
  readonly consistency?: Consistency;
  readonly minimumDurability?: number;
}

export interface Shape {
  readonly regions: readonly string[];
  readonly nodesPerRegion: number;
  readonly acceptors: number;
  /** Without credentials. */
  readonly stores: readonly string[];
  readonly partitionSets: number;
  readonly profile: Profile;
  readonly consistency: Consistency;
  readonly minimumDurability: number;
}

const REGION_NAMES = ['west', 'east', 'north', 'south', 'central', 'upper', 'lower', 'inner', 'outer'];
export const MOST_NODES = 50;
export const MOST_ACCEPTORS = MAX_ACCEPTORS;
const MOST_PARTITION_SETS = MAX_PARTITION_SETS;
const USUAL_ACCEPTORS = 5;

export function shapeFor(options: ShapeOptions): Shape {
  const regions = regionNames(options.regions ?? 3);
  const stores = placesOf(options.stores ?? []);
  const shape: Shape = {
    regions,
    nodesPerRegion: options.nodesPerRegion ?? 1,
    acceptors: options.acceptors ?? Math.max(0, USUAL_ACCEPTORS - stores.length),
    stores,
    partitionSets: options.partitionSets ?? DEFAULT_PARTITION_SETS,
    profile: options.profile ?? ('fast' satisfies keyof typeof PROFILES),
    consistency: options.consistency ?? 'Strong',
    minimumDurability: options.minimumDurability ?? usualMinDurability(regions.length),
  };
  demandSane(shape);
  return shape;
}

function placesOf(stores: readonly string[]): readonly string[] {
  return readStores(stores).map(({ place }) => place);
}

export function regionNames(regions: number | readonly string[]): readonly string[] {
  if (typeof regions === 'object') return regions;
  demand(
    Number.isInteger(regions) && regions >= 1 && regions <= REGION_NAMES.length,
    `The number of regions must be from 1 to ${REGION_NAMES.length}, not ${regions}; to have more, give their names.`,
  );
  return REGION_NAMES.slice(0, regions);
}

function demandSane(shape: Shape): void {
  const { regions, nodesPerRegion, acceptors, stores, partitionSets, consistency, minimumDurability } = shape;
  for (const region of regions) {
    const wrong = wrongName(region);
    demand(wrong === undefined, `Region ${wrong}`);
  }
  demand(regions.length > 0, 'A cluster needs at least one region.');
  demand(new Set(regions).size === regions.length, `Region names must be unique: ${regions.join(', ')}.`);
  demandCount('nodes per region', nodesPerRegion, Math.floor(MOST_NODES / regions.length));
  demandCount('acceptors', acceptors + stores.length, MOST_ACCEPTORS);
  if (stores.length === 0 || acceptors !== 0) demandCount('acceptor services', acceptors, MOST_ACCEPTORS);
  demandCount('partition-sets', partitionSets, MOST_PARTITION_SETS);
  demandCount('regions for the minimum durability', minimumDurability, regions.length);
  demand(
    CONSISTENCY_LEVELS.includes(consistency),
    `Unknown consistency level "${consistency}"; choose one of ${CONSISTENCY_LEVELS.join(', ')}.`,
  );
}

function demandCount(what: string, value: number, most: number): void {
  const isGood = Number.isInteger(value) && value >= 1 && value <= most;
  demand(isGood, `The number of ${what} must be from 1 to ${most}, not ${value}.`);
}

function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new LocalClusterError('OPTIONS_INVALID', otherwise);
}

export function shapeOf(config: ClusterConfig): Shape {
  const { regions, acceptors, containers, profile, account } = config;
  const stores = storesOf(config);
  return {
    regions: regions.map(({ name }) => name),
    nodesPerRegion: regions[0]!.nodes.length,
    acceptors: acceptors.length - stores.length,
    stores: stores.map(({ url }) => url),
    partitionSets: containers[0]!.partitionSets,
    profile,
    consistency: account.consistency,
    minimumDurability: account.minimumDurability,
  };
}

const WORDS: Readonly<Record<keyof Shape, string>> = {
  regions: 'regions',
  nodesPerRegion: 'nodes per region',
  acceptors: 'acceptors',
  stores: 'stores',
  partitionSets: 'partition-sets',
  profile: 'profile',
  consistency: 'consistency',
  minimumDurability: 'minimum durability',
};

/** Options that nobody gave agree with everything. */
export function demandSameShape(kept: Shape, options: ShapeOptions, directory: string): void {
  const asked: Partial<Shape> = {
    ...options,
    ...(options.regions !== undefined && { regions: regionNames(options.regions) }),
    ...(options.stores !== undefined && { stores: placesOf(options.stores) }),
  } as Partial<Shape>;
  const differing = (Object.keys(WORDS) as (keyof Shape)[]).filter(
    (name) => asked[name] !== undefined && text(asked[name]) !== text(kept[name]),
  );
  if (differing.length === 0) return;
  const said = differing.map((name) => `${WORDS[name]} ${text(kept[name])}, not ${text(asked[name])}`);
  throw new LocalClusterError(
    'OPTIONS_DIFFER',
    `The cluster in ${directory} has ${said.join('; ')}; choose another directory with --data, or delete this one to start afresh.`,
  );
}

function text(value: unknown): string {
  if (Array.isArray(value)) return value.join(',') || 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
