/**
 * Checkers over the histories that clients saw, and the explorer of states. Pure: data in, verdict out.
 *
 * - `explore`, `hashOfKeys`, `differenceOfKeys`: every state of a system given as data, and comparing two such sets.
 * - `checkLinearizability` with a model such as `casRegister`: exact for any object, with a limit of work.
 * - `checkVersioned`: the same verdict in n log n for registers that number their changes.
 * - `parseJepsenLog`: histories that others recorded.
 * - `simulateHistory`, `plant`: good histories, and bad ones made of them, to try a checker on.
 */
export * from './configurations.ts';
export * from './explorer.ts';
export * from './history.ts';
export * from './jepsen.ts';
export * from './keys.ts';
export * from './linearizability.ts';
export * from './models.ts';
export * from './planted.ts';
export * from './search.ts';
export * from './simulated.ts';
export * from './versioned.ts';
export * from './consistency/index.ts';
