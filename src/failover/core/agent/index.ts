/** The pure part of the agent. Start at `agent.ts`. */
export * from './agenda.ts';
export * from './agent.ts';
export { BUSY_INTERVALS } from './budget.ts';
export * from './driver.ts';
export * from './duties.ts';
export * from './hints.ts';
export type * from './port.ts';
export type { Took } from './update.ts';
