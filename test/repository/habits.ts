/** Small habits of the sources: lengths that fit a head, tests that all run, nothing tied to one machine. */
import { factsOf } from './modules.ts';
import { filesUnder, isTest, type Tree, textOf } from './tree.ts';

const SOURCES = ['src', 'test', 'bench', 'scripts'];
const LONGEST_FILE = 500;
const LONGEST_FUNCTION = 70;

export function longFiles(tree: Tree): string[] {
  return filesUnder(tree, SOURCES, ['.ts', '.tsx', '.mjs']).flatMap((path) => {
    const lines = textOf(tree, path).trimEnd().split('\n').length;
    return lines > LONGEST_FILE ? [`${path} has ${lines} lines, over ${LONGEST_FILE}`] : [];
  });
}

export function longFunctions(tree: Tree): string[] {
  const paths = filesUnder(tree, ['src', 'scripts'], ['.ts', '.tsx', '.mjs']).filter((path) => !isTest(path));
  return paths.flatMap((path) =>
    factsOf(path, textOf(tree, path))
      .functions.filter(({ lines }) => lines > LONGEST_FUNCTION)
      .map(({ name, line, lines }) => `${path}:${line} ${name} has ${lines} lines, over ${LONGEST_FUNCTION}`),
  );
}

export function testsThatDoNotRun(tree: Tree): string[] {
  return filesUnder(tree, SOURCES, ['.test.ts']).flatMap((path) =>
    factsOf(path, textOf(tree, path)).testModes.map(({ mode, line }) => `${path}:${line} ${mode}`),
  );
}

/** A lock file with addresses in it installs from one registry only. */
export function lockedAddresses(tree: Tree): string[] {
  const { packages } = JSON.parse(textOf(tree, 'package-lock.json')) as {
    packages: Record<string, { resolved?: string }>;
  };
  return Object.entries(packages)
    .filter(([, { resolved }]) => resolved !== undefined)
    .map(([name, { resolved }]) => `package-lock.json: ${name} comes from ${resolved}`);
}

/** A folder at the top of somebody's machine, at the start of a path: not in the middle of an address. */
const MACHINE_PATH = new RegExp(`(?<![\\w.~/-])/(?:${['work', 'root', 'home'].join('|')})/[\\w.]`);

export function machinePaths(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) =>
    text
      .split('\n')
      .flatMap((line, index) => (MACHINE_PATH.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [])),
  );
}

/** What lies beside a checkout on the machine where this was written. */
const NEIGHBOUR = /\.\.[\\/]shared(?![\w-])/;
/** Tests of reference data that is not in the repository look for it there, and are silent where it is not. */
const LOOKS_FOR_DATA = new Set(['src/check/jepsen.test.ts']);

export function neighbours(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => !LOOKS_FOR_DATA.has(path))
    .flatMap(([path, text]) =>
      text
        .split('\n')
        .flatMap((line, index) => (NEIGHBOUR.test(line) ? [`${path}:${index + 1} ${line.trim()}`] : [])),
    );
}
