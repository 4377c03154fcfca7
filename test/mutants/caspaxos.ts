/** All deliberate defects of the CASPaxos library, by rule. */
import { CORE_MUTANTS } from './caspaxos-core.ts';
import { HOST_MUTANTS } from './caspaxos-hosts.ts';
import type { Area } from './mutant.ts';

export const CASPAXOS: Area = {
  name: 'caspaxos',
  title: 'The CASPaxos library',
  rules:
    'The rules are those of the design, "rules that real implementations got wrong"; rule 0 is the protocol itself.',
  mustBreak: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  ways: 2,
  simulation: () => 'registers',
  maxSeeds: 1500,
  maxSeconds: 300,
  mutants: [...CORE_MUTANTS, ...HOST_MUTANTS].sort((a, b) => a.rule - b.rule),
};
