/** The decisions of the client, without any I/O. */
export type { AttemptDiagnostics } from './attempts.ts';
export type { Why } from './choosing.ts';
export type { Door } from './door.ts';
export * from './errors.ts';
export * from './feed-cursor.ts';
export * from './hedging.ts';
export {
  type AttemptFailure,
  type DoneAnswer,
  type NodeAnswer,
  type Repeatable,
  repeatable,
} from './judging.ts';
export { PLAN_SETTINGS, type PlanSettings } from './pacing.ts';
export * from './plan.ts';
export * from './regions.ts';
export * from './routing.ts';
export * from './session.ts';
