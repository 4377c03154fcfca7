/**
 * `npm run test:all`: `npm test`, then all that is too long for it (`scripts/long-run.mjs`). It never stops at a failure: one run tells all
 * there is to repair. Its last line counts the tests of all runs, and every step that is not made of tests as one.
 *
 *     npm run test:all                       everything
 *     npm run test:all -- --list             what that is
 *     npm run test:all -- --only mutants     one step of it (several: --only A --only B)
 *     npm run test:all -- --ci               all that must hold before a change goes in: also formatting, lint, types and walls
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { endLeftovers } from './leftovers.mjs';
import { COMPUTING, describeLeftOut, freshSeed, TESTS } from './long-run.mjs';
import { ROOT, runScript, ScriptError } from './run.mjs';
import { setUp } from './setup.mjs';

const FOLDER = join(ROOT, 'build', 'test-all');

/** Everything that a step starts carries this and its name in its environment, so that what outlives it can be found. */
const RUN = `run-${process.pid}-${randomBytes(4).toString('hex')}`;

const LOW_PRIORITY = 10;

const npm = (...args) => ['npm', 'run', '--silent', ...args];

const CHECKS = [
  { name: 'dependencies', minutes: 15, command: ['node', 'scripts/setup.mjs', '--install'] },
  { name: 'formatting', minutes: 5, command: npm('format:check') },
  { name: 'lint', minutes: 10, command: npm('lint') },
  { name: 'types', minutes: 10, command: ['node', 'scripts/setup.mjs'] },
  { name: 'room walls', minutes: 10, command: ['node_modules/.bin/vitest', 'run', 'test/repository/walls'] },
];

const QUICK = { name: 'npm test', minutes: 40, countsTests: true, command: ['npm', 'test'] };

const running = new Set();
let isStopped = false;

await runScript(async () => {
  const options = readArguments(process.argv.slice(2));
  const wanted = (steps) =>
    steps.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  const first = wanted([...(options.ci ? CHECKS : []), QUICK]);
  const [tests, computing] = [wanted(TESTS), wanted(COMPUTING)];
  if (first.length + tests.length + computing.length === 0) throw unknownStep(options.only);
  if (options.list) return list([...first, ...tests, ...computing]);
  if (!options.ci) await setUp();
  mkdirSync(FOLDER, { recursive: true });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop);
  const startedAt = performance.now();
  const results = [];
  // `npm test` has the machine for itself. Then one core computes while tests run, and both when these are done.
  await work([first], results);
  await Promise.all([work([tests, computing], results), work([computing], results)]);
  return report(results, startedAt);
});

function readArguments(args) {
  const options = { list: false, ci: false, only: [] };
  for (let at = 0; at < args.length; at += 1) {
    if (args[at] === '--list') options.list = true;
    else if (args[at] === '--ci') options.ci = true;
    else if (args[at] === '--only' && args[at + 1] !== undefined) options.only.push(args[(at += 1)]);
    else throw new ScriptError('Usage: npm run test:all [-- [--list] [--ci] [--only STEP]...]');
  }
  return options;
}

function unknownStep(names) {
  const known = [...CHECKS, QUICK, ...TESTS, ...COMPUTING].map(({ name }) => name);
  return new ScriptError(`There is no step ${names.join(' or ')}, only: ${known.join('; ')}.`);
}

function list(steps) {
  for (const { name, what, command } of steps)
    process.stdout.write(`${name.padEnd(22)}  ${what ?? command.join(' ')}\n`);
  process.stdout.write(`\n${describeLeftOut()}\n`);
}

/** Takes steps from the first list that has one left, until none has. */
async function work(lists, results) {
  const next = () => lists.find(({ length }) => length > 0)?.shift();
  for (let step = next(); step !== undefined && !isStopped; step = next())
    results.push(...(await runStep(step)));
}

async function runStep(step) {
  const isComputing = COMPUTING.includes(step);
  const startedAt = performance.now();
  process.stdout.write(`\n=== ${step.name}${isComputing ? ': begun' : ''}\n`);
  const code = await runCommand(step, isComputing);
  const result = { name: step.name, ...countsOf(step, code) };
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const verdict = result.failed === 0 ? 'passed' : 'FAILED';
  const sum = step.countsTests ? `${result.passed} passed, ${result.failed} failed` : verdict;
  if (isComputing) process.stdout.write(`\n--- ${step.name}\n${readFileSync(fileOf(step, 'txt'), 'utf8')}`);
  process.stdout.write(`=== ${step.name}: ${sum}, ${seconds} s\n`);
  return [result, ...(await leftoversOf(step))];
}

/** What computes is printed when it has ended, so that it does not mix with what the tests print meanwhile. */
async function runCommand(step, isComputing) {
  const [program, ...args] = step.command.map((part) => (part === 'FRESH' ? String(freshSeed()) : part));
  rmSync(fileOf(step, 'json'), { force: true });
  const child = spawn(program === 'node' ? process.execPath : program, args, {
    cwd: ROOT,
    env: { ...process.env, ...step.env, BATON_RUN: markOf(step), BATON_TEST_SUMMARY: fileOf(step, 'json') },
    stdio: ['ignore', ...Array.from({ length: 2 }, () => (isComputing ? 'pipe' : 'inherit'))],
  });
  running.add(child);
  const file = isComputing ? createWriteStream(fileOf(step, 'txt')) : undefined;
  if (file !== undefined) {
    setPriority(child.pid, LOW_PRIORITY);
    for (const stream of [child.stdout, child.stderr]) stream.pipe(file, { end: false });
  }
  const limit = setTimeout(() => {
    process.stderr.write(`${step.name}: stopped, it took over ${step.minutes} minutes.\n`);
    child.kill('SIGKILL');
  }, step.minutes * 60_000);
  const [code] = await once(child, 'close');
  clearTimeout(limit);
  running.delete(child);
  if (file !== undefined) await new Promise((resolve) => file.end(resolve));
  return code ?? 1;
}

/** What runs is ended, and counts as failed; what has not begun does not begin. */
function stop() {
  isStopped = true;
  for (const child of running) child.kill('SIGTERM');
}

function markOf({ name }) {
  return `${RUN}-${name.replaceAll(/\W+/g, '-')}`;
}

function fileOf({ name }, ending) {
  return join(FOLDER, `${name.replaceAll(/\W+/g, '-')}.${ending}`);
}

/** A run of tests that failed without a failed test, or counted none, is a failure of its own. */
function countsOf(step, code) {
  if (!step.countsTests) return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1 };
  const file = fileOf(step, 'json');
  const { passed, failed } = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8'))
    : { passed: 0, failed: 0 };
  const isUntold = failed === 0 && (code !== 0 || passed === 0);
  return { passed, failed: isUntold ? 1 : failed };
}

/** Only Linux tells which processes a step left behind. */
async function leftoversOf(step) {
  if (process.platform !== 'linux') return [];
  const left = await endLeftovers(markOf(step));
  for (const line of left) process.stdout.write(`left behind: ${line}\n`);
  const isClean = left.length === 0;
  const name = `no process left behind by ${step.name}`;
  return [{ name, passed: isClean ? 1 : 0, failed: isClean ? 0 : 1 }];
}

function report(results, startedAt) {
  const minutes = (performance.now() - startedAt) / 60_000;
  const sum = (name) => results.reduce((total, result) => total + result[name], 0);
  process.stdout.write(`\n=== ${minutes.toFixed(1)} minutes\n`);
  for (const { name, failed } of results.filter((result) => result.failed > 0))
    process.stdout.write(`failed: ${name}${failed > 1 ? `, ${failed} tests` : ''}\n`);
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`);
  return sum('failed') === 0 ? 0 : 1;
}
