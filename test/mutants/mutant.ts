/**
 * A deliberate defect: one text of one source file replaced by another, applied to a copy of the sources. The tests
 * that it names must then fail, and so must one of the first seeds of a simulation, unless the simulation cannot meet
 * the defect. A text that does not occur exactly once is an error: a mutant must not fall silent when the source moves on.
 */
export interface Mutant {
  readonly id: string;
  /** The rule of the design that it breaks; which rules are meant, its area says. */
  readonly rule: number;
  /** What it breaks, in words: the row of the published table. */
  readonly what: string;
  /** Below the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The narrowest tests that must catch it. */
  readonly tests: readonly string[];
  /** Whether seeds of the simulation must catch it, or why they cannot. */
  readonly simulated: true | string;
  /** The level at which it shows, where the simulation has levels and another than the area's is meant. */
  readonly level?: Level;
}

export type Level = 'Strong' | 'BoundedStaleness' | 'Session' | 'ConsistentPrefix' | 'Eventual';

/** Mutants that are published in one table: of one part of the product, caught by seeds of one simulation. */
export interface Area {
  readonly name: string;
  readonly title: string;
  /** Which rules the numbers stand for: a sentence of the table's introduction. */
  readonly rules: string;
  /** Every one of these has to be broken, in so many ways. */
  readonly mustBreak: readonly number[];
  readonly ways: number;
  /** As `simulationNamed` knows it, for a level of the simulation's if it has any. */
  readonly simulation: (level: Level | undefined) => string;
  /** So many seeds may pass, and together they may take so long. */
  readonly maxSeeds: number;
  readonly maxSeconds: number;
  readonly mutants: readonly Mutant[];
}

export const THE_SERVICE = 'the acceptor service with its journal and its connections is not simulated';
export const LEVELS_STAY =
  'in simulated runs leases and levels stay what they are: test/engine/rights.test.ts changes them under load';
export const COSTS_ONLY = 'it costs time and breaks nothing';

/** The simulation could meet it, but so seldom that no seed of many hundreds did. A workload that does is welcome. */
export function rare(what: string): string {
  return `rare, hundreds of seeds do not meet it: it takes ${what}`;
}

/** The same, where so many seeds were tried. */
export function unmet(seeds: number, what: string): string {
  return `none of ${seeds} seeds meets it: it takes ${what}`;
}

/** The file with the defect in it. */
export function mutate(text: string, { id, file, find, replace }: Mutant): string {
  const occurrences = text.split(find).length - 1;
  if (occurrences !== 1)
    throw new Error(`${id} no longer applies: its text occurs ${occurrences} times in ${file}`);
  return text.replace(find, () => replace);
}
