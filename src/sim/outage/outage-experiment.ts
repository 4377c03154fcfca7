/**
 * An outage of a whole fleet, on all cores. The fleet is cut into chunks that any worker can take; a partition-set's seed
 * follows from the experiment's seed and its number, so the result does not depend on how many workers there were. Nothing
 * is kept of a partition-set but its counts, so memory does not grow with the fleet.
 *
 * Where the fleet shares processors, what everything waits for them is found first (`crowd-waits.ts`).
 */
import { type Runner, shareOut, startThread } from '../threads.ts';
import type { OutageCase } from './case.ts';
import { addOutage, newOutageCounts, type OutageCounts, type OutageSnapshot } from './counts.ts';
import { crowdWaits } from './crowd-waits.ts';
import type { Bins } from './crowd.ts';

export interface OutageChunk {
  readonly outageCase: OutageCase;
  readonly first: number;
  readonly count: number;
  /** What each process makes wait, where processors are shared. */
  readonly waits?: Bins;
}

export type OutageRunner = Runner<OutageChunk, OutageSnapshot>;

export interface OutageExperimentOptions {
  readonly outageCase: OutageCase;
  readonly partitionSets: number;
  /** All cores, unless told otherwise. */
  readonly workers?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, inAll: number) => void;
  /** Told the waits that were found, where processors are shared. */
  readonly onWaits?: (waits: Bins) => void;
  readonly startRunner?: () => OutageRunner;
}

const CHUNK = 10;

/** What is done when the signal aborts is what is returned. */
export async function runOutageExperiment(options: OutageExperimentOptions): Promise<OutageCounts> {
  const { outageCase, partitionSets, workers, signal, onProgress, startRunner = startWorker } = options;
  const { processors } = outageCase;
  const counts = newOutageCounts(outageCase);
  const waits = processors && (await crowdWaits(outageCase, partitionSets, processors, signal));
  if (waits !== undefined) options.onWaits?.(waits);
  await shareOut<OutageChunk, OutageSnapshot>({
    pieces: chunksOf(outageCase, partitionSets, waits),
    startRunner,
    onAnswer: (snapshot) => {
      addOutage(counts, snapshot);
      onProgress?.(counts.partitionSets, partitionSets);
    },
    workers,
    signal,
  });
  return counts;
}

function chunksOf(outageCase: OutageCase, partitionSets: number, waits: Bins | undefined): OutageChunk[] {
  return Array.from({ length: Math.ceil(partitionSets / CHUNK) }, (_, index) => {
    const first = index * CHUNK;
    return { outageCase, first, count: Math.min(CHUNK, partitionSets - first), ...(waits && { waits }) };
  });
}

function startWorker(): OutageRunner {
  return startThread(new URL('./outage-worker.js', import.meta.url));
}
