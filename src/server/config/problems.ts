/**
 * What is wrong with a file, said so that people find it: where it stands, which field it is, and one sentence. All problems
 * of a file come in one error. A sentence may quote what was written, never what may be a secret.
 */

export interface Position {
  /** Both count from 1. */
  readonly line: number;
  readonly column: number;
}

export interface Problem extends Position {
  /** Such as `regions[1].nodes[0].listen`; empty when the file as a whole is meant. */
  readonly field: string;
  readonly sentence: string;
}

export const CONFIG_ERRORS = {
  CONFIG_INVALID: 'The file does not describe a cluster.',
  CONFIG_UNREADABLE: 'The file cannot be read.',
  CONFIG_SECRET: 'A token, a key or a password that the file names by a file or by a variable is not there.',
} as const;

export type ConfigErrorCode = keyof typeof CONFIG_ERRORS;

/** More than this nobody reads; the message says how many are left. */
const SHOWN = 50;
const LONGEST_QUOTE = 60;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly code: ConfigErrorCode;
  readonly path: string;
  readonly problems: readonly Problem[];

  constructor(code: ConfigErrorCode, path: string, problems: readonly Problem[]) {
    const sorted = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
    const lines = sorted
      .slice(0, SHOWN)
      .map((problem) => (code === 'CONFIG_UNREADABLE' ? problem.sentence : formatProblem(path, problem)));
    if (sorted.length > SHOWN) lines.push(`... and ${sorted.length - SHOWN} more.`);
    super(lines.join('\n'));
    this.code = code;
    this.path = path;
    this.problems = sorted;
  }

  toJSON(): object {
    const { name, code, path, problems } = this;
    return { name, code, path, problems };
  }
}

export function formatProblem(path: string, { line, column, field, sentence }: Problem): string {
  return `${printable(path)}:${line}:${column} ${field === '' ? '' : `${field}: `}${sentence}`;
}

/** A value as a sentence quotes it: short, on one line, without anything that a terminal would obey. */
export function quoted(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return kindOf(value);
  const shown = value.length > LONGEST_QUOTE ? `${value.slice(0, LONGEST_QUOTE)}...` : value;
  return `"${printable(shown)}"`;
}

export function printable(text: string): string {
  return text.replaceAll(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  switch (typeof value) {
    case 'object':
      return 'a mapping';
    case 'string':
      return 'a text';
    case 'boolean':
      return 'true or false';
    default:
      return 'a number';
  }
}

/** `regions[1].nodes[0].listen` for the steps that lead there. */
export function fieldPath(steps: readonly PropertyKey[]): string {
  let text = '';
  for (const step of steps) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += `${text === '' ? '' : '.'}${printable(String(step)).slice(0, LONGEST_QUOTE)}`;
  }
  return text;
}

/** The known word that somebody may have meant: one that begins like it, or that two slips turn into it. */
export function suggestion(written: string, known: readonly string[]): string | undefined {
  const word = written.slice(0, LONGEST_QUOTE).toLowerCase();
  const [longer, ...others] = known.filter((candidate) => candidate.toLowerCase().startsWith(word));
  if (word.length >= 3 && longer !== undefined && others.length === 0) return longer;
  let best: string | undefined;
  let least = word.length < 3 ? 1 : 3;
  for (const candidate of known) {
    const slips = slipsBetween(word, candidate.toLowerCase());
    if (slips >= Math.min(least, candidate.length / 2)) continue;
    best = candidate;
    least = slips;
  }
  return best;
}

/** Letters too many, too few, wrong, or in the wrong order. */
function slipsBetween(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  for (let at = 1; at <= from.length; at += 1) {
    const above = rows[at - 1]!;
    const row = [at];
    for (let other = 1; other <= to.length; other += 1) {
      const same = from[at - 1] === to[other - 1];
      const swapped = from[at - 1] === to[other - 2] && from[at - 2] === to[other - 1];
      row.push(
        Math.min(
          above[other - 1]! + (same ? 0 : 1),
          above[other]! + 1,
          row[other - 1]! + 1,
          swapped ? rows[at - 2]![other - 2]! + 1 : Infinity,
        ),
      );
    }
    rows.push(row);
  }
  return rows[from.length]![to.length]!;
}
