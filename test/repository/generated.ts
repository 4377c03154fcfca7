/**
 * Parts of documents that repeat what the code says. Each row names the file, the marked part of it (between
 * `<!-- NAME:begin -->` and `<!-- NAME:end -->`), what the code says, and how to read the same from the part. A person
 * may word such a table; a person may not let it drift.
 */
import { ERROR_CODES } from 'baton/caspaxos';
import type { Tree } from './tree.ts';

export interface Generated {
  readonly file: string;
  readonly part: string;
  /** What must be there, by the code. */
  readonly expected: () => readonly string[];
  /** What is there, read from the marked part. */
  readonly found: (part: string) => readonly string[];
}

export const GENERATED: readonly Generated[] = [
  { file: 'docs/caspaxos.md', part: 'errors', expected: () => ERROR_CODES, found: codesInFirstColumn },
];

/** `CODE` in the first column of a table. */
export function codesInFirstColumn(part: string): string[] {
  return [...part.matchAll(/^\|\s*`([A-Z][A-Z_]*)`\s*\|/gm)].map(([, code]) => code!);
}

export function stale(tree: Tree, { file, part, expected, found }: Generated): string[] {
  const text = tree.get(file);
  if (text === undefined) return [`there is no ${file}`];
  const [, rest] = text.split(`<!-- ${part}:begin -->`);
  const [marked, end] = rest?.split(`<!-- ${part}:end -->`) ?? [];
  if (marked === undefined || end === undefined) return [`${file} has no part ${part}`];
  const there = found(marked);
  return [
    ...expected()
      .filter((item) => !there.includes(item))
      .map((item) => `${file} lacks ${item}`),
    ...there
      .filter((item) => !expected().includes(item))
      .map((item) => `${file} has ${item}, the code has not`),
    ...there
      .filter((item, index) => there.indexOf(item) !== index)
      .map((item) => `${file} has ${item} twice`),
  ];
}
