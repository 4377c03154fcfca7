/** What is counted in simulated hours of dueling proposers, and how the counts of several threads become one. */
import { Histogram, type HistogramSnapshot } from '../protocol/index.ts';
import { combinedDigest, NO_TRACE } from './core/index.ts';

export interface DuelCounts {
  hours: number;
  due: number;
  failures: number;
  /** Hours with at least one failure, and the sum of the squares of the hours' failures: failures come in clusters. */
  failedHours: number;
  squaredFailures: number;
  updates: number;
  attempts: number;
  refusals: number;
  /** Messages to acceptors. */
  requests: number;
  events: number;
  /** Hours in which a writer died and nobody could say so before the end. */
  undetected: number;
  readonly commitMs: Histogram;
  /** From the last renewal of a writer that died to the first update of another that declares its silence. */
  readonly detectionsMs: number[];
  /** Of all hours, whatever order they were played in. */
  trace: string;
}

/** The counts as plain data, for another thread. */
export type DuelSnapshot = Omit<DuelCounts, 'commitMs'> & { readonly commitMs: HistogramSnapshot };

export function newDuelCounts(): DuelCounts {
  return {
    hours: 0,
    due: 0,
    failures: 0,
    failedHours: 0,
    squaredFailures: 0,
    updates: 0,
    attempts: 0,
    refusals: 0,
    requests: 0,
    events: 0,
    undetected: 0,
    commitMs: new Histogram(),
    detectionsMs: [],
    trace: NO_TRACE,
  };
}

export function snapshotOf(counts: DuelCounts): DuelSnapshot {
  return { ...counts, commitMs: counts.commitMs.snapshot() };
}

export function addSnapshot(counts: DuelCounts, snapshot: DuelSnapshot): void {
  const { commitMs, detectionsMs, trace, ...numbers } = snapshot;
  for (const name of Object.keys(numbers) as (keyof typeof numbers)[]) counts[name] += numbers[name];
  counts.commitMs.add(commitMs);
  counts.detectionsMs.push(...detectionsMs);
  counts.trace = combinedDigest(counts.trace, trace);
}
