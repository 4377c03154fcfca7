/** What is wrong with a run: what the checkers of the simulator find, promises in time that were not kept, and too little done. */
import {
  checkRun,
  type ConsistencyFinding,
  type FeedRecord,
  type CopyRecord,
  type RunRecord,
  type ConsistencyLevel,
} from 'baton/check';
import type { Evidence } from './campaign.ts';
import { STALENESS } from './ground.ts';
import { leastFaults, type StoreKind } from './schedule.ts';

/** The nodes' clocks and this process's run at one pace; what remains is the way of an answer. */
const CLOCK_MARGIN_MS = 250;

export interface Violation {
  /** The name of a rule, or `trouble`, `client`, `too little`. */
  readonly rule: string;
  readonly sentence: string;
}

export interface JudgedSet {
  readonly record: RunRecord;
  readonly feed: FeedRecord;
  readonly copies: readonly CopyRecord[];
}

export function judgeSet(level: ConsistencyLevel, { record, feed, copies }: JudgedSet): ConsistencyFinding[] {
  const bound = { versions: STALENESS.versions, ms: STALENESS.ms + CLOCK_MARGIN_MS };
  const bounded = level === 'BoundedStaleness' ? { bound } : {};
  return checkRun(record, { ...bounded, feeds: [feed], copies });
}

export interface Least {
  readonly acknowledged: number;
  readonly faults: number;
  readonly failovers: number;
}

/** Below this a run has shown nothing. */
export function leastOf({ options }: Pick<Evidence, 'options'>): Least {
  const { seconds, partitionSets } = options;
  return {
    acknowledged: Math.round(seconds * partitionSets),
    faults: leastFaults(seconds),
    failovers: partitionSets,
  };
}

export function acknowledgedIn({ recorder }: Pick<Evidence, 'recorder'>): number {
  return recorder.counts.get('write: ok') ?? 0;
}

export function failoversIn({ failovers }: Pick<Evidence, 'failovers'>): number {
  return [...failovers.values()].reduce((sum, count) => sum + count, 0);
}

export interface StoreLosses {
  readonly store: StoreKind;
  readonly killed: number;
  readonly paused: number;
  /** It was to be away, and some node went on working with it. */
  readonly unnoticed: number;
}

export function losses({ options, faults }: Pick<Evidence, 'options' | 'faults'>): readonly StoreLosses[] {
  return options.abilities.stores.map((store) => {
    const ofIt = faults.filter(({ fault }) => fault.loss?.store === store);
    const missed = ofIt.filter(({ isStoreMissed }) => isStoreMissed);
    const killed = missed.filter(({ fault }) => fault.loss?.how === 'kill').length;
    return { store, killed, paused: missed.length - killed, unnoticed: ofIt.length - missed.length };
  });
}

export function judge(evidence: Evidence): Violation[] {
  const { sets, recorder, troubles, faults } = evidence;
  const found = sets.flatMap(({ partitionSet, record, feed, final: { copies } }) =>
    judgeSet(recorder.level, { record, feed, copies }).map(({ rule, sentence }) => ({
      rule,
      sentence: `${partitionSet}: ${sentence}`,
    })),
  );
  const least = leastOf(evidence);
  const counts = {
    acknowledged: acknowledgedIn(evidence),
    faults: faults.length,
    failovers: failoversIn(evidence),
  };
  const unseen = losses(evidence).filter(({ killed, paused }) => killed + paused === 0);
  const few = (Object.keys(least) as (keyof Least)[]).filter((what) => counts[what] < least[what]);
  return [
    ...found,
    ...troubles.map((sentence) => ({ rule: 'trouble', sentence })),
    ...recorder.wrongs.map((sentence) => ({ rule: 'client', sentence })),
    ...few.map((what) => ({
      rule: 'too little',
      sentence: `${what}: ${counts[what]}, and a run needs ${least[what]}.`,
    })),
    ...unseen.map(({ store, unnoticed }) => ({
      rule: 'too little',
      sentence: `${store} was never away${unnoticed === 0 ? '' : `; ${unnoticed} times it was to be, and no node missed it`}.`,
    })),
  ];
}
