/**
 * `npm test`: everything that the tests need, then all of them, then the list of what was not run and how to get it.
 * Arguments after `--` go to vitest. `--node PATH` runs them on another Node than this one.
 *
 * Tests that could not run fail the command only when CI is set: a contributor without some server can still work, and
 * no automatic run passes because it lacked something.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { findPrograms } from './programs.mjs';
import { ROOT, runInstead, runScript } from './run.mjs';
import { BuildError, setUp } from './setup.mjs';
import { isContinuousIntegration } from './test-reporter.mjs';

const SUMMARY = resolve(ROOT, process.env.BATON_TEST_SUMMARY ?? 'build/test-summary.json');

/** Where this run's reporter writes: two runs at once must not read each other's counts. */
const OWN_SUMMARY = `${SUMMARY}.${process.pid}`;

await runScript(async () => {
  const { node, args } = readArguments(process.argv.slice(2));
  const buildError = await setUpOrError();
  const code = await runTests(node, args);
  const verdict = judge();
  if (buildError !== undefined)
    process.stderr.write('\nThe build failed: its errors stand above the tests.\n');
  return code || verdict || (buildError === undefined ? 0 : 1);
});

function readArguments(args) {
  const at = args.indexOf('--node');
  if (at === -1) return { node: process.execPath, args };
  return { node: resolve(args[at + 1]), args: args.toSpliced(at, 2) };
}

/** Sources that do not compile fail the command, but first their author gets to see what the tests say. */
async function setUpOrError() {
  try {
    await setUp();
    return undefined;
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return error;
  }
}

async function runTests(node, args) {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const ours = ['--reporter', join(ROOT, 'scripts', 'test-reporter.mjs')];
  const chosen = args.some((argument) => argument.startsWith('--reporter')) ? [] : ['--reporter', 'default'];
  const env = {
    ...process.env,
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    BATON_PROGRAMS: JSON.stringify(await findPrograms()),
    BATON_TEST_SUMMARY: OWN_SUMMARY,
  };
  return runInstead(node, [vitest, 'run', ...chosen, ...ours, ...args], { env });
}

/** Prints what the run's own report leaves out; the result is the exit code that follows from it. */
function judge() {
  rmSync(SUMMARY, { force: true });
  if (!existsSync(OWN_SUMMARY)) {
    process.stderr.write('The tests ended before they were counted.\n');
    return 1;
  }
  const { failed, filtered, notRun, skipped, problems } = JSON.parse(readFileSync(OWN_SUMMARY, 'utf8'));
  renameSync(OWN_SUMMARY, SUMMARY);
  for (const name of skipped) process.stdout.write(`Skipped without a reason: ${name}\n`);
  for (const problem of problems) process.stdout.write(`Broken: ${problem}\n`);
  if (filtered > 0) process.stdout.write(`${filtered} tests left out by the name that was asked for.\n`);
  if (notRun.length > 0) process.stdout.write(describeNotRun(notRun));
  return failed > 0 ? 1 : 0;
}

function describeNotRun(notRun) {
  const reasons = new Map();
  for (const { test, what, how, optional } of notRun) {
    const key = JSON.stringify([what, how, optional]);
    reasons.set(key, [...(reasons.get(key) ?? []), test]);
  }
  const blocks = [...reasons].map(([key, tests]) => {
    const [what, how, optional] = JSON.parse(key);
    const weight = optional
      ? ' (optional)'
      : isContinuousIntegration()
        ? ' (required: a failure, as CI is set)'
        : '';
    const lines = [`  ${what}${weight}`, ...(how === '' ? [] : [`    to get it: ${how}`])];
    return [...lines, ...tests.map((test) => `    - ${test}`)].join('\n');
  });
  return `\nNot run, ${notRun.length} in all:\n${blocks.join('\n')}\n`;
}
