/** Failover of a partition-set. So far: the scheduling policies of its proposers. */
export * from './core/index.ts';
