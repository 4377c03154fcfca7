/**
 * The repository as data: every text file that a clone would hold, by its path. The checks of this folder are functions
 * from such a tree to a list of complaints, so that each can be shown to catch a planted defect in a tree of two lines.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** From path, relative to the root and with slashes, to content. */
export type Tree = ReadonlyMap<string, string>;

export function treeOf(files: Record<string, string>): Tree {
  return new Map(Object.entries(files));
}

let wholeTree: Tree | undefined;

/** Read without git, which need not be there: everything that .gitignore does not name. */
export function repositoryTree(): Tree {
  const isIgnored = ignored(readFileSync(join(ROOT, '.gitignore'), 'utf8'));
  wholeTree ??= new Map([...textFiles('', isIgnored)].sort(([left], [right]) => (left < right ? -1 : 1)));
  return wholeTree;
}

type IsIgnored = (name: string) => boolean;

/** The three forms of pattern that our .gitignore has: `name/`, `*.suffix` and `name`. */
function ignored(patterns: string): IsIgnored {
  const lines = patterns.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const names = new Set(['.git', ...lines.map((line) => line.replace(/\/$/, ''))]);
  const suffixes = lines.filter((line) => line.startsWith('*')).map((line) => line.slice(1));
  return (name) => names.has(name) || suffixes.some((suffix) => name.endsWith(suffix));
}

function* textFiles(folder: string, isIgnored: IsIgnored): Generator<[string, string]> {
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    if (isIgnored(entry.name)) continue;
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* textFiles(path, isIgnored);
    if (!entry.isFile()) continue;
    const text = readFileSync(join(ROOT, path), 'utf8');
    if (!text.includes('\0')) yield [path, text];
  }
}

/** The files under some folders whose names end in some way, tests included. */
export function filesUnder(tree: Tree, folders: readonly string[], suffixes: readonly string[]): string[] {
  return [...tree.keys()].filter(
    (path) =>
      folders.some((folder) => path.startsWith(`${folder}/`)) &&
      suffixes.some((suffix) => path.endsWith(suffix)),
  );
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

export function textOf(tree: Tree, path: string): string {
  const text = tree.get(path);
  if (text === undefined) throw new Error(`There is no ${path}`);
  return text;
}
