/** The failover state machine (paper 4; DESIGN sections 4 and 5). Start at `transition.ts`; the table is `rules.ts`. */
export * from './actions.ts';
export * from './configuration.ts';
export * from './create.ts';
export { candidates, electionWaitMs, isEligible } from './election.ts';
export { neededLive } from './graceful.ts';
export { missedBeats, renews } from './beats.ts';
export * from './history.ts';
export type { ClosedIntent, OpenIntent } from './intent-list.ts';
export type { IntentBody, IntentKind } from './intents.ts';
export * from './refusal.ts';
export * from './report.ts';
export { type MachineRule, RULES } from './rules.ts';
export * from './schema.ts';
export * from './state.ts';
export { storedForm, type StoredState } from './stored.ts';
export * from './transition.ts';
