/**
 * Many simulated hours of dueling proposers, on all cores. The hours are cut into chunks that any worker can take; an hour's
 * seed follows from the experiment's seed and its number, so the result does not depend on how many workers there were.
 */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { DuelCase } from './duel-case.ts';
import { addSnapshot, type DuelCounts, type DuelSnapshot, newDuelCounts } from './duel-counts.ts';

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
  const { cases, hours, signal, onProgress } = options;
  const chunks = cases.flatMap((duelCase) => chunksOf(duelCase, hours));
  const results = new Map(cases.map((duelCase) => [duelCase, newDuelCounts()]));
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    const worker = new DuelWorker();
    try {
      while (next < chunks.length && !signal?.aborted) {
        const chunk = chunks[next]!;
        next += 1;
        const snapshot = await worker.run(chunk);
        addSnapshot(results.get(chunk.duelCase)!, snapshot);
        done += chunk.hours;
        onProgress?.(done, cases.length * hours);
      }
    } finally {
      await worker.close();
    }
  };
  const workers = Math.min(options.workers ?? availableParallelism(), chunks.length);
  await Promise.all(Array.from({ length: workers }, work));
  return cases.map((duelCase) => ({ duelCase, counts: results.get(duelCase)! }));
}

function chunksOf(duelCase: DuelCase, hours: number): DuelChunk[] {
  const count = Math.ceil(hours / CHUNK_HOURS);
  return Array.from({ length: count }, (_, index) => {
    const firstHour = index * CHUNK_HOURS;
    return { duelCase, firstHour, hours: Math.min(CHUNK_HOURS, hours - firstHour) };
  });
}

class DuelWorker {
  readonly #worker = new Worker(new URL('./duel-worker.js', import.meta.url));

  async run(chunk: DuelChunk): Promise<DuelSnapshot> {
    this.#worker.postMessage(chunk);
    const [snapshot] = (await once(this.#worker, 'message')) as [DuelSnapshot];
    return snapshot;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
