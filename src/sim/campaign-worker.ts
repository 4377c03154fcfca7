/** A worker thread of a campaign: takes seeds, returns runs. */
import { parentPort, workerData } from 'node:worker_threads';
import { must } from '../protocol/index.ts';
import { simulationNamed } from './simulations.ts';

const port = must(parentPort);
const simulation = must(simulationNamed(workerData as string));

port.on('message', (seed: number) => {
  // Not caught: a simulation that throws ends the thread, and whoever started it hears why.
  void simulation.run(seed).then((run) => port.postMessage(run));
});
