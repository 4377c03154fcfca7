/** All deliberate defects of the engine, of leases, elections and undo, by rule. */
import { PARTITION_MUTANTS } from './engine-partition.ts';
import { RIGHTS_MUTANTS } from './engine-rights.ts';
import type { Area } from './mutant.ts';

export const ENGINE: Area = {
  name: 'engine',
  title: 'The engine, leases, elections and undo',
  rules:
    'The rules are those of the failover machine; rule 0 is replication and what clients are promised. The seeds are those of `baton sim fuzz --consistency Strong`, unless another level is named.',
  mustBreak: [0, 3, 4, 5, 6, 7, 9, 13, 15, 16, 17, 21],
  ways: 1,
  simulation: (level = 'Strong') => `fuzz --consistency ${level}`,
  maxSeeds: 300,
  maxSeconds: 300,
  mutants: [...PARTITION_MUTANTS, ...RIGHTS_MUTANTS].sort((a, b) => a.rule - b.rule),
};
