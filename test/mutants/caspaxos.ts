/** All deliberate defects of the CASPaxos library, by rule. `npm run mutants` shows that each is caught. */
import { CORE_MUTANTS } from './caspaxos-core.ts';
import { HOST_MUTANTS } from './caspaxos-hosts.ts';
import type { Mutant } from './mutant.ts';

export { mutate } from './mutant.ts';

export const MUTANTS: readonly Mutant[] = [...CORE_MUTANTS, ...HOST_MUTANTS].sort((a, b) => a.rule - b.rule);
