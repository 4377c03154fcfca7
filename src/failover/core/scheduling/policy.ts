/**
 * When a proposer tries again after a refusal, and when it starts its next update (paper 6.2). Proposers that update one
 * register at the same pace duel: each one's phase 1 takes away the other's phase 2. A policy keeps them apart without
 * naming one of them leader.
 *
 *   initial   exponential backoff on a static base; the next update after an interval with random jitter
 *   adaptive  the paper's improved approach: backoff in units of what phase 2 takes here, and time-division multiplexing:
 *             the next update starts one interval after the *start* of the attempt that succeeded, so that whoever had
 *             to yield keeps the slot into which it was pushed
 *   baton     adaptive, with statistics of each proposer's own, ballots that follow the clock, and a ballot given up only
 *             when a quorum has become impossible
 *
 * Pure. The same objects run in the simulator and in the agent.
 */
import { NO_STATISTICS, type PhaseStatistics, typicalLongest } from './statistics.ts';

export interface SchedulingPolicy {
  readonly name: string;
  readonly ballots: 'sequential' | 'hybrid';
  /** When a ballot counts as lost; see the proposer of `caspaxos`. */
  readonly giveUp: 'first refusal' | 'quorum impossible';
  /** Whose phase-2 durations a proposer waits by. */
  readonly statistics: 'none' | 'shared' | 'own';
  /** After attempt number `attempt` (from 1) was refused. `random` in 0 .. 1. */
  nakDelayMs(attempt: number, statistics: PhaseStatistics, random: number): number;
  /** From the end of a successful attempt that took `durationMs` to the start of the next update. */
  nextStartMs(intervalMs: number, durationMs: number, random: number): number;
}

/** Elements of a policy that an ablation can take out one at a time. */
export interface PolicyElements {
  readonly ballots: SchedulingPolicy['ballots'];
  readonly giveUp: SchedulingPolicy['giveUp'];
  readonly statistics: SchedulingPolicy['statistics'];
  readonly slots: 'jitter' | 'keep';
  /** The static base of the backoff; what is used before there are statistics. */
  readonly baseMs: number;
}

const JITTER = 0.1;
const MAX_DOUBLINGS = 10;

export function policyOf(name: string, elements: PolicyElements): SchedulingPolicy {
  const { ballots, giveUp, statistics, slots, baseMs } = elements;
  return {
    name,
    ballots,
    giveUp,
    statistics,
    nakDelayMs(attempt, observed, random) {
      const unit = statistics === 'none' || observed.count === 0 ? baseMs : typicalLongest(observed);
      return unit * random * 2 ** Math.min(attempt - 1, MAX_DOUBLINGS);
    },
    nextStartMs(intervalMs, durationMs, random) {
      if (slots === 'keep') return Math.max(0, intervalMs - durationMs);
      return intervalMs * (1 + JITTER * (2 * random - 1));
    },
  };
}

export const DEFAULT_BASE_MS = 100;

const ELEMENTS: Readonly<Record<'initial' | 'adaptive' | 'baton', Omit<PolicyElements, 'baseMs'>>> = {
  initial: { ballots: 'sequential', giveUp: 'first refusal', statistics: 'none', slots: 'jitter' },
  adaptive: { ballots: 'sequential', giveUp: 'first refusal', statistics: 'shared', slots: 'keep' },
  baton: { ballots: 'hybrid', giveUp: 'quorum impossible', statistics: 'own', slots: 'keep' },
};

export type PolicyName = keyof typeof ELEMENTS;

export const POLICY_NAMES = Object.keys(ELEMENTS) as readonly PolicyName[];

export function namedPolicy(name: PolicyName, baseMs = DEFAULT_BASE_MS): SchedulingPolicy {
  return policyOf(name, { ...ELEMENTS[name], baseMs });
}

/** The policy with one element taken back to what `initial` has, for the ablation. */
export function without(
  name: PolicyName,
  element: keyof Omit<PolicyElements, 'baseMs'>,
  baseMs = DEFAULT_BASE_MS,
): SchedulingPolicy {
  const elements = { ...ELEMENTS[name], [element]: ELEMENTS.initial[element], baseMs };
  return policyOf(`${name} without ${element}`, elements);
}

/** The statistics in a register's value: one for all proposers, or one for each. */
export type StatisticsTable = Readonly<Record<string, PhaseStatistics>>;

const SHARED = '*';

export function statisticsFor(
  policy: SchedulingPolicy,
  table: StatisticsTable,
  proposer: string,
): PhaseStatistics {
  return table[policy.statistics === 'own' ? proposer : SHARED] ?? NO_STATISTICS;
}

export function withStatistics(
  policy: SchedulingPolicy,
  table: StatisticsTable,
  proposer: string,
  statistics: PhaseStatistics,
): StatisticsTable {
  return { ...table, [policy.statistics === 'own' ? proposer : SHARED]: statistics };
}
