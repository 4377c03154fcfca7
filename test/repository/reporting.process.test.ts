/** What `npm test` makes of tests that do not run: a small project of its own, run with the real reporter. */
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeScratch, removeScratch, run, write } from './scratch.ts';
import { ROOT } from './tree.ts';

interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly filtered: number;
  readonly notRun: readonly { test: string; what: string; how: string }[];
  readonly skipped: readonly string[];
  readonly problems: readonly string[];
}

const FILES = {
  good: "test('good', () => {}); test('other', () => {});",
  bad: "test('bad', () => { throw new Error('bad'); });",
  lacking: "test('a', (context) => notRun(context, { what: 'no; server', how: 'install (one); or two' }));",
  skip: "test.skip('a', () => {});",
  note: "test('a', (context) => context.skip('flaky'));",
  todo: "test.todo('a');",
  group: "describe.skip('group', () => { test('a', () => {}); });",
  broken: "throw new Error('broken file');",
  stray:
    "setTimeout(() => { throw new Error('stray'); }); test('good', () => new Promise((done) => setTimeout(done, 50)));",
  hook: "describe('group', () => { beforeAll(() => { throw new Error('hook'); }); test('a', () => {}); });",
};

let folder = '';

beforeAll(() => {
  folder = makeScratch();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  write(folder, 'vitest.config.mjs', 'export default {};');
  const header = `import { beforeAll, describe, test } from 'vitest';
    import { notRun } from '${join(ROOT, 'test', 'support', 'not-run.ts')}';\n`;
  for (const [name, body] of Object.entries(FILES)) write(folder, `${name}.test.ts`, header + body);
});

afterAll(removeScratch);

/** What the reporter wrote about some of the files. */
async function summaryOf(
  files: readonly (keyof typeof FILES)[],
  ci: '' | 'true',
  ...args: string[]
): Promise<Summary> {
  const summary = join(folder, 'summary.json');
  const reporter = join(ROOT, 'scripts', 'test-reporter.mjs');
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const names = files.map((file) => `${file}.test.ts`);
  const all = [vitest, 'run', '--root', folder, '--reporter', reporter, ...args, ...names];
  await run(process.execPath, all, { cwd: folder, env: { CI: ci, BATON_TEST_SUMMARY: summary } });
  return JSON.parse(readFileSync(summary, 'utf8')) as Summary;
}

describe('the reporter', () => {
  test('lists what was not run, and how to get it', async () => {
    const { notRun, ...counts } = await summaryOf(['good', 'lacking'], '');
    expect(counts).toEqual({ passed: 2, failed: 0, filtered: 0, skipped: [], problems: [] });
    expect(notRun).toEqual([
      { test: 'lacking.test.ts > a', what: 'no; server', how: 'install (one); or two' },
    ]);
  });

  test('counts what was not run as failed when CI is set', async () => {
    const summary = await summaryOf(['good', 'lacking'], 'true');
    expect(summary).toMatchObject({ passed: 2, failed: 1, skipped: [], problems: [] });
  });

  test('counts every other skipped test as failed', async () => {
    const { skipped, ...counts } = await summaryOf(['good', 'bad', 'skip', 'note', 'todo', 'group'], '');
    expect(counts).toEqual({ passed: 2, failed: 1 + 4, filtered: 0, notRun: [], problems: [] });
    expect(skipped.toSorted()).toEqual([
      'group.test.ts > group > a',
      'note.test.ts > a',
      'skip.test.ts > a',
      'todo.test.ts > a',
    ]);
  });

  test('counts what broke outside the tests as failed', async () => {
    const { failed, problems } = await summaryOf(['good', 'broken', 'stray', 'hook'], '');
    expect(failed).toBeGreaterThanOrEqual(3);
    for (const message of ['broken file', 'stray', 'hook']) {
      expect(problems).toContainEqual(expect.stringContaining(message));
    }
  });

  test('takes tests left out by name for what they are', async () => {
    expect(await summaryOf(['good'], '', '-t', 'other')).toMatchObject({ passed: 1, failed: 0, filtered: 1 });
  });
});
