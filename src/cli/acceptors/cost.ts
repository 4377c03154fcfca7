/**
 * What the heartbeats of partition-sets cost at stores that charge for requests.
 *
 * Every region's primary changes its partition-set's register once in an interval: two phases, so two conditional writes at an
 * acceptor. One that is not among those who answer fastest is seldom asked for the first (`register.ts`); which ones those are
 * nobody knows beforehand, so what is said here is the most that it can be. That is all when one region is alone. Where regions
 * take turns, the version that a region knows has been replaced since: it reads the register and the identity, writes, and looks
 * once more at the identity (`store-acceptor.ts` says why). The test beside this file counts them on real clusters.
 */

export interface Traffic {
  /** Conditional writes, refused ones among them: stores charge for those too. */
  readonly writes: number;
  /** Of one document each. */
  readonly reads: number;
}

/** Of one change at one acceptor on a store, at most. */
export const CHANGE_ALONE: Traffic = { writes: 2, reads: 0 };
export const CHANGE_IN_TURNS: Traffic = { writes: 2, reads: 3 };

/** A month as price lists have it: 730 hours. */
const MONTH_MS = 730 * 3_600_000;

export interface Fleet {
  readonly partitionSets: number;
  readonly regions: number;
  /** Acceptors with these prices. */
  readonly acceptors: number;
  readonly intervalMs: number;
}

export interface Prices {
  /** For a million units. */
  readonly write: number;
  readonly read: number;
  /** Units that one request of a 2 kB document is charged as. */
  readonly writeUnits: number;
  readonly readUnits: number;
}

export interface MonthlyCost extends Traffic {
  /** Of registers, in all. */
  readonly changes: number;
  readonly writesPerSecond: number;
  readonly readsPerSecond: number;
  readonly price: number;
}

export function monthlyCost(
  { partitionSets, regions, acceptors, intervalMs }: Fleet,
  prices: Prices,
): MonthlyCost {
  const each = regions === 1 ? CHANGE_ALONE : CHANGE_IN_TURNS;
  const changes = (MONTH_MS / intervalMs) * regions * partitionSets;
  const writes = changes * each.writes * acceptors;
  const reads = changes * each.reads * acceptors;
  const million = 1_000_000;
  return {
    changes,
    writes,
    reads,
    writesPerSecond: (writes * 1000) / MONTH_MS,
    readsPerSecond: (reads * 1000) / MONTH_MS,
    price:
      (writes * prices.writeUnits * prices.write) / million +
      (reads * prices.readUnits * prices.read) / million,
  };
}
