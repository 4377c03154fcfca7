/** Whether a partition-set is as it should be, and what a region of it is at. Lists and `doctor` judge by the same words. */
import { needsLeaseSet } from '../../failover/index.ts';
import type { PartitionSet } from './merge.ts';
import { isBuilding, type Lag, type PartitionSetView } from './shapes.ts';

export type Severity = 'critical' | 'warning';

export const PROBLEMS = [
  'unseen',
  'no writer',
  'no writes',
  'two writers',
  'too few copies',
  'moving',
  'region down',
  'starting',
  'region building',
  'data lost',
  'outside lease set',
  'behind',
] as const;
export type ProblemKind = (typeof PROBLEMS)[number];

export interface PartitionProblem {
  readonly kind: ProblemKind;
  readonly severity: Severity;
  readonly sentence: string;
  readonly region?: string;
}

export function problemsOf(set: PartitionSet): readonly PartitionProblem[] {
  const { state, starting } = set;
  if (state === undefined) {
    const isStarting = starting.length > 0;
    return [
      critical('unseen', isStarting ? 'No node has seen its state yet.' : 'No node that holds it answers.'),
    ];
  }
  return [
    ...writeProblems(state, set),
    ...Object.keys(state.regions).flatMap((name) => regionProblems(state, name, set)),
  ];
}

function writeProblems(
  { writeRegion, phase, target, leaseSet, configuration, gcn }: PartitionSetView,
  { seen, writers, starting }: PartitionSet,
): PartitionProblem[] {
  const { minDurability, consistency } = configuration;
  const problems: PartitionProblem[] = [];
  if (writers.length > 1) {
    const names = writers.join(' and ');
    problems.push(critical('two writers', `${names} both say that they take writes; look again.`));
  }
  if (writeRegion === null) {
    problems.push(critical('no writer', `There is no write region: GCN ${gcn} waits for an election.`));
  } else if (phase === 'Graceful') {
    const where = target ?? 'another region';
    problems.push({ kind: 'moving', severity: 'warning', sentence: `The writes are moving to ${where}.` });
  } else if (starting.includes(writeRegion)) {
    problems.push(noWrites(writeRegion, `The node of the write region ${writeRegion} is starting.`));
  } else if (seen[writeRegion] === undefined) {
    problems.push(noWrites(writeRegion, `The node of the write region ${writeRegion} does not answer.`));
  } else if (writers.length === 0) {
    problems.push(noWrites(writeRegion, `${writeRegion} is the write region and takes no writes now.`));
  }
  if (needsLeaseSet(consistency) && leaseSet.length < minDurability) {
    const set = leaseSet.join(', ');
    problems.push(
      critical(
        'too few copies',
        `The lease set (${set}) is below the minimum durability of ${minDurability}.`,
      ),
    );
  }
  return problems;
}

function regionProblems(
  state: PartitionSetView,
  name: string,
  { seen: seenBy, starting }: PartitionSet,
): PartitionProblem[] {
  const region = state.regions[name]!;
  const seen = seenBy[name];
  const warning = (kind: ProblemKind, sentence: string): PartitionProblem[] => [
    { kind, severity: 'warning', sentence, region: name },
  ];
  if (starting.includes(name)) return warning('starting', `The node of ${name} is starting.`);
  if (seen === undefined && !region.isLive) return warning('region down', `${name} is down.`);
  if (isBuilding(region) && name === state.writeRegion)
    return [{ ...critical('data lost', `The write region ${name} has lost its data.`), region: name }];
  if (isBuilding(region)) return warning('region building', `${name} is being built.`);
  if (!region.isLive) return warning('region down', `${name} does not report.`);
  if (seen === undefined) return warning('region down', `The node of ${name} does not answer here.`);
  if (seen < state.gcn)
    return warning('behind', `${name} has seen GCN ${seen} only; ${state.gcn} is in force.`);
  const { consistency } = state.configuration;
  if (needsLeaseSet(consistency) && state.phase !== 'Ungraceful' && !state.leaseSet.includes(name)) {
    return warning(
      'outside lease set',
      `${name} is not in the lease set: no strong reads there, no election.`,
    );
  }
  return [];
}

function critical(kind: ProblemKind, sentence: string): PartitionProblem {
  return { kind, severity: 'critical', sentence };
}

function noWrites(region: string, sentence: string): PartitionProblem {
  return { ...critical('no writes', sentence), region };
}

export type RegionCondition = 'running' | 'starting' | 'down' | 'silent' | 'building' | 'behind' | 'unknown';

/** In a word. `silent`: its node answers here, and its reports do not come; or the other way round. */
export function conditionOf({ state, seen, starting }: PartitionSet, name: string): RegionCondition {
  const region = state?.regions[name];
  if (state === undefined || region === undefined) return 'unknown';
  if (starting.includes(name)) return 'starting';
  if (seen[name] === undefined) return region.isLive ? 'silent' : 'down';
  if (isBuilding(region)) return 'building';
  if (seen[name] < state.gcn) return 'behind';
  return region.isLive ? 'running' : 'silent';
}

/** How far a region is behind the writer: as the writer measures it, otherwise from what both say of their logs. */
export function lagOf({ state, local }: PartitionSet, name: string): Lag | undefined {
  const writer = state?.writeRegion;
  if (state === undefined || writer === null || writer === undefined || writer === name) return undefined;
  const measured = local[writer]?.lag?.[name];
  // It does not follow the writer: how far it is nobody knows.
  if (measured === null) return undefined;
  if (measured !== undefined) return measured;
  const head = local[writer]?.progress ?? state.regions[writer]?.progress;
  const own = local[name]?.progress ?? state.regions[name]?.progress;
  if (!head || !own || head.epoch !== own.epoch) return undefined;
  return { entries: Math.max(0, head.lsn - own.lsn) };
}

export function lagText(lag: Lag | undefined): string {
  if (lag === undefined) return '';
  const parts = [lag.entries, lag.ms === undefined ? undefined : `${Math.round(lag.ms)} ms`];
  return parts.filter((part) => part !== undefined).join(', ');
}
