/** The requests of docs/acceptors.md, counted on real clusters as agents open them. */
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type AcceptorStore,
  type Cluster,
  committed,
  MemoryStore,
  StoreAcceptor,
} from '../../caspaxos/index.ts';
import { openAgentCluster } from '../../failover/index.ts';
import { CHANGE_ALONE, CHANGE_IN_TURNS, monthlyCost } from './cost.ts';

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
    const cluster = await openAgentCluster(
      {
        acceptors,
        proposer: `region-${at}`,
        openAcceptor: (url) =>
          new StoreAcceptor(counting(new MemoryStore(url.slice('memory:'.length)), counts)),
      },
      { intervalMs: 1000 },
    );
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

describe('requests of a heartbeat at one acceptor', () => {
  test('of a region that is alone: two conditional writes', async () => {
    const { clusters, counts } = await regions(1);
    await heartbeat(clusters[0]!, 'failover/p', counts);
    Object.assign(counts, { writes: 0, reads: 0, batches: 0 });
    for (let round = 0; round < ROUNDS; round += 1) await heartbeat(clusters[0]!, 'failover/p', counts);
    const { writes, reads, batches } = counts;
    const each = 3 * ROUNDS;
    expect({ writes: writes / each, reads: reads / each }).toEqual(CHANGE_ALONE);
    expect(batches / each).toBe(2);
  });

  test('of three regions that take turns: three documents read, two writes', async () => {
    const { clusters, counts } = await regions(3);
    // In the second round they find out that they are not alone.
    for (const cluster of [...clusters, ...clusters]) await heartbeat(cluster, 'failover/p', counts);
    Object.assign(counts, { writes: 0, reads: 0, batches: 0 });
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const cluster of clusters) await heartbeat(cluster, 'failover/p', counts);
    }
    const { writes, reads, batches } = counts;
    const each = 3 * 3 * ROUNDS;
    expect({ writes: writes / each, reads: reads / each }).toEqual(CHANGE_IN_TURNS);
    expect(batches / each).toBe(4);
  });

  test('of many partition-sets at the same moment share their requests where the store takes batches', async () => {
    const { clusters, counts } = await regions(1);
    const keys = Array.from({ length: 50 }, (_, at) => `failover/p${at}`);
    const all = (): Promise<unknown> => Promise.all(keys.map((key) => heartbeat(clusters[0]!, key, counts)));
    await all();
    Object.assign(counts, { writes: 0, reads: 0, batches: 0 });
    await all();
    expect(counts.writes).toBe(2 * 3 * keys.length);
    expect(counts.batches).toBeLessThan(3 * keys.length);
  });
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
