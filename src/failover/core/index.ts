/** The pure part of failover: when proposers update, the state machine, and the agent that runs it. */
export * from './agent/index.ts';
export * from './machine/index.ts';
export * from './scheduling/clock.ts';
export * from './scheduling/observer.ts';
export * from './scheduling/policy.ts';
export * from './scheduling/statistics.ts';
export * from './scheduling/turns.ts';
export * from './scheduling/update-pace.ts';
export * from './time.ts';
