/** The requests of docs/acceptors.md, counted on real clusters as agents open them. */
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type AcceptorStore,
  type Cluster,
  committed,
  MemoryStore,
  StoreAcceptor,
} from '../../caspaxos/index.ts';
import { accept } from '../../../test/conformance/messages.ts';
import { openAgentCluster } from '../../failover/index.ts';
import { CHANGE_ALONE, CHANGE_IN_TURNS, monthlyCost, type Traffic } from './cost.ts';

interface Counts {
  writes: number;
  reads: number;
  /** Calls: a store that takes a batch in one request is asked so often. */
  batches: number;
  underWay: number;
}

/** Longer than the moment for which messages to an acceptor that nobody waits for are held back (`batcher.ts`). */
const STORE_MS = 3;

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function counting(store: AcceptorStore, counts: Counts): AcceptorStore {
  const taking = async <T>(call: () => Promise<T>): Promise<T> => {
    counts.batches += 1;
    counts.underWay += 1;
    try {
      await sleep(STORE_MS);
      return await call();
    } finally {
      counts.underWay -= 1;
    }
  };
  return {
    url: store.url,
    concurrency: store.concurrency,
    read: (keys) => {
      counts.reads += keys.length;
      return taking(() => store.read(keys));
    },
    write: (writes) => {
      counts.writes += writes.length;
      return taking(() => store.write(writes));
    },
    list: (after, limit) => store.list(after, limit),
    close: () => store.close(),
  };
}

let places = 0;

/** As many regions as asked for, with the same three acceptors; all count into one. */
async function regions(
  count: number,
): Promise<{ readonly clusters: readonly Cluster[]; readonly counts: Counts }> {
  places += 1;
  const counts: Counts = { writes: 0, reads: 0, batches: 0, underWay: 0 };
  const acceptors = ['a', 'b', 'c'].map((name) => `memory:cost-${process.pid}-${places}-${name}`);
  const clusters: Cluster[] = [];
  for (let at = 0; at < count; at += 1) {
    const cluster = await openAgentCluster({
      acceptors,
      proposer: `region-${at}`,
      openAcceptor: (url) =>
        new StoreAcceptor(counting(new MemoryStore(url.slice('memory:'.length)), counts)),
    });
    onTestFinished(() => cluster.close());
    clusters.push(cluster);
  }
  return { clusters, counts };
}

async function heartbeat(cluster: Cluster, key: string, counts: Counts): Promise<void> {
  committed(await cluster.change(key, (n: number | undefined) => (n ?? 0) + 1));
  // A change is over when a majority has it: the rest is counted too.
  for (let quiet = 0; quiet < 2; quiet = counts.underWay === 0 ? quiet + 1 : 0) await sleep(5 * STORE_MS);
}

const ROUNDS = 4;

/** At three acceptors: one of them is asked for a promise only when the others take long. */
function expectCounts(
  counts: Counts,
  heartbeats: number,
  each: Traffic & { readonly batches: number },
): void {
  for (const what of ['writes', 'batches'] as const) {
    expect(counts[what], what).toBeLessThanOrEqual(3 * each[what] * heartbeats);
    expect(counts[what], what).toBeGreaterThanOrEqual((3 * each[what] - 1) * heartbeats);
  }
  expect(counts.reads).toBe(3 * each.reads * heartbeats);
}

describe('requests of a heartbeat at one acceptor', () => {
  test('of a region that is alone: two conditional writes, or one', async () => {
    const { clusters, counts } = await regions(1);
    await heartbeat(clusters[0]!, 'failover/p', counts);
    Object.assign(counts, { writes: 0, reads: 0, batches: 0 });
    for (let round = 0; round < ROUNDS; round += 1) await heartbeat(clusters[0]!, 'failover/p', counts);
    expectCounts(counts, ROUNDS, { ...CHANGE_ALONE, batches: 2 });
  });

  test('of three regions that take turns: three documents read, two writes, or one', async () => {
    const { clusters, counts } = await regions(3);
    // In the second round they find out that they are not alone.
    for (const cluster of [...clusters, ...clusters]) await heartbeat(cluster, 'failover/p', counts);
    Object.assign(counts, { writes: 0, reads: 0, batches: 0 });
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const cluster of clusters) await heartbeat(cluster, 'failover/p', counts);
    }
    expectCounts(counts, 3 * ROUNDS, { ...CHANGE_IN_TURNS, batches: 4 });
  });

  test('of many partition-sets at the same moment share their requests where the store takes batches', async () => {
    const { clusters, counts } = await regions(1);
    const keys = Array.from({ length: 50 }, (_, at) => `failover/p${at}`);
    const all = (): Promise<unknown> => Promise.all(keys.map((key) => heartbeat(clusters[0]!, key, counts)));
    await all();
    Object.assign(counts, { writes: 0, reads: 0, batches: 0 });
    await all();
    expect(counts.writes).toBeGreaterThanOrEqual((2 + 3) * keys.length);
    expect(counts.writes).toBeLessThanOrEqual((3 + 3) * keys.length);
    expect(counts.batches).toBeLessThan(3 * keys.length);
  });
});

test('where regions take turns, an acceptor that is not asked for a promise has three documents read, and one write', async () => {
  places += 1;
  const counts: Counts = { writes: 0, reads: 0, batches: 0, underWay: 0 };
  const store = (): AcceptorStore => counting(new MemoryStore(`cost-${process.pid}-${places}`), counts);
  const acceptors = [new StoreAcceptor(store()), new StoreAcceptor(store())];
  for (const acceptor of acceptors) await acceptor.describe();
  let ballot = 0;
  const round = async (): Promise<void> => {
    for (const acceptor of acceptors) {
      ballot += 1;
      const [reply] = await acceptor.handle([accept('k', ballot, `v${ballot}`)], 0);
      expect(reply?.type).toBe('2b');
    }
  };
  // In the second they find out that they are not alone.
  for (let at = 0; at < 2; at += 1) await round();
  Object.assign(counts, { writes: 0, reads: 0 });
  for (let at = 0; at < ROUNDS; at += 1) await round();
  expect(counts).toMatchObject({ writes: 2 * ROUNDS, reads: 2 * ROUNDS * CHANGE_IN_TURNS.reads });
});

describe('a month', () => {
  const prices = { write: 2, read: 0.5, writeUnits: 2, readUnits: 1 };

  test('of one partition-set in three regions, in the paper profile', () => {
    const fleet = { partitionSets: 1, regions: 3, acceptors: 1, intervalMs: 30_000 };
    expect(monthlyCost(fleet, prices)).toMatchObject({ changes: 262_800, writes: 525_600, reads: 788_400 });
    expect(monthlyCost(fleet, prices).price).toBeCloseTo(0.5256 * 4 + 0.7884 * 0.5);
  });

  test('grows with everything that makes heartbeats', () => {
    const fleet = { partitionSets: 10, regions: 3, acceptors: 2, intervalMs: 1000 };
    const { writes, writesPerSecond } = monthlyCost(fleet, prices);
    expect(writes).toBe(525_600 * 30 * 10 * 2);
    expect(writesPerSecond).toBeCloseTo(2 * 10 * 3 * 2);
  });

  test('of a single region has no reads', () => {
    const fleet = { partitionSets: 1, regions: 1, acceptors: 1, intervalMs: 1000 };
    expect(monthlyCost(fleet, prices)).toMatchObject({ writes: 2 * 2_628_000, reads: 0 });
  });
});
