/**
 * `npm run test:all`: `npm test`, then all that is too long for it (`scripts/long-run.mjs`). It never stops at a failure: one run tells all
 * there is to repair. Its last line counts the tests of all runs, and every step that is not made of tests as one.
 *
 *     npm run test:all                       everything
 *     npm run test:all -- --list             what that is
 *     npm run test:all -- --only mutants     one step of it, by its name (several: --only a --only b)
 *     npm run test:all -- --ci               everything that must hold before a change goes in: formatting, lint, types and walls first
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { endLeftovers } from './leftovers.mjs';
import { freshSeed, LONG_RUN } from './long-run.mjs';
import { isProgram, ROOT, runScript, ScriptError } from './run.mjs';

const FOLDER = join(ROOT, 'build', 'test-all');

/** Everything that a run starts carries this mark in its environment, so that what outlives it can be found. */
const MARK = `run-${process.pid}-${randomBytes(4).toString('hex')}`;

const npm = (...args) => ['npm', 'run', '--silent', ...args];

const BEFORE = [
  [{ name: 'dependencies', minutes: 15, command: ['node', 'scripts/setup.mjs', '--install'] }],
  [{ name: 'formatting', minutes: 5, command: npm('format:check') }],
  [{ name: 'lint', minutes: 5, command: npm('lint') }],
  [{ name: 'types', minutes: 5, command: ['node', 'scripts/setup.mjs'] }],
  [{ name: 'room walls', minutes: 5, command: ['node_modules/.bin/vitest', 'run', 'test/repository/walls'] }],
];

const QUICK = [[{ name: 'npm test', minutes: 25, countsTests: true, command: ['npm', 'test'] }]];

if (isProgram(import.meta.url)) {
  await runScript(async () => {
    const options = readArguments(process.argv.slice(2));
    const groups = chosen(options);
    if (options.list) return list(groups);
    mkdirSync(FOLDER, { recursive: true });
    const startedAt = performance.now();
    const results = [];
    for (const group of groups) results.push(...(await runGroup(group)));
    return report(results, startedAt);
  });
}

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

function chosen({ ci, only }) {
  const all = [...(ci ? BEFORE : []), ...QUICK, ...LONG_RUN];
  const names = all.flat().map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new ScriptError(`There is no step "${unknown}", only ${names.join('; ')}.`);
  if (only.length === 0) return all;
  return all.map((group) => group.filter(({ name }) => only.includes(name))).filter(({ length }) => length > 0);
}

function list(groups) {
  for (const { name, what, command } of groups.flat())
    process.stdout.write(`${name.padEnd(20)} ${what ?? command.join(' ')}\n`);
}

/** What runs alone prints as it goes; of steps that run together each is printed when it has ended. */
async function runGroup(group) {
  const names = group.map(({ name }) => name).join(', together with ');
  process.stdout.write(`\n=== ${names}\n`);
  const results = await Promise.all(group.map((step) => runStep(step, group.length > 1)));
  results.push(await leftoversOf(names));
  return results;
}

async function runStep(step, isShared) {
  const startedAt = performance.now();
  const { code, output } = await runCommand(step, isShared);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const result = { name: step.name, seconds, ...countsOf(step, code) };
  if (output !== undefined) process.stdout.write(`\n--- ${step.name}\n${readFileSync(output, 'utf8')}`);
  const sum = step.countsTests ? `${result.passed} passed, ${result.failed} failed` : verdictOf(result);
  process.stdout.write(`=== ${step.name}: ${sum}, ${seconds} s\n`);
  return result;
}

const verdictOf = ({ failed }) => (failed === 0 ? 'passed' : 'FAILED');

async function runCommand({ name, command, minutes }, isShared) {
  const output = isShared ? join(FOLDER, `${name.replaceAll(/\W+/g, '-')}.txt`) : undefined;
  const [program, ...args] = command.map((part) => (part === 'FRESH' ? String(freshSeed()) : part));
  const env = { ...process.env, BATON_RUN: MARK, BATON_TEST_SUMMARY: summaryOf(name) };
  rmSync(summaryOf(name), { force: true });
  const sink = output === undefined ? undefined : createWriteStream(output);
  const child = spawn(program === 'node' ? process.execPath : program, args, {
    cwd: ROOT,
    env,
    stdio: ['ignore', sink === undefined ? 'inherit' : 'pipe', sink === undefined ? 'inherit' : 'pipe'],
  });
  for (const stream of sink === undefined ? [] : [child.stdout, child.stderr]) stream.pipe(sink, { end: false });
  const limit = setTimeout(() => {
    process.stderr.write(`${name}: stopped, it took over ${minutes} minutes.\n`);
    child.kill('SIGKILL');
  }, minutes * 60_000);
  const [code] = await once(child, 'close');
  clearTimeout(limit);
  if (sink !== undefined) await new Promise((resolve) => sink.end(resolve));
  return { code: code ?? 1, output };
}

function summaryOf(name) {
  return join(FOLDER, `${name.replaceAll(/\W+/g, '-')}.json`);
}

/** A run of tests that failed without a failed test, or counted none, is a failure of its own. */
function countsOf({ name, countsTests }, code) {
  if (!countsTests) return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
  const file = summaryOf(name);
  const { passed, failed } = existsSync(file)
    ? JSON.parse(readFileSync(file, 'utf8'))
    : { passed: 0, failed: 0 };
  const isUntold = failed === 0 && (code !== 0 || passed === 0);
  return { passed, failed: isUntold ? 1 : failed };
}

async function leftoversOf(names) {
  if (process.platform !== 'linux') return { name: `no process left behind by ${names}`, passed: 0, failed: 0 };
  const left = await endLeftovers(MARK);
  for (const line of left) process.stdout.write(`left behind: ${line}\n`);
  return {
    name: `no process left behind by ${names}`,
    seconds: 0,
    passed: left.length === 0 ? 1 : 0,
    failed: left.length === 0 ? 0 : 1,
  };
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
