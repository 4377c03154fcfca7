/** A worker thread that runs seeds, seen from the campaign that started it. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { SeedRunner } from './campaign.ts';
import type { SeededRun, SeededSimulation } from './seeded-run.ts';

/** A simulation is code, and code does not travel to a thread: its name does, to be looked up in `simulations.ts`. */
export function startSeedWorker({ name }: SeededSimulation): SeedRunner {
  const worker = new Worker(new URL('./campaign-worker.js', import.meta.url), { workerData: name });
  return {
    async run(seed) {
      worker.postMessage(seed);
      try {
        const [run] = (await once(worker, 'message')) as [SeededRun];
        return run;
      } catch (error) {
        throw new Error(`The simulation ${name} broke down under seed ${seed}.`, { cause: error });
      }
    },
    async close() {
      await worker.terminate();
    },
  };
}
