/**
 * Files that nothing leads to. The ways in are what package.json exports and runs, what CI runs, and the tests; from
 * there imports lead on, and names in strings, because workers and child processes are started by the name of a file
 * (of the compiled one: `dist/` holds `src/`, `build/` holds the rest).
 */
import { posix } from 'node:path';
import { factsOf, resolveImport } from './modules.ts';
import { filesUnder, isTest, type Tree, textOf } from './tree.ts';

const FOLDERS = ['src', 'test', 'bench', 'scripts'];
const SUFFIXES = ['.ts', '.tsx', '.mjs'];
const FILE_NAME = /[\w./-]+\.(?:tsx?|m?js)\b/g;

export function deadFiles(tree: Tree): string[] {
  const alive = new Set<string>();
  const names = new NamedFiles(tree);
  const queue = entryPoints(tree, names);
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (alive.has(path) || !tree.has(path)) continue;
    alive.add(path);
    queue.push(...leadsTo(tree, path, names));
  }
  return filesUnder(tree, FOLDERS, SUFFIXES).filter((path) => !alive.has(path));
}

function entryPoints(tree: Tree, names: NamedFiles): string[] {
  const settings = ['package.json', '.ci/run']
    .filter((path) => tree.has(path))
    .map((path) => textOf(tree, path));
  const named = settings
    .flatMap((text) => text.match(FILE_NAME) ?? [])
    .flatMap((name) => names.meantBy(name, ''));
  return [
    'vitest.config.ts',
    ...named,
    ...filesUnder(tree, FOLDERS, SUFFIXES).filter((path) => isTest(path)),
  ];
}

function leadsTo(tree: Tree, path: string, files: NamedFiles): string[] {
  const { imports, strings } = factsOf(path, textOf(tree, path));
  const imported = imports
    .map((specifier) => resolveImport(tree, path, specifier))
    .filter((file) => file !== undefined);
  const names = strings.flatMap((text) => text.match(FILE_NAME) ?? []);
  return [...imported, ...names.flatMap((name) => files.meantBy(name, posix.dirname(path)))];
}

/**
 * The sources that a name in a string can mean: a file beside the one that names it, or, when the name has a folder in
 * it, any file whose path ends so, because the name may be seen from the root or from a compiled copy.
 */
class NamedFiles {
  readonly #tree: Tree;
  /** By every end of their paths that begins after a slash and has one in it. */
  readonly #byEnd = new Map<string, string[]>();

  constructor(tree: Tree) {
    this.#tree = tree;
    for (const path of tree.keys()) {
      const parts = path.split('/');
      for (let from = 0; from < parts.length - 1; from += 1) {
        const end = parts.slice(from).join('/');
        const known = this.#byEnd.get(end);
        if (known === undefined) this.#byEnd.set(end, [path]);
        else known.push(path);
      }
    }
  }

  meantBy(name: string, folder: string): string[] {
    const end = name
      .replace(/^(?:\.{1,2}\/)+/, '')
      .replace(/^dist\//, 'src/')
      .replace(/^build\//, '');
    const sources = [end, end.replace(/\.js$/, '.ts'), end.replace(/\.js$/, '.tsx')];
    return sources.flatMap((source) => {
      const beside = posix.join(folder, source);
      return [...(this.#tree.has(beside) ? [beside] : []), ...(this.#byEnd.get(source) ?? [])];
    });
  }
}
