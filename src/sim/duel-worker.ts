/** A worker thread of the duel experiment: takes chunks of hours, returns their counts. */
import { parentPort } from 'node:worker_threads';
import { must } from '../protocol/index.ts';
import { runDuel } from './duel.ts';
import { hourOf } from './duel-case.ts';
import { newDuelCounts, snapshotOf } from './duel-counts.ts';
import type { DuelChunk } from './duel-experiment.ts';

must(parentPort).on('message', ({ duelCase, firstHour, hours }: DuelChunk) => {
  const counts = newDuelCounts();
  for (let hour = firstHour; hour < firstHour + hours; hour += 1) runDuel(hourOf(duelCase, hour), counts);
  must(parentPort).postMessage(snapshotOf(counts));
});
