import { describe, expect, test } from 'vitest';
import { boundsOnTime } from './clocks.ts';
import { deadFiles } from './dead-files.ts';
import {
  lockedAddresses,
  longFiles,
  longFunctions,
  machinePaths,
  neighbours,
  testsThatDoNotRun,
} from './habits.ts';
import { longSubjects, recentSubjects } from './subjects.ts';
import { repositoryTree, treeOf } from './tree.ts';

/** Put together with what is asserted below, or the check would find its own examples. */
const EXPECT = 'expect';

describe('this repository', () => {
  test.each([
    ['no file that nothing leads to', deadFiles],
    ['no file too long to read', longFiles],
    ['no function too long to see at once', longFunctions],
    ['no test that does not run', testsThatDoNotRun],
    ['no registry address in its lock file', lockedAddresses],
    ['no path of one machine', machinePaths],
    ['nothing that lies beside it', neighbours],
    ['no test that bounds the time it takes', boundsOnTime],
  ])('has %s', (_, check) => {
    expect(check(repositoryTree())).toEqual([]);
  });
});

test('commits have subjects of one line, since that is checked', () => {
  expect(longSubjects(recentSubjects())).toEqual([]);
  expect(longSubjects(['a'.repeat(72), 'b'.repeat(73)])).toEqual(['b'.repeat(73)]);
});

describe('the check for dead files', () => {
  const alive = {
    'package.json': JSON.stringify({
      bin: { baton: 'dist/cli/main.js' },
      exports: { './check': { default: './dist/check/index.js' } },
      scripts: {
        test: 'node scripts/test.mjs',
        bench: 'node scripts/setup.mjs && node build/bench/speed.js',
      },
    }),
    'scripts/test.mjs': "import './setup.mjs';",
    'scripts/setup.mjs': '',
    'bench/speed.ts':
      "spawn('node', [new URL('../../dist/cli/worker.js', import.meta.url), compiled('parts/child.js')]);",
    'bench/parts/child.ts': '',
    'src/cli/main.ts': "export * from './other.ts';",
    'src/cli/other.ts': '',
    'src/cli/worker.ts': "new Worker(new URL('./thread.js', import.meta.url));",
    'src/cli/thread.ts': '',
    'src/check/index.ts': '',
    'src/check/a.test.ts': "import { help } from '../../test/support/help.ts';",
    'test/support/help.ts': '',
  };

  test('follows exports, scripts, tests, imports and names of files', () => {
    expect(deadFiles(treeOf(alive))).toEqual([]);
  });

  test('catches a file that only a dead file leads to', () => {
    const dead = {
      'src/check/dead.ts': "import './deader.ts';",
      'src/check/deader.ts': '',
      'bench/old.ts': '',
    };
    expect(deadFiles(treeOf({ ...alive, ...dead }))).toEqual(Object.keys(dead));
  });
});

describe('the checks of habits', () => {
  const lines = (count: number) => 'work();\n'.repeat(count);

  test('catch a long file, and count to the line', () => {
    expect(longFiles(treeOf({ 'src/check/a.ts': lines(500) }))).toEqual([]);
    expect(longFiles(treeOf({ 'src/check/a.ts': lines(501) }))).toHaveLength(1);
  });

  test.each([
    ['a function', (body: string) => `function long() {\n${body}}`],
    ['an arrow', (body: string) => `const long = () => {\n${body}};`],
    ['a method', (body: string) => `class A {\n  long() {\n${body}}\n}`],
  ])('catch %s that is long, and count to the line', (_, around) => {
    const check = (count: number) => longFunctions(treeOf({ 'src/check/a.ts': around(lines(count)) }));
    expect(check(68)).toEqual([]);
    expect(check(69)).toEqual([expect.stringMatching(/long has 71 lines/)]);
  });

  test.each(['skip', 'only', 'todo'])('catch test.%s', (mode) => {
    const text = `test('a', () => {});\ntest.${mode}('b', () => {});\ndescribe.concurrent.${mode}('c', () => {});`;
    const found = testsThatDoNotRun(treeOf({ 'src/check/a.test.ts': text }));
    expect(found).toEqual([`src/check/a.test.ts:2 test.${mode}`, `src/check/a.test.ts:3 describe.${mode}`]);
  });

  test('let a test say that it cannot run', () => {
    const text = "test('a', (context) => context.skip('not run: no server'));";
    expect(testsThatDoNotRun(treeOf({ 'src/check/a.test.ts': text }))).toEqual([]);
  });

  test('catch an address in the lock file', () => {
    const lock = (entry: object) =>
      treeOf({ 'package-lock.json': JSON.stringify({ packages: { a: entry } }) });
    expect(lockedAddresses(lock({ version: '1.0.0' }))).toEqual([]);
    expect(lockedAddresses(lock({ resolved: 'https://registry.example/a.tgz' }))).toHaveLength(1);
  });

  test.each(['root', 'home', 'work'])('catch a path below /%s', (folder) => {
    const found = (text: string) => machinePaths(treeOf({ 'docs/a.md': text }));
    expect(found(`first\nrun /${folder}/someone/baton`)).toEqual([expect.stringContaining('docs/a.md:2')]);
    expect(found(`see https://example.org/${folder}/page and ./${folder}/a`)).toEqual([]);
  });

  test('catch a path that leaves the repository for its neighbour', () => {
    const found = (text: string) => neighbours(treeOf({ 'docs/a.md': text }));
    expect(found(`first\nsee ${['..', 'shared', 'data'].join('/')}`)).toEqual([
      expect.stringContaining('docs/a.md:2'),
    ]);
    expect(found(`see ${['..', 'shared-types'].join('/')} and ./shared/a`)).toEqual([]);
  });

  test.each([
    '(performance.now() - startedAt).toBeLessThan(100);',
    '(took).toBeLessThanOrEqual(5);',
    '(Date.now() - startedAt)\n  .not.toBeGreaterThan(5);',
    '(Math.abs(stamp * 1000 - Date.now())).toBeLessThan(60_000);',
  ])('catch that a test expects %s', (asserted) => {
    const text = `const took = performance.now() - startedAt;\n${EXPECT}${asserted}`;
    expect(boundsOnTime(treeOf({ 'src/a.test.ts': text }))).toHaveLength(1);
  });

  test.each([
    '(performance.now() - startedAt).toBeGreaterThanOrEqual(100);',
    '(ends - Date.now()).toBeLessThanOrEqual(90);',
    '(stamp).toBeLessThanOrEqual(Date.now());',
    '(clock.now() - before).toBeLessThan(10);',
  ])('let a test expect %s', (asserted) => {
    expect(boundsOnTime(treeOf({ 'src/a.test.ts': `${EXPECT}${asserted}` }))).toEqual([]);
  });
});
