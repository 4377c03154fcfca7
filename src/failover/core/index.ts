/** The pure part of failover. So far: when a proposer updates its register. */
export * from './scheduling/policy.ts';
export * from './scheduling/statistics.ts';
