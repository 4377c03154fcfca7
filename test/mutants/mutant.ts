/**
 * A deliberate defect: one text of one source file replaced by another, applied to a copy of the sources. The tests
 * that it names must then fail. A text that does not occur exactly once is an error: a mutant must not fall silent when
 * the source moves on.
 */
export interface Mutant {
  readonly id: string;
  /** The rule of DESIGN section 3 that it breaks. */
  readonly rule: number;
  /** What it breaks, in words: the row of the published table. */
  readonly what: string;
  /** Below the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The narrowest tests that must catch it. */
  readonly tests: readonly string[];
}

/** The file with the defect in it. */
export function mutate(text: string, { id, file, find, replace }: Mutant): string {
  const occurrences = text.split(find).length - 1;
  if (occurrences !== 1)
    throw new Error(`${id} no longer applies: its text occurs ${occurrences} times in ${file}`);
  return text.replace(find, () => replace);
}
