import { beforeAll, describe, expect, test } from 'vitest';
import { PLACES, smallOutage } from '../../../test/sim/outage-case.ts';
import { newOutageCounts, type OutageCounts, outageSnapshot } from './counts.ts';
import { BIN_MS, type Bins, CALM_BINS, newBins } from './crowd.ts';
import { costsOf, crowdWaits, queueOf, restOf } from './crowd-waits.ts';
import { type OutageRunner, runOutageExperiment } from './outage-experiment.ts';
import { runOutages } from './outage.ts';
import type { Processors } from './processors.ts';

const FLEET = 20;
const CASE = smallOutage(0.25);

/** Each region used so many cores in the calm, each acceptor a fifth of that. */
function processors(regionCores: number, changes: Partial<Processors> = {}): Processors {
  return {
    cores: 2,
    regionCalm: PLACES.map(() => regionCores),
    acceptorCalm: PLACES.map(() => regionCores / 5),
    otherCalm: 0.1,
    ...changes,
  };
}

function inThisProcess(): OutageRunner {
  return {
    async run({ outageCase, first, count, waits }) {
      await new Promise(setImmediate);
      const counts = newOutageCounts(outageCase);
      runOutages(outageCase, first, count, counts, waits);
      return structuredClone(outageSnapshot(counts));
    },
    async close() {},
  };
}

async function run(
  shared: Processors | undefined,
  workers = 1,
): Promise<{ counts: OutageCounts; waits: Bins }> {
  let waits: Bins = [];
  const counts = await runOutageExperiment({
    outageCase: { ...CASE, ...(shared && { processors: shared }) },
    partitionSets: FLEET,
    workers,
    startRunner: inThisProcess,
    onWaits: (found) => {
      waits = found;
    },
  });
  return { counts, waits };
}

const longest = (row: Float64Array): number => row.reduce((most, wait) => Math.max(most, wait), 0);

describe('a fleet that shares processors', () => {
  let alone: OutageCounts;
  let busy: { counts: OutageCounts; waits: Bins };
  beforeAll(async () => {
    alone = (await run(undefined)).counts;
    busy = await run(processors(0.45));
  }, 60_000);

  test('and hardly uses them in the calm recovers as one that does not share', async () => {
    const { counts, waits } = await run(processors(0.01));
    expect(Math.max(...waits.map(longest))).toBeLessThan(50);
    expect(counts).toMatchObject({ affected: FLEET, recovered: FLEET, failovers: alone.failovers });
    expect(Math.abs(counts.recovery.mean - alone.recovery.mean)).toBeLessThan(50);
  });

  test('and uses most of them recovers later', () => {
    expect(busy.counts).toMatchObject({ affected: FLEET, recovered: FLEET, doubleWriters: 0, lostWrites: 0 });
    expect(busy.counts.recovery.mean).toBeGreaterThan(alone.recovery.mean + 300);
  });

  test('waits for the same whatever the number of workers', async () => {
    const three = await run(processors(0.45), 3);
    expect(outageSnapshot(three.counts)).toEqual(outageSnapshot(busy.counts));
    expect(three.waits).toEqual(busy.waits);
  });

  test('waits in the outage, not in the calm, and less where there are more', async () => {
    for (const row of busy.waits) expect(longest(row.subarray(0, CALM_BINS))).toBe(0);
    const [, second] = busy.waits;
    // A lease has to end first.
    const waitsFrom = (second!.findIndex((wait) => wait > 50) - CALM_BINS) * BIN_MS;
    expect(waitsFrom).toBeGreaterThan(1000);
    const four = await crowdWaits(CASE, FLEET, processors(0.45, { cores: 4 }));
    expect(longest(four[1]!)).toBeLessThan(longest(second!));
  });
});

test('one that is stopped while its waits are looked for has no result, and is not kept', async () => {
  const counts = await runOutageExperiment({
    outageCase: { ...CASE, processors: processors(0.45) },
    partitionSets: 1000,
    signal: AbortSignal.abort(),
    startRunner: inThisProcess,
  });
  expect(counts.partitionSets).toBe(0);
});

test('a process that used nothing in the calm makes nobody wait', async () => {
  const short = { ...CASE, minutes: 0.05, calmMinutes: 0.05 };
  const none = await crowdWaits(short, 2, processors(0));
  expect(none.map(longest)).toEqual(newBins(short).map(() => 0));
});

test('what everything else used is not shared out, but never are all cores taken', () => {
  const queue = queueOf(processors(0.2, { otherCalm: 0.5, processesPerRegion: 4 }));
  expect(queue).toMatchObject({ cores: 1.5, widths: [4, 4, 4, 1, 1, 1], backlog: [0, 0, 0, 0, 0, 0] });
  expect(queueOf(processors(0.2, { otherCalm: 9 })).cores).toBeGreaterThan(0);
});

describe('what a request costs', () => {
  /** So many a minute at each, spread over the calm. */
  function minute(...requests: readonly number[]): Bins {
    return requests.map((count) => new Float64Array(CALM_BINS + 1).fill(count / CALM_BINS, 0, CALM_BINS));
  }

  test('follows from the cores that were used in the calm, and is the same for who asks and who answers', () => {
    const shared = { cores: 2, regionCalm: [0.5, 0.1], acceptorCalm: [0.1, 0.2], otherCalm: 0 };
    // A tenth of a core for a minute is 6,000 ms.
    const work = minute(1500, 3000, 3000, 3000);
    const [first, second, ...answering] = costsOf(work, shared);
    expect(answering.map((cost) => cost.toFixed(6))).toEqual(['2.000000', '4.000000']);
    expect(first).toBeCloseTo(3);
    // It did not use more than that in all.
    expect(second).toBeCloseTo(2);
    expect(restOf(work, costsOf(work, shared), shared)).toBeCloseTo(0.5 - (1500 * 3) / 60_000);
  });

  test('is nothing where none was answered', () => {
    const shared = { cores: 2, regionCalm: [0.5], acceptorCalm: [0.1], otherCalm: 0 };
    expect(costsOf(minute(0, 0), shared)).toEqual([0, 0]);
    expect(costsOf(minute(10, 0), shared)).toEqual([0, 0]);
  });

  test('leaves what a process does besides to go on, and takes it from what is shared out', () => {
    const shared = processors(0.3, { otherCalm: 0.2 });
    expect(queueOf(shared, 0.5).cores).toBeCloseTo(1.3);
    expect(queueOf(shared, 5).cores).toBeGreaterThan(0);
  });
});
