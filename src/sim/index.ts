/** The simulator: real state machines in virtual time. */
export * from './core/index.ts';
export * from './duel.ts';
export * from './duel-experiment.ts';
export * from './figure-nine.ts';
