/** The simulator: real state machines in virtual time. */
export * from './core/index.ts';
export * from './duel.ts';
export * from './duel-case.ts';
export * from './duel-counts.ts';
export * from './duel-experiment.ts';
export * from './duel-rate.ts';
export * from './duel-sweep.ts';
export * from './figure-nine.ts';
export * from './outage/index.ts';
export * from './process.ts';
export * from './world.ts';
export * from './seeded-run.ts';
export * from './registers/index.ts';
export * from './engine/index.ts';
export * from './shrink.ts';
export * from './swarm.ts';
export * from './campaign.ts';
export { FAULT_NAMES } from './registers/faults.ts';
