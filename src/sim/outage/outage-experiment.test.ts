import { expect, test } from 'vitest';
import type { OutageCase } from './case.ts';
import { newOutageCounts, outageSnapshot } from './counts.ts';
import { type OutageChunk, type OutageRunner, runOutageExperiment } from './outage-experiment.ts';
import { runOutages } from './outage.ts';
import { azureRegion } from './topology.ts';

const NAMES = ['East Asia', 'Southeast Asia', 'South Central US'];
const PLACES = NAMES.map((name) => azureRegion(name)!);
const OUTAGE_CASE: OutageCase = {
  regions: PLACES,
  regionNames: NAMES,
  acceptors: PLACES,
  outages: 1,
  minutes: 3,
  profile: 'paper',
  hints: true,
  kind: 'region',
  consistency: 'Strong',
  minDurability: 1,
  seed: 1,
};

/** In this process, with a turn of the event loop in between so that runners take turns. */
function startRunner(chunks: OutageChunk[] = []): OutageRunner {
  return {
    async run(chunk) {
      chunks.push(chunk);
      await new Promise(setImmediate);
      const counts = newOutageCounts(chunk.outageCase);
      runOutages(chunk.outageCase, chunk.first, chunk.count, counts);
      return structuredClone(outageSnapshot(counts));
    },
    async close() {},
  };
}

test('the result does not depend on the number of workers', async () => {
  const options = { outageCase: OUTAGE_CASE, partitionSets: 25, startRunner };
  const chunks: OutageChunk[] = [];
  const alone = await runOutageExperiment({ ...options, workers: 1, startRunner: () => startRunner(chunks) });
  const three = await runOutageExperiment({ ...options, workers: 3 });
  expect(outageSnapshot(three)).toEqual(outageSnapshot(alone));
  expect(alone).toMatchObject({ partitionSets: 25, affected: 25, doubleWriters: 0 });
  expect(chunks.map(({ first, count }) => [first, count])).toEqual([
    [0, 10],
    [10, 10],
    [20, 5],
  ]);
});

test('what is done when it is stopped is the result', async () => {
  const stop = new AbortController();
  const progress: number[] = [];
  const counts = await runOutageExperiment({
    outageCase: OUTAGE_CASE,
    partitionSets: 1000,
    workers: 1,
    signal: stop.signal,
    startRunner,
    onProgress: (done) => {
      progress.push(done);
      if (progress.length === 2) stop.abort();
    },
  });
  expect(progress).toEqual([10, 20]);
  expect(counts.partitionSets).toBe(20);
});

test('a runner that breaks down is not waited for', async () => {
  const broken: OutageRunner = { run: () => Promise.reject(new Error('broken')), close: async () => {} };
  const options = { outageCase: OUTAGE_CASE, partitionSets: 20, startRunner: () => broken };
  await expect(runOutageExperiment(options)).rejects.toThrow('broken');
});
