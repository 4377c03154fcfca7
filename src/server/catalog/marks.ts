/**
 * Which history a catalogue has. Every change draws a mark, and the catalogue carries those of its last versions, the newest first. A version
 * number alone says little: a catalogue that was restored from an older copy and then edited reaches the same numbers again, with other changes.
 * Whoever remembers a version with its mark finds out whether this catalogue was once the one that it knew.
 */
import type { Catalog } from './catalog.ts';

/** Whoever was away for more changes than these does not know any more. */
const MOST_MARKS = 256;

/** `before`: undefined when there was none. One without marks, of an earlier version of this software, gets its first. */
export function marked(before: Catalog | undefined, after: Catalog, mark: string): Catalog {
  const steps = before?.marks === undefined ? 1 : after.version - before.version;
  if (steps <= 0) return after;
  const added = Array.from({ length: Math.min(steps, MOST_MARKS) }, () => mark);
  return { ...after, marks: [...added, ...(before?.marks ?? [])].slice(0, MOST_MARKS) };
}

/** That of a version; undefined: it is not known any more, or not yet. */
export function markOf({ version, marks = [] }: Catalog, of = version): string | undefined {
  return of > version ? undefined : marks[version - of];
}
