/** A worker thread that runs seeds, seen from the campaign that started it. */
import type { SeedRunner } from './campaign.ts';
import type { SeededRun, SeededSimulation } from './seeded-run.ts';
import { startThread } from './threads.ts';

/** A simulation is code, and code does not travel to a thread: its name does, to be looked up in `simulations.ts`. */
export function startSeedWorker({ name }: SeededSimulation): SeedRunner {
  const file = new URL('./campaign-worker.js', import.meta.url);
  const thread = startThread<number, SeededRun>(file, name);
  return {
    async run(seed) {
      try {
        return await thread.run(seed);
      } catch (error) {
        throw new Error(`The simulation ${name} broke down under seed ${seed}.`, { cause: error });
      }
    },
    close: () => thread.close(),
  };
}
