/** Whether the lanes of the tests (test/lanes.ts) still say what is there. */
import type { OnlyLong } from '../lanes.ts';
import type { Tree } from './tree.ts';

export interface Lanes {
  readonly onlyLong: Readonly<Record<string, OnlyLong>>;
  readonly touched: Readonly<Record<string, string>>;
  readonly alone: readonly string[];
  readonly longestFirst: readonly string[];
}

const isTest = (path: string): boolean => /^(?:src|test)\/.*\.test\.ts$/.test(path);

export function complaintsAboutLanes(tree: Tree, lanes: Lanes): string[] {
  const { onlyLong, touched, alone, longestFirst } = lanes;
  const isQuick = (path: string): boolean => tree.has(path) && !Object.hasOwn(onlyLong, path);
  const rows = Object.entries(onlyLong);
  const named = [...rows.map(([path]) => path), ...alone, ...longestFirst];
  return [
    ...named.filter((path) => !tree.has(path) || !isTest(path)).map((path) => `there is no test ${path}`),
    ...rows.filter(([, { because }]) => because === '').map(([path]) => `${path}: long without a reason`),
    ...rows
      .filter(([, { instead }]) => !isQuick(instead))
      .map(([path, { instead }]) => `${path}: npm test does not run ${instead} instead`),
    ...Object.entries(touched)
      .filter(([, path]) => !isQuick(path))
      .map(([what, path]) => `${what}: npm test does not run ${path}`),
    ...Object.entries(touched)
      .filter(([, path]) => !path.endsWith('.process.test.ts'))
      .map(([what, path]) => `${what}: ${path} starts no process`),
  ];
}

/** Tests that run while programs are still being fetched, and yet need one. */
export function unitTestsWithPrograms(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => isTest(path) && !path.endsWith('.process.test.ts'))
    .filter(([, text]) =>
      /^import [^;]*'[^']*\/(?:support\/programs|stores\/servers\/[\w-]+)\.ts'/m.test(text),
    )
    .map(([path]) => `${path} needs a program: its name must end in .process.test.ts`);
}
