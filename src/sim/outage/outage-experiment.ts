/**
 * An outage of a whole fleet, on all cores. The fleet is cut into chunks that any worker can take; a partition-set's seed
 * follows from the experiment's seed and its number, so the result does not depend on how many workers there were. Nothing
 * is kept of a partition-set but its counts, so memory does not grow with the fleet.
 */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { OutageCase } from './case.ts';
import { addOutage, newOutageCounts, type OutageCounts, type OutageSnapshot } from './counts.ts';

export interface OutageChunk {
  readonly outageCase: OutageCase;
  readonly first: number;
  readonly count: number;
}

/** Something that runs chunks, one at a time: a worker thread, or in tests this process. */
export interface OutageRunner {
  run(chunk: OutageChunk): Promise<OutageSnapshot>;
  close(): Promise<void>;
}

export interface OutageExperimentOptions {
  readonly outageCase: OutageCase;
  readonly partitionSets: number;
  /** All cores, unless told otherwise. */
  readonly workers?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, inAll: number) => void;
  readonly startRunner?: () => OutageRunner;
}

const CHUNK = 10;

/** What is done when the signal aborts is what is returned. */
export async function runOutageExperiment(options: OutageExperimentOptions): Promise<OutageCounts> {
  const { outageCase, partitionSets, signal, onProgress, startRunner = startWorker } = options;
  const counts = newOutageCounts(outageCase);
  let next = 0;
  const work = async (): Promise<void> => {
    const runner = startRunner();
    try {
      while (next < partitionSets && signal?.aborted !== true) {
        const first = next;
        const count = Math.min(CHUNK, partitionSets - first);
        next += count;
        const snapshot = await runner.run({ outageCase, first, count });
        addOutage(counts, snapshot);
        onProgress?.(counts.partitionSets, partitionSets);
      }
    } finally {
      await runner.close();
    }
  };
  const workers = Math.min(options.workers ?? availableParallelism(), Math.ceil(partitionSets / CHUNK));
  await Promise.all(Array.from({ length: workers }, work));
  return counts;
}

function startWorker(): OutageRunner {
  const worker = new Worker(new URL('./outage-worker.js', import.meta.url));
  return {
    async run(chunk) {
      worker.postMessage(chunk);
      const [snapshot] = (await once(worker, 'message')) as [OutageSnapshot];
      return snapshot;
    },
    async close() {
      await worker.terminate();
    },
  };
}
