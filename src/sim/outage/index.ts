/** Outages of whole fleets in virtual time. */
export * from './case.ts';
export * from './counts.ts';
export type { Bins } from './crowd.ts';
export * from './durations.ts';
export * from './figures.ts';
export * from './flapping.ts';
export * from './kinds.ts';
export * from './measure.ts';
export type { Availability, Mark, Return, Stretch } from './monitor.ts';
export * from './outage.ts';
export * from './outage-experiment.ts';
export type { Processors } from './processors.ts';
export { azureRegion } from './topology.ts';
