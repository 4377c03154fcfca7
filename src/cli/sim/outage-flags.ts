/** From the flags of `baton sim outage` to the experiment; what makes no sense gets one clear line. */
import { MAX_ACCEPTORS } from '../../caspaxos/index.ts';
import { CONSISTENCY_LEVELS, type Consistency, PROFILES } from '../../failover/index.ts';
import {
  AZURE_REGIONS,
  azureRegion,
  OUTAGE_KIND_NAMES,
  type OutageCase,
  type OutageKind,
} from '../../sim/index.ts';
import { UsageError } from '../errors.ts';
import { positiveInteger } from '../flags.ts';

export interface OutageFlags {
  readonly partitionSets: string;
  readonly regions: string;
  readonly acceptors: string;
  readonly outages: string;
  readonly minutes: string;
  readonly profile: string;
  readonly hints: string;
  readonly kind: string;
  readonly consistency: string;
  readonly minDurability: string;
  readonly seed: string;
  readonly workers?: string;
  readonly charts?: string;
  readonly json: boolean;
}

export interface OutageRequest {
  readonly outageCase: OutageCase;
  readonly partitionSets: number;
  readonly workers: number | undefined;
}

export const PROFILE_NAMES = Object.keys(PROFILES) as readonly (keyof typeof PROFILES)[];

/** Chance begins with 32 bits. */
const HIGHEST_SEED = 2 ** 32 - 1;
const LONGEST_MINUTES = 24 * 60;
const MOST_OUTAGES = 100;

export function readOutageRequest(flags: OutageFlags): OutageRequest {
  const regions = readPlaces(flags.regions, '--regions');
  if (regions.length < 2)
    throw new UsageError('--regions needs at least two: a writer, and one to take over.');
  const acceptors = readPlaces(flags.acceptors, '--acceptors');
  if (acceptors.length % 2 === 0)
    throw new UsageError(`--acceptors needs an odd number of regions, not ${acceptors.length}.`);
  if (acceptors.length > MAX_ACCEPTORS) throw new UsageError(`--acceptors needs at most ${MAX_ACCEPTORS}.`);
  return {
    partitionSets: positiveInteger(flags.partitionSets, '--partition-sets'),
    workers: flags.workers === undefined ? undefined : positiveInteger(flags.workers, '--workers'),
    outageCase: {
      regions,
      regionNames: regions.map((place) => AZURE_REGIONS[place]!),
      acceptors,
      outages: atMost(flags.outages, '--outages', MOST_OUTAGES),
      minutes: atMost(flags.minutes, '--minutes', LONGEST_MINUTES),
      profile: oneOf(flags.profile, PROFILE_NAMES, 'profile'),
      hints: readHints(flags.hints),
      kind: oneOf<OutageKind>(flags.kind, OUTAGE_KIND_NAMES, 'kind of outage'),
      consistency: oneOf<Consistency>(flags.consistency, CONSISTENCY_LEVELS, 'consistency level'),
      minDurability: readMinDurability(flags.minDurability, regions.length),
      seed: readSeed(flags.seed),
    },
  };
}

function readPlaces(list: string, flag: string): readonly number[] {
  const places = list.split(',').map((name) => {
    const place = azureRegion(name);
    if (place !== undefined) return place;
    throw new UsageError(`${flag}: the Azure matrix has no region "${name.trim()}"${similar(name)}.`);
  });
  const twice = places.find((place, at) => places.indexOf(place) !== at);
  if (twice !== undefined) throw new UsageError(`${flag} names ${AZURE_REGIONS[twice]} twice.`);
  return places;
}

/** Regions that share a word with what was asked for. */
function similar(name: string): string {
  const words = name.toLowerCase().split(' ').filter(Boolean);
  const known = AZURE_REGIONS.filter((region) =>
    words.some((word) => region.toLowerCase().split(' ').includes(word)),
  );
  return known.length === 0 ? '' : `; there are ${known.join(', ')}`;
}

function readHints(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new UsageError(`--hints is on or off, not "${text}".`);
}

function readMinDurability(text: string, regions: number): number {
  const minDurability = positiveInteger(text, '--min-durability');
  if (minDurability <= regions) return minDurability;
  throw new UsageError(
    `--min-durability needs at most the ${regions} regions there are, not ${minDurability}.`,
  );
}

function atMost(text: string, flag: string, most: number): number {
  const value = positiveInteger(text, flag);
  if (value <= most) return value;
  throw new UsageError(`${flag} needs at most ${most}, not ${value}.`);
}

function oneOf<T extends string>(name: string, names: readonly T[], what: string): T {
  const known = names.find((candidate) => candidate === name);
  if (known !== undefined) return known;
  throw new UsageError(`There is no ${what} "${name}"; there are ${names.join(', ')}.`);
}

function readSeed(text: string): number {
  const seed = positiveInteger(text, '--seed');
  if (seed > HIGHEST_SEED) throw new UsageError(`There is no seed above ${HIGHEST_SEED}.`);
  return seed;
}
