/**
 * Many simulated hours of dueling proposers, on all cores. The hours are cut into chunks that any worker can take; an hour's
 * seed follows from the experiment's seed and its number, so the result does not depend on how many workers there were.
 */
import type { DuelCase } from './duel-case.ts';
import { addSnapshot, type DuelCounts, type DuelSnapshot, newDuelCounts } from './duel-counts.ts';
import { shareOut, startThread } from './threads.ts';

export interface DuelChunk {
  readonly duelCase: DuelCase;
  readonly firstHour: number;
  readonly hours: number;
}

export interface DuelResult {
  readonly duelCase: DuelCase;
  readonly counts: DuelCounts;
}

export interface ExperimentOptions {
  readonly cases: readonly DuelCase[];
  readonly hours: number;
  readonly workers?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (hoursDone: number, hoursInAll: number) => void;
}

const CHUNK_HOURS = 50;

/** What is done when the signal aborts is what is returned. */
export async function runDuelExperiment(options: ExperimentOptions): Promise<readonly DuelResult[]> {
  const { cases, hours, workers, signal, onProgress } = options;
  const results = new Map(cases.map((duelCase) => [duelCase, newDuelCounts()]));
  let done = 0;
  await shareOut<DuelChunk, DuelSnapshot>({
    pieces: cases.flatMap((duelCase) => chunksOf(duelCase, hours)),
    startRunner: () => startThread(new URL('./duel-worker.js', import.meta.url)),
    onAnswer: (snapshot, chunk) => {
      addSnapshot(results.get(chunk.duelCase)!, snapshot);
      done += chunk.hours;
      onProgress?.(done, cases.length * hours);
    },
    workers,
    signal,
  });
  return cases.map((duelCase) => ({ duelCase, counts: results.get(duelCase)! }));
}

function chunksOf(duelCase: DuelCase, hours: number): DuelChunk[] {
  const count = Math.ceil(hours / CHUNK_HOURS);
  return Array.from({ length: count }, (_, index) => {
    const firstHour = index * CHUNK_HOURS;
    return { duelCase, firstHour, hours: Math.min(CHUNK_HOURS, hours - firstHour) };
  });
}
