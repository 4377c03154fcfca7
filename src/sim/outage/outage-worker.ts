/** A worker thread of the outage experiment: takes chunks of the fleet, returns their counts. */
import { parentPort } from 'node:worker_threads';
import { must } from '../../protocol/index.ts';
import { newOutageCounts, outageSnapshot } from './counts.ts';
import type { OutageChunk } from './outage-experiment.ts';
import { runOutages } from './outage.ts';

must(parentPort).on('message', ({ outageCase, first, count, waits }: OutageChunk) => {
  const counts = newOutageCounts(outageCase);
  runOutages(outageCase, first, count, counts, waits);
  must(parentPort).postMessage(outageSnapshot(counts));
});
