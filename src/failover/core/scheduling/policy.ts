/**
 * When a proposer tries again after a refusal, and when it starts its next update (paper 6.2). Proposers that update one
 * register at the same pace duel: each one's phase 1 takes away the other's phase 2. A policy keeps them apart without
 * naming one of them leader.
 *
 *   initial   exponential backoff on a static base; the next update after an interval with random jitter
 *   adaptive  the paper's improved approach: backoff in units of what phase 2 takes here, and time-division multiplexing:
 *             the next update starts one interval after the *start* of the attempt that succeeded, so that whoever had
 *             to yield keeps the slot into which it was pushed
 *   baton     adaptive, with statistics of each proposer's own, ballots that follow the fastest clock, a ballot given up
 *             only when a quorum has become impossible, a backoff that stops growing before it costs the lease, and an
 *             observer that wakes when a lease ends
 *
 * What each element buys was measured: docs/dueling-proposers.md. Pure. The same objects run in the simulator and in the
 * agent.
 */
import { NO_STATISTICS, type PhaseStatistics, typicalLongest } from './statistics.ts';

/** What a policy is made of. An ablation takes one element at a time back to what `initial` has. */
export interface PolicyElements {
  /** Where a ballot's counter comes from: the last one seen plus one, or a clock. */
  readonly ballots: 'sequential' | 'hybrid';
  /** Which clock hybrid ballots follow; see `followFastest`. */
  readonly clock: 'own' | 'fastest';
  /** When a ballot counts as lost; see the proposer of `caspaxos`. */
  readonly giveUp: 'first refusal' | 'quorum impossible';
  /** Whose phase-2 durations a proposer waits by; with none it waits by the static base. */
  readonly statistics: 'none' | 'shared' | 'own';
  /** Whether the wait after a refusal stops growing while the lease can still be saved. */
  readonly backoff: 'unbounded' | 'bounded';
  /** Where the next update starts. */
  readonly slots: 'jitter' | 'keep';
  /** When somebody who waits for a lease to end looks again; see `lookAgainMs`. */
  readonly observer: 'heartbeat' | 'lease expiry';
}

export interface SchedulingPolicy extends PolicyElements {
  readonly name: string;
  /** The static base of a backoff without statistics. */
  readonly baseMs: number;
  /** After attempt number `attempt` (from 1) was refused. `random` in 0 .. 1. */
  nakDelayMs(attempt: number, statistics: PhaseStatistics, random: number, intervalMs: number): number;
  /** From the end of a successful attempt that took `durationMs` to the start of the next update. */
  nextStartMs(intervalMs: number, durationMs: number, random: number): number;
}

/** How far `initial` strays from the interval, to either side. */
const JITTER = 0.1;
/** What a backoff by statistics waits by until there are any. */
const FIRST_UNIT_MS = 100;
/** The paper's formulas have no bound. This one only keeps the number finite: no wait of that length ever ends. */
const MAX_DOUBLINGS = 40;
/** A bounded backoff waits for no longer than this share of the interval, ... */
const BOUND_SHARE = 0.1;
/** ... in so many attempts, after which the lease is lost anyway and everybody's way out of a crowd is to wait longer, ... */
const BOUNDED_ATTEMPTS = 8;
/** ... unless so many of the network's own units are longer: below that, proposers of a slow network only collide more. */
const BOUND_UNITS = 4;

export function policyOf(name: string, elements: PolicyElements, baseMs: number): SchedulingPolicy {
  const { statistics, backoff, slots } = elements;
  return {
    ...elements,
    name,
    baseMs,
    nakDelayMs(attempt, observed, random, intervalMs) {
      const unit =
        statistics === 'none' ? baseMs : observed.count === 0 ? FIRST_UNIT_MS : typicalLongest(observed);
      const window = unit * 2 ** Math.min(attempt - 1, MAX_DOUBLINGS);
      if (backoff === 'unbounded') return window * random;
      return Math.min(window, boundOf(attempt, unit, intervalMs)) * random;
    },
    nextStartMs(intervalMs, durationMs, random) {
      if (slots === 'keep') return Math.max(0, intervalMs - durationMs);
      return intervalMs * (1 + JITTER * (2 * random - 1));
    },
  };
}

/** While the lease can be saved a bound, from then on longer and longer, up to the interval. */
function boundOf(attempt: number, unit: number, intervalMs: number): number {
  const bound = Math.max(intervalMs * BOUND_SHARE, unit * BOUND_UNITS);
  if (attempt <= BOUNDED_ATTEMPTS) return bound;
  const grown = bound * 2 ** Math.min(attempt - BOUNDED_ATTEMPTS, MAX_DOUBLINGS);
  return Math.max(bound, Math.min(grown, intervalMs));
}

/** What somebody would configure: gRPC begins its backoff with 1 s, the Azure SDKs with 0.8 s. */
export const DEFAULT_BASE_MS = 1000;

const INITIAL: PolicyElements = {
  ballots: 'sequential',
  clock: 'own',
  giveUp: 'first refusal',
  statistics: 'none',
  backoff: 'unbounded',
  slots: 'jitter',
  observer: 'heartbeat',
};

const ELEMENTS: Readonly<Record<'initial' | 'adaptive' | 'baton', PolicyElements>> = {
  initial: INITIAL,
  adaptive: { ...INITIAL, statistics: 'shared', slots: 'keep' },
  baton: {
    ballots: 'hybrid',
    clock: 'fastest',
    giveUp: 'quorum impossible',
    statistics: 'own',
    backoff: 'bounded',
    slots: 'keep',
    observer: 'lease expiry',
  },
};

export type PolicyName = keyof typeof ELEMENTS;
export type PolicyElement = keyof PolicyElements;

export const POLICY_NAMES = Object.keys(ELEMENTS) as readonly PolicyName[];
export const POLICY_ELEMENTS = Object.keys(INITIAL) as readonly PolicyElement[];

export function namedPolicy(name: PolicyName, baseMs = DEFAULT_BASE_MS): SchedulingPolicy {
  return policyOf(name, ELEMENTS[name], baseMs);
}

/** The policy with one element taken back to what `initial` has, for the ablation. */
export function without(
  name: PolicyName,
  element: PolicyElement,
  baseMs = DEFAULT_BASE_MS,
): SchedulingPolicy {
  const elements = { ...ELEMENTS[name], [element]: INITIAL[element] };
  return policyOf(`${name} without ${element}`, elements, baseMs);
}

/** The policy with one element of `baton` put in: what that one buys by itself. */
export function withElement(
  name: PolicyName,
  element: PolicyElement,
  baseMs = DEFAULT_BASE_MS,
): SchedulingPolicy {
  const elements = { ...ELEMENTS[name], [element]: ELEMENTS.baton[element] };
  return policyOf(`${name} with ${element}`, elements, baseMs);
}

/** The statistics in a register's value: one for all proposers, or one for each. */
export type StatisticsTable = Readonly<Record<string, PhaseStatistics>>;

/** Under which name the statistics of all proposers stand. */
export const SHARED = '*';

export function statisticsFor(
  policy: SchedulingPolicy,
  table: StatisticsTable,
  proposer: string,
): PhaseStatistics {
  const name = policy.statistics === 'own' ? proposer : SHARED;
  return (Object.hasOwn(table, name) ? table[name] : undefined) ?? NO_STATISTICS;
}

export function withStatistics(
  policy: SchedulingPolicy,
  table: StatisticsTable,
  proposer: string,
  statistics: PhaseStatistics,
): StatisticsTable {
  return { ...table, [policy.statistics === 'own' ? proposer : SHARED]: statistics };
}
