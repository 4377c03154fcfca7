/** How long the plan of an operation waits: for an answer, between rounds, before it asks a silent region again. */
import type { Latency } from './latency.ts';
import type { OperationKind } from './regions.ts';

export interface PlanSettings {
  /** A region is left after this many times its slowest usual answer, within these bounds. */
  readonly patienceFactor: number;
  readonly leastPatienceMs: number;
  readonly mostPatienceMs: number;
  /** While nothing is known of a region. */
  readonly firstPatienceMs: number;
  /** No region is left sooner than this because the deadline is near. */
  readonly hurriedPatienceMs: number;
  /** A node that cannot answer a read yet holds it for this long, and twice as long in each further round: others may be able to. */
  readonly firstHoldMs: number;
  /** Between rounds: at first, and at most. */
  readonly firstBackoffMs: number;
  readonly mostBackoffMs: number;
  /** At most when somebody looks for the writer meanwhile: who waits is told of it, and need not ask again and again. */
  readonly mostSoughtBackoffMs: number;
  /** A region that says nothing is sent the same again after this long. */
  readonly resendAfterMs: number;
  /** In this last stretch before the deadline a write is sent only where it is usually answered in time. */
  readonly lastChanceMs: number;
  /** How often a region may ask to come back before others are asked. */
  readonly throttlesInARow: number;
  /** For safety; a deadline ends every operation before that. */
  readonly maxAttempts: number;
}

export const PLAN_SETTINGS: PlanSettings = {
  patienceFactor: 4,
  leastPatienceMs: 250,
  mostPatienceMs: 2000,
  firstPatienceMs: 500,
  hurriedPatienceMs: 50,
  firstHoldMs: 250,
  firstBackoffMs: 20,
  mostBackoffMs: 250,
  mostSoughtBackoffMs: 5000,
  resendAfterMs: 1000,
  lastChanceMs: 100,
  throttlesInARow: 4,
  maxAttempts: 1000,
};

type BackoffSettings = Pick<PlanSettings, 'firstBackoffMs' | 'mostBackoffMs' | 'mostSoughtBackoffMs'>;

/** Grows, and faster where the writer is sought; half of it is left to chance, so that clients do not come back together. */
export function backoffMs(
  rounds: number,
  random: number,
  isSought: boolean,
  { firstBackoffMs, mostBackoffMs, mostSoughtBackoffMs }: BackoffSettings,
): number {
  const [factor, most] = isSought ? [4, mostSoughtBackoffMs] : [2, mostBackoffMs];
  return Math.min(most, firstBackoffMs * factor ** Math.min(rounds, 20)) * (0.5 + random / 2);
}

export function holdMs(rounds: number, { firstHoldMs }: Pick<PlanSettings, 'firstHoldMs'>): number {
  return firstHoldMs * 2 ** Math.min(rounds, 20);
}

export interface Situation {
  readonly kind: OperationKind;
  /** Rounds over all regions that came to nothing. */
  readonly rounds: number;
  /** Until the deadline. */
  readonly leftMs: number;
}

/**
 * How long a region may be silent before others are asked. Of the time that is left it gets half at most, if that is enough for it:
 * otherwise nobody else would ever be asked by those who are in a hurry. A node holds a read until its copy is ready, so each round gives
 * it more time; a write that was left may answer anyway.
 */
export function patienceMs(
  { p99Ms }: Pick<Latency, 'p99Ms'>,
  { kind, rounds, leftMs }: Situation,
  settings: PlanSettings,
): number {
  const { patienceFactor, leastPatienceMs, mostPatienceMs, firstPatienceMs, hurriedPatienceMs } = settings;
  const usual =
    p99Ms === undefined
      ? firstPatienceMs
      : Math.min(mostPatienceMs, Math.max(leastPatienceMs, patienceFactor * p99Ms));
  const patience = kind === 'read' ? Math.min(mostPatienceMs, usual * 2 ** Math.min(rounds, 10)) : usual;
  const isEnough = leftMs / 2 >= Math.max(hurriedPatienceMs, p99Ms ?? 0);
  return isEnough ? Math.min(patience, leftMs / 2) : patience;
}
