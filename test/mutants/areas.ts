/** All deliberate defects, by area. `npm run mutants` shows that each is caught. */
import { CASPAXOS } from './caspaxos.ts';
import { ENGINE } from './engine.ts';
import type { Area } from './mutant.ts';

export { mutate } from './mutant.ts';

export const AREAS: readonly Area[] = [CASPAXOS, ENGINE];
