/**
 * The lives of an acceptor that keeps a disk of its own (docs/design.md: "life"). Every start draws a new one, durable before anybody is
 * answered, and names those before it. The configuration records for each member the life in use; only that one counts.
 *
 *   directory    L1 ─▶ L2 ─▶ L3          each start; `after` has every life that may still be the recorded one
 *   recorded     L1 ───────▶ L3          moves on along that chain, by a decision in the configuration's register
 *
 * Two copies of one directory both follow the recorded life, but draw different ones: whichever is recorded first, the other is no
 * successor of it, and never will be. The same goes for a directory that was put back from a copy made in an earlier life.
 */

/** As the configuration records it. */
export interface Life {
  readonly id: string;
  /** The sequence number with which it began: whoever has seen the acceptor further on in an earlier life knows that it forgot. */
  readonly from: number;
}

/** As the acceptor tells it. */
export interface ToldLife extends Life {
  /** The lives before it, the last one first, back to the one that the acceptor knows to be recorded. */
  readonly after: readonly string[];
}

export type LifeStanding =
  /** The recorded one, or nothing is recorded, or the acceptor has no lives to tell. */
  | 'in use'
  /** It comes after the recorded one: to be recorded. */
  | 'successor'
  /** A copy that was superseded, or an older one. With an older configuration perhaps one that came later. */
  | 'stranger';

export const MAX_LIVES = 1000;

/** The next start. `recorded`: as far as the acceptor knows. */
export function nextLife(life: Life, last: ToldLife | undefined, recorded: Life | undefined): ToldLife {
  if (last === undefined) return { ...life, after: [] };
  const after = settledLife({ ...life, after: [last.id, ...last.after] }, recorded).after;
  // Starts that nobody talked to: what is left out was never recorded.
  const kept = after.length <= MAX_LIVES ? after : [...after.slice(0, MAX_LIVES - 1), after.at(-1)!];
  return { ...life, after: kept };
}

/** Without those that were over before the recorded one began. */
export function settledLife(told: ToldLife, recorded: Life | undefined): ToldLife {
  if (recorded === undefined) return told;
  if (told.id === recorded.id) return told.after.length === 0 ? told : { ...told, after: [] };
  const at = told.after.indexOf(recorded.id);
  return at < 0 || at === told.after.length - 1 ? told : { ...told, after: told.after.slice(0, at + 1) };
}

export function lifeStanding(told: ToldLife | undefined, recorded: Life | undefined): LifeStanding {
  if (told === undefined || recorded === undefined || told.id === recorded.id) return 'in use';
  return told.after.includes(recorded.id) ? 'successor' : 'stranger';
}

export function isLife(value: unknown): value is Life {
  const { id, from } = (value ?? {}) as Partial<Record<string, unknown>>;
  return isLifeId(id) && Number.isSafeInteger(from) && (from as number) >= 0;
}

export function isToldLife(value: unknown): value is ToldLife {
  const { after } = (value ?? {}) as Partial<Record<string, unknown>>;
  return isLife(value) && Array.isArray(after) && after.length <= MAX_LIVES && after.every(isLifeId);
}

function isLifeId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 64;
}
