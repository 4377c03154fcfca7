/** A worker thread of the duel experiment: takes chunks of hours, returns their counts. */
import { parentPort } from 'node:worker_threads';
import { namedPolicy } from '../failover/index.ts';
import { must } from '../protocol/index.ts';
import { latencyModel } from './core/index.ts';
import { newDuelCounts, runDuel, snapshotOf } from './duel.ts';
import type { DuelChunk } from './duel-experiment.ts';

const HOUR_MS = 3_600_000;
/** Spreads the hours' seeds: neighbouring experiments share none of them. */
const SEED_STRIDE = 1_000_003;

must(parentPort).on('message', ({ duelCase, firstHour, hours }: DuelChunk) => {
  const { policy, baseMs, latency, seed, ...rest } = duelCase;
  const counts = newDuelCounts();
  const options = {
    ...rest,
    policy: namedPolicy(policy, baseMs),
    latency: must(latencyModel(latency)),
    durationMs: HOUR_MS,
  };
  for (let hour = firstHour; hour < firstHour + hours; hour += 1) {
    runDuel({ ...options, seed: (Math.imul(seed, SEED_STRIDE) + hour) >>> 0 }, counts);
  }
  must(parentPort).postMessage(snapshotOf(counts));
});
