/**
 * `npm test`: everything that the quick lane of `test/lanes.ts` needs, then its tests, then what was not run and how to get it, and
 * what `npm run test:all` has in addition.
 *
 *     npm test                      the quick lane
 *     npm test -- FILE ...          these files, whatever their lane; all arguments go to vitest
 *     npm test -- --lane long       another lane
 *     npm test -- --node 24         on another Node than this one: a major version, which npm has, or a path
 *
 * Tests that could not run fail the command only when CI is set: a contributor without some server can still work, and
 * no automatic run passes because it lacked something.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { findPrograms } from './programs.mjs';
import { ROOT, runInstead, runScript, ScriptError } from './run.mjs';
import { secondNode } from './second-node.mjs';
import { BuildError, setUp } from './setup.mjs';
import { verdictOn } from './verdict.mjs';

const SUMMARY = resolve(ROOT, process.env.BATON_TEST_SUMMARY ?? 'build/test-summary.json');

/** Those of test/lanes.ts. */
const LANES = ['quick', 'long', 'second'];

const NOTHING = { passed: 0, failed: 0, filtered: 0, notRun: [], skipped: [], problems: [] };

await runScript(async () => {
  const { asked, lane, args } = readArguments(process.argv.slice(2));
  const buildError = await setUpOrError();
  const node = await nodeFor(asked);
  const code = await runTests(node, lane, args);
  const verdict = judge(lane);
  if (buildError !== undefined)
    process.stderr.write('\nThe build failed: its errors stand above the tests.\n');
  return code || verdict || (buildError === undefined ? 0 : 1);
});

function readArguments(given) {
  const args = [...given];
  const take = (flag) => {
    const at = args.indexOf(flag);
    return at === -1 ? undefined : args.splice(at, 2)[1];
  };
  const asked = take('--node');
  const lane = take('--lane');
  if (lane !== undefined && !LANES.includes(lane))
    throw new ScriptError(`There is no lane ${lane}, only ${LANES.join(', ')}.`);
  if (lane !== undefined && args.length > 0)
    throw new ScriptError('--lane runs all files of a lane: it takes no other arguments.');
  const usual = args.length === 0 ? 'quick' : undefined;
  return { asked, lane: lane ?? usual, args };
}

async function nodeFor(asked) {
  if (asked === undefined) return process.execPath;
  return /^\d+$/.test(asked) ? secondNode(asked) : resolve(asked);
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

/**
 * The programs that tests of processes need are fetched while the others run: on a fresh clone that takes as long as they do, and
 * they compute while it waits for the network.
 */
async function runTests(node, lane, args) {
  rmSync(SUMMARY, { force: true });
  const programs = findPrograms();
  if (lane === undefined) return runVitest(node, args, { BATON_PROGRAMS: JSON.stringify(await programs) });
  const first = await runVitest(node, ['--project', 'unit'], { BATON_LANE: lane });
  const found = { BATON_LANE: lane, BATON_PROGRAMS: JSON.stringify(await programs) };
  return (await runVitest(node, ['--project', 'process', '--project', 'alone'], found)) || first;
}

async function runVitest(node, args, additions) {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const ours = ['--reporter', join(ROOT, 'scripts', 'test-reporter.mjs')];
  const chosen = args.some((argument) => argument.startsWith('--reporter')) ? [] : ['--reporter', 'default'];
  // Where this run's reporter writes: two runs at once must not read each other's counts.
  const summary = `${SUMMARY}.${process.pid}`;
  const env = {
    ...process.env,
    ...additions,
    // Commands are printed as whoever started them can type them: here that is the test, not npm.
    npm_command: undefined,
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    BATON_TEST_SUMMARY: summary,
  };
  const code = await runInstead(node, [vitest, 'run', ...chosen, ...ours, ...args], { env });
  const problem = { failed: 1, problems: ['The tests ended before they were counted.'] };
  addToSummary(existsSync(summary) ? JSON.parse(readFileSync(summary, 'utf8')) : { ...NOTHING, ...problem });
  rmSync(summary, { force: true });
  return code;
}

function addToSummary(part) {
  const before = existsSync(SUMMARY) ? JSON.parse(readFileSync(SUMMARY, 'utf8')) : NOTHING;
  // Numbers are added, and lists are joined.
  const sum = Object.keys(NOTHING).map((name) => [
    name,
    Array.isArray(part[name]) ? [...before[name], ...part[name]] : before[name] + part[name],
  ]);
  mkdirSync(dirname(SUMMARY), { recursive: true });
  writeFileSync(SUMMARY, JSON.stringify(Object.fromEntries(sum), null, 2));
}

/** Prints what the run's own report leaves out; the result is the exit code that follows from it. */
function judge(lane) {
  const { text, code } = verdictOn(JSON.parse(readFileSync(SUMMARY, 'utf8')), lane);
  process.stdout.write(text);
  return code;
}
