import { describe, expect, test } from 'vitest';
import { repositoryTree, treeOf } from './tree.ts';
import { brokenProjects, DOORS, importsThroughWalls, unknownRooms } from './walls.ts';

describe('the walls between the rooms', () => {
  test('every folder of src is a room', () => {
    expect(unknownRooms(repositoryTree())).toEqual([]);
  });

  test('imports point down, through index.ts', () => {
    expect(importsThroughWalls(repositoryTree())).toEqual([]);
  });

  test('every door leads somewhere', () => {
    expect([...DOORS].filter((door) => !repositoryTree().has(door))).toEqual([]);
  });

  test('every room and core is a project that refers to lower ones only', () => {
    expect(brokenProjects(repositoryTree())).toEqual([]);
  });
});

/** A tree with one file that imports one thing; the other files are there to be imported. */
const importing = (path: string, specifier: string) =>
  importsThroughWalls(
    treeOf({
      'src/protocol/index.ts': '',
      'src/protocol/ballot.ts': '',
      'src/caspaxos/index.ts': '',
      'src/caspaxos/errors.ts': '',
      'src/caspaxos/core/index.ts': '',
      'src/caspaxos/core/leader.ts': '',
      'src/failover/index.ts': '',
      'src/server/config/index.ts': '',
      'src/server/config/read.ts': '',
      'src/server/node/index.ts': '',
      'test/support/not-run.ts': '',
      [path]: `export type { Something } from '${specifier}';`,
    }),
  );

describe('the check of imports', () => {
  test.each([
    ['an upward import', 'src/protocol/a.ts', '../caspaxos/index.ts', 'caspaxos is above protocol'],
    ['an upward import by the package', 'src/caspaxos/a.ts', 'baton/failover', 'failover is above caspaxos'],
    ['a window', 'src/caspaxos/a.ts', '../protocol/ballot.ts', 'entered through its index.ts'],
    ['a window beside a door', 'src/cli/a.ts', '../server/config/read.ts', 'entered through its index.ts'],
    ['a folder that is no door', 'src/cli/a.ts', '../server/node/index.ts', 'entered through its index.ts'],
    ['a door above', 'src/failover/a.ts', '../server/config/index.ts', 'server is above failover'],
    [
      'a window into a core',
      'src/failover/a.ts',
      '../caspaxos/core/index.ts',
      'entered through its index.ts',
    ],
    ['the middle of its own core', 'src/caspaxos/a.ts', './core/leader.ts', 'entered through its index.ts'],
    ['a core that looks out', 'src/caspaxos/core/a.ts', '../errors.ts', 'a core sees only itself'],
    ['Node in a core', 'src/caspaxos/core/a.ts', 'node:fs', 'a core sees only itself'],
    ['a package in a core', 'src/caspaxos/core/a.ts', 'msgpackr', 'a core sees only itself'],
    ['the page that looks at a room', 'src/dashboard/a.ts', '../protocol/index.ts', 'dashboard stands alone'],
    ['a room that looks at the page', 'src/cli/a.ts', '../dashboard/index.ts', 'dashboard stands alone'],
    ['a test helper in a product', 'src/caspaxos/a.ts', '../../test/support/not-run.ts', 'outside src'],
  ])('catches %s', (_, path, specifier, complaint) => {
    expect(importing(path, specifier)).toEqual([expect.stringContaining(complaint)]);
  });

  test.each([
    ['a lower room', 'src/caspaxos/a.ts', '../protocol/index.ts'],
    ['a lower room, by the package', 'src/caspaxos/a.test.ts', 'baton/protocol'],
    ['a door of a lower room', 'src/cli/a.ts', '../server/config/index.ts'],
    ['its own core', 'src/caspaxos/stores/a.ts', '../core/index.ts'],
    ['a lower room from a core', 'src/caspaxos/core/a.ts', '../../protocol/index.ts'],
    ['the core of a lower room from a core', 'src/failover/core/a.ts', '../../caspaxos/core/index.ts'],
    ['a test library in a test of a core', 'src/caspaxos/core/a.test.ts', 'vitest'],
    ['a helper of the tests in a test', 'src/caspaxos/a.test.ts', '../../test/support/not-run.ts'],
    ['Node outside the cores', 'src/caspaxos/a.ts', 'node:fs'],
  ])('allows %s', (_, path, specifier) => {
    expect(importing(path, specifier)).toEqual([]);
  });

  test.each([
    ['import()', "await import('../caspaxos/index.ts');"],
    ['a type in place', "type A = import('../caspaxos/index.ts').A;"],
    ['export *', "export * from '../caspaxos/index.ts';"],
    ['an import for its effect', "import '../caspaxos/index.ts';"],
  ])('sees %s', (_, text) => {
    const tree = treeOf({ 'src/caspaxos/index.ts': '', 'src/protocol/index.ts': text });
    expect(importsThroughWalls(tree)).toHaveLength(1);
  });
});

describe('the check of projects', () => {
  const project = (...paths: string[]) => JSON.stringify({ references: paths.map((path) => ({ path })) });
  const good = {
    'tsconfig.json': project('src/protocol', 'src/caspaxos', 'src/caspaxos/core'),
    'src/protocol/index.ts': '',
    'src/protocol/tsconfig.json': project(),
    'src/caspaxos/index.ts': '',
    'src/caspaxos/tsconfig.json': project('../protocol', './core'),
    'src/caspaxos/core/index.ts': '',
    'src/caspaxos/core/tsconfig.json': project('../../protocol'),
  };

  test('is content with a good tree', () => {
    expect(brokenProjects(treeOf(good))).toEqual([]);
  });

  test.each([
    ['an upward reference', { 'src/protocol/tsconfig.json': project('../caspaxos') }],
    [
      'a page that refers to a room',
      {
        'src/dashboard/a.ts': '',
        'src/dashboard/tsconfig.json': project('../protocol'),
        'tsconfig.json': project('src/protocol', 'src/caspaxos', 'src/caspaxos/core', 'src/dashboard'),
      },
    ],
    ['a core that refers to its room', { 'src/caspaxos/core/tsconfig.json': project('..') }],
    ['a project that is not built', { 'tsconfig.json': project('src/protocol', 'src/caspaxos') }],
    ['a room without a project', { 'src/failover/index.ts': '' }],
  ])('catches %s', (_, change) => {
    expect(brokenProjects(treeOf({ ...good, ...change }))).toHaveLength(1);
  });

  test('and of rooms catches one that has no place', () => {
    expect(unknownRooms(treeOf({ 'src/utilities/index.ts': '' }))).toHaveLength(1);
  });
});
