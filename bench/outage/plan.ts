/** What `npm run bench:outage` was asked for. */
import { CONSISTENCY_LEVELS, type Consistency, PROFILES } from 'baton/failover';
import { OUTAGE_KIND_NAMES, type OutageKind } from 'baton/sim';
import { amount, count, FlagError, oneOf, text, toggle, type Values } from '../support/flags.ts';

export const REGIONS = ['west', 'east', 'north'] as const;
export const HOME = REGIONS[0];

/** Those of `baton sim outage` that processes can be put through here. */
export const KINDS = [
  'region',
  'node',
  'partitions',
  'partition',
  'one-way',
  'no-acceptors',
  'no-regions',
  'acceptors-minority',
  'acceptors-majority',
  'cascade',
] as const satisfies readonly OutageKind[];

export type RealKind = (typeof KINDS)[number];

/** Links are cut between network namespaces, which only root may make. */
export const CUT_KINDS: readonly RealKind[] = ['partition', 'one-way', 'no-acceptors', 'no-regions'];

export interface Goals {
  readonly halfMs: number;
  readonly allMs: number;
}

export interface OutagePlan {
  readonly partitionSets: number;
  readonly profile: keyof typeof PROFILES;
  readonly consistency: Consistency;
  readonly outages: number;
  readonly minutes: number;
  readonly calmMinutes: number;
  readonly kind: RealKind;
  readonly nodesPerRegion: number;
  readonly acceptors: number;
  readonly writeEveryMs: number;
  /**
   * The clients come when everything has been at home for a third of that; they begin one after the other in the first third of it,
   * and the calm is measured in the last.
   */
  readonly warmSeconds: number;
  readonly simulate: boolean;
  readonly findLimit: boolean;
  readonly charts: string | undefined;
}

/** What DESIGN's figures ask of a region's death. */
export const GOALS: Readonly<Record<OutagePlan['profile'], Goals>> = {
  paper: { halfMs: 40_000, allMs: 60_000 },
  fast: { halfMs: 4000, allMs: 6000 },
};

const MOST_ACCEPTORS = 7;

const DEFAULTS = {
  paper: { partitionSets: 4300, minutes: 3, calmMinutes: 6, writeEveryMs: 10_000, warmSeconds: 60 },
  fast: { partitionSets: 1000, minutes: 0.5, calmMinutes: 4, writeEveryMs: 2000, warmSeconds: 90 },
} as const;

const { paper, fast } = DEFAULTS;
const KIND = oneOf(KINDS, 'kind of outage', 'region');

export const FLAGS = {
  profile: oneOf(
    Object.keys(PROFILES) as (keyof typeof PROFILES)[],
    'timing profile of the cluster',
    'paper',
  ),
  partitionSets: count(
    `partition-sets (default: ${paper.partitionSets}, in the fast profile ${fast.partitionSets})`,
    undefined,
  ),
  outages: count('outages, one after the other (default: 3, with --find-limit 1)', undefined),
  minutes: amount(
    `minutes that each outage lasts (default: ${paper.minutes}, in the fast profile ${fast.minutes})`,
    undefined,
  ),
  calmMinutes: amount(
    `minutes between two outages and after the last (default: ${paper.calmMinutes}, in the fast profile ${fast.calmMinutes})`,
    undefined,
  ),
  kind: { ...KIND, read: realKind },
  consistency: oneOf(CONSISTENCY_LEVELS, 'consistency level', 'Strong'),
  nodesPerRegion: count('nodes of a region (default: 1; for the kind node 4, for partitions 10)', undefined),
  acceptors: { ...count(`acceptors, an odd number up to ${MOST_ACCEPTORS}`, 7), read: oddAcceptors },
  writeEveryMs: count(
    `milliseconds between two writes of a client in each partition-set (default: ${paper.writeEveryMs}, in the fast profile ${fast.writeEveryMs})`,
    undefined,
  ),
  warmSeconds: amount(
    `seconds that clients write before the first outage (default: ${paper.warmSeconds}, in the fast profile ${fast.warmSeconds})`,
    undefined,
  ),
  noSimulation: toggle('do not play the same outages in the simulator'),
  findLimit: toggle('raise --partition-sets until they do not recover in time'),
  charts: text(
    'DIRECTORY',
    'write figure-6.svg, figure-7.svg, figure-8.svg and failback.svg there',
    undefined,
  ),
};

export function planOf(flags: Values<typeof FLAGS>): OutagePlan {
  const { profile, kind, findLimit } = flags;
  const defaults = DEFAULTS[profile];
  const usualNodes = kind === 'node' ? 4 : kind === 'partitions' ? 10 : 1;
  return {
    partitionSets: flags.partitionSets ?? defaults.partitionSets,
    profile,
    consistency: flags.consistency,
    outages: flags.outages ?? (findLimit ? 1 : 3),
    minutes: flags.minutes ?? defaults.minutes,
    calmMinutes: flags.calmMinutes ?? defaults.calmMinutes,
    kind,
    nodesPerRegion: flags.nodesPerRegion ?? usualNodes,
    acceptors: flags.acceptors,
    writeEveryMs: flags.writeEveryMs ?? defaults.writeEveryMs,
    warmSeconds: flags.warmSeconds ?? defaults.warmSeconds,
    simulate: !flags.noSimulation,
    findLimit,
    charts: flags.charts,
  };
}

function realKind(typed: string, flag: string): RealKind {
  const isSimulated = OUTAGE_KIND_NAMES.some((name) => name === typed);
  if (isSimulated && !KINDS.some((name) => name === typed))
    throw new FlagError(`${flag} ${typed} exists only in the simulator: baton sim outage --kind ${typed}.`);
  const kind = KIND.read(typed, flag);
  if (CUT_KINDS.includes(kind) && process.getuid?.() !== 0)
    throw new FlagError(
      `${flag} ${kind} cuts links between network namespaces: run it as root.`,
      'ROOT_REQUIRED',
    );
  return kind;
}

function oddAcceptors(typed: string, flag: string): number {
  const acceptors = Number(typed);
  if (acceptors % 2 === 1 && acceptors > 0 && acceptors <= MOST_ACCEPTORS) return acceptors;
  throw new FlagError(`${flag} needs an odd number from 1 to ${MOST_ACCEPTORS}, not "${typed}".`);
}
