/** What `npm run bench:outage` was asked for; what makes no sense gets one clear line. */
import { parseArgs } from 'node:util';
import { CONSISTENCY_LEVELS, type Consistency, PROFILES } from 'baton/failover';
import { OUTAGE_KIND_NAMES, type OutageKind } from 'baton/sim';

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
  readonly json: boolean;
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

export const HELP = `npm run bench:outage [-- OPTIONS]

  --partition-sets N     4300 in the paper profile, 1000 in the fast one
  --profile NAME         ${Object.keys(PROFILES).join(' or ')}; paper
  --outages N            one after the other; 3
  --minutes M            how long each lasts; 3 or 0.5
  --calm-minutes M       between two, and after the last; 6 or 4
  --kind KIND            ${KINDS.join(', ')}; region
  --consistency LEVEL    ${CONSISTENCY_LEVELS.join(', ')}; Strong
  --nodes-per-region N   1; 4 for the kind node, 10 for the kind partitions
  --acceptors N          7
  --write-every-ms N     how often a client writes in each partition-set; 10000 or 2000
  --warm-seconds N       how long clients write before the first outage; 60 or 90
  --no-simulation        without the same run in the simulator
  --find-limit           go up from --partition-sets until they do not recover in time
  --charts DIRECTORY     write figure-6.svg, figure-7.svg, figure-8.svg and failback.svg there
  --json
`;

export function readPlan(args: readonly string[]): OutagePlan | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'partition-sets': { type: 'string' },
      profile: { type: 'string', default: 'paper' },
      outages: { type: 'string' },
      minutes: { type: 'string' },
      'calm-minutes': { type: 'string' },
      kind: { type: 'string', default: 'region' },
      consistency: { type: 'string', default: 'Strong' },
      'nodes-per-region': { type: 'string' },
      acceptors: { type: 'string', default: '7' },
      'write-every-ms': { type: 'string' },
      'warm-seconds': { type: 'string' },
      'no-simulation': { type: 'boolean', default: false },
      'find-limit': { type: 'boolean', default: false },
      charts: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const profile = oneOf(values.profile, Object.keys(PROFILES) as (keyof typeof PROFILES)[], 'profile');
  const kind = oneOf(values.kind, OUTAGE_KIND_NAMES, 'kind');
  const known = KINDS.find((one) => one === kind);
  if (known === undefined)
    throw new Error(`The kind ${kind} is for the simulator: baton sim outage --kind ${kind}`);
  if (CUT_KINDS.includes(known) && process.getuid?.() !== 0)
    throw new Error(`The kind ${kind} cuts links between network namespaces, which needs root.`);
  const defaults = DEFAULTS[profile];
  const usualNodes = known === 'node' ? 4 : known === 'partitions' ? 10 : 1;
  return {
    partitionSets: number(values['partition-sets'], defaults.partitionSets, '--partition-sets'),
    profile,
    consistency: oneOf(values.consistency, CONSISTENCY_LEVELS, 'consistency level'),
    outages: number(values.outages, values['find-limit'] ? 1 : 3, '--outages'),
    minutes: number(values.minutes, defaults.minutes, '--minutes'),
    calmMinutes: number(values['calm-minutes'], defaults.calmMinutes, '--calm-minutes'),
    kind: known,
    nodesPerRegion: number(values['nodes-per-region'], usualNodes, '--nodes-per-region'),
    acceptors: readAcceptors(values.acceptors),
    writeEveryMs: number(values['write-every-ms'], defaults.writeEveryMs, '--write-every-ms'),
    warmSeconds: number(values['warm-seconds'], defaults.warmSeconds, '--warm-seconds'),
    simulate: !values['no-simulation'],
    findLimit: values['find-limit'],
    charts: values.charts,
    json: values.json,
  };
}

function readAcceptors(text: string): number {
  const acceptors = Number(text);
  if (acceptors % 2 === 1 && acceptors <= MOST_ACCEPTORS) return acceptors;
  throw new Error(`--acceptors needs an odd number up to ${MOST_ACCEPTORS}, not "${text}".`);
}

function number(text: string | undefined, otherwise: number, flag: string): number {
  const value = text === undefined ? otherwise : Number(text);
  if (value > 0) return value;
  throw new Error(`${flag} needs a number above 0, not "${text}".`);
}

function oneOf<T extends string>(name: string, names: readonly T[], what: string): T {
  const found = names.find((candidate) => candidate === name);
  if (found !== undefined) return found;
  throw new Error(`There is no ${what} "${name}"; there are ${names.join(', ')}.`);
}
