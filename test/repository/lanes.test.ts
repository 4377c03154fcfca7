import { matchesGlob } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ALONE, LONGEST_FIRST, ONLY_LONG, SAME_ON_ANY_NODE, TOUCHED } from '../lanes.ts';
import { complaintsAboutLanes, type Lanes, unitTestsWithPrograms } from './lanes.ts';
import { repositoryTree, treeOf } from './tree.ts';

const LANES: Lanes = { onlyLong: ONLY_LONG, touched: TOUCHED, alone: ALONE, longestFirst: LONGEST_FIRST };

describe('the lanes of the tests', () => {
  test('name tests that are there, with a reason for each that npm test leaves out, and what it has instead', () => {
    expect(complaintsAboutLanes(repositoryTree(), LANES)).toEqual([]);
  });

  test('leave nothing to npm test that needs a program before programs are fetched', () => {
    expect(unitTestsWithPrograms(repositoryTree())).toEqual([]);
  });

  test.each(Object.keys(SAME_ON_ANY_NODE))(
    'leave out %s on the second Node, and that is something',
    (pattern) => {
      const tests = [...repositoryTree().keys()].filter((path) => path.endsWith('.test.ts'));
      expect(tests.filter((path) => matchesGlob(path, pattern))).not.toEqual([]);
    },
  );
});

describe('the check of the lanes', () => {
  const tree = treeOf({
    'test/a.test.ts': 'x',
    'test/b.process.test.ts': 'x',
    'test/c.process.test.ts': 'x',
  });
  const none: Lanes = { onlyLong: {}, touched: {}, alone: [], longestFirst: [] };

  test('finds a file that is gone', () => {
    expect(complaintsAboutLanes(tree, { ...none, alone: ['test/gone.test.ts'] })).toEqual([
      'there is no test test/gone.test.ts',
    ]);
  });

  test('finds a long test without a reason, and one without a substitute that npm test runs', () => {
    const onlyLong = {
      'test/b.process.test.ts': { because: '', instead: 'test/c.process.test.ts' },
      'test/c.process.test.ts': { because: 'slow', instead: 'test/a.test.ts' },
    };
    expect(complaintsAboutLanes(tree, { ...none, onlyLong })).toEqual([
      'test/b.process.test.ts: long without a reason',
      'test/b.process.test.ts: npm test does not run test/c.process.test.ts instead',
    ]);
  });

  test('finds what users touch and only the long run does, or no process', () => {
    const onlyLong = { 'test/b.process.test.ts': { because: 'slow', instead: 'test/a.test.ts' } };
    const touched = { page: 'test/b.process.test.ts', SDK: 'test/a.test.ts' };
    expect(complaintsAboutLanes(tree, { ...none, onlyLong, touched })).toEqual([
      'page: npm test does not run test/b.process.test.ts',
      'SDK: test/a.test.ts starts no process',
    ]);
  });

  test('finds a unit test that asks for a program', () => {
    const text = "import { needProgram } from '../support/programs.ts';\n";
    expect(
      unitTestsWithPrograms(treeOf({ 'test/x/a.test.ts': text, 'test/x/b.process.test.ts': text })),
    ).toEqual(['test/x/a.test.ts needs a program: its name must end in .process.test.ts']);
  });
});
