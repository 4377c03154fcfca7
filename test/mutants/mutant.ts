/**
 * A deliberate defect: one text of one source file replaced by another, applied to a copy of the sources. The tests
 * that it names must then fail, and so must one of the first seeds of the simulation, unless the simulation cannot meet
 * the defect. A text that does not occur exactly once is an error: a mutant must not fall silent when the source moves on.
 */
export interface Mutant {
  readonly id: string;
  /** The rule of DESIGN section 3 that it breaks; 0: the protocol itself, the paper's Figures 2 to 4. */
  readonly rule: number;
  /** What it breaks, in words: the row of the published table. */
  readonly what: string;
  /** Below the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The narrowest tests that must catch it. */
  readonly tests: readonly string[];
  /** Whether seeds of `registersSimulation` must catch it, or why they cannot. */
  readonly simulated: true | string;
}

export const THE_SERVICE = 'the acceptor service with its journal and its connections is not simulated';
export const COSTS_ONLY = 'it costs time and breaks nothing';

/** The simulation could meet it, but so seldom that no seed of many hundreds did. A workload that does is welcome. */
export function rare(what: string): string {
  return `rare, hundreds of seeds do not meet it: it takes ${what}`;
}

/** The file with the defect in it. */
export function mutate(text: string, { id, file, find, replace }: Mutant): string {
  const occurrences = text.split(find).length - 1;
  if (occurrences !== 1)
    throw new Error(`${id} no longer applies: its text occurs ${occurrences} times in ${file}`);
  return text.replace(find, () => replace);
}
