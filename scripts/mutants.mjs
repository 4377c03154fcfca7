/**
 * `npm run mutants`: applies each deliberate defect of `test/mutants` to a copy of the sources, runs the tests that must
 * catch it, and then seeds of the simulation until one catches it too. One that survives, or no longer applies, is a
 * failure; so is one that the simulation could meet and did not.
 *
 *     npm run mutants                  all of them, with a table
 *     npm run mutants -- --only A,B    some of them
 *     npm run mutants -- --tests       the tests only, without the simulation
 *     npm run mutants -- --seeds       the simulation only, without the tests
 *     npm run mutants -- --json        the table as JSON
 *     npm run mutants -- --write       writes docs/mutants.md
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MAX_SEEDS, runSeeds } from './mutants-seeds.mjs';
import { markdown } from './mutants-table.mjs';
import { runTests } from './mutants-tests.mjs';
import { ROOT, runScript, ScriptError } from './run.mjs';
import { setUp } from './setup.mjs';

const COPIED = [
  'src',
  'test',
  'package.json',
  'vitest.config.ts',
  'tsconfig.base.json',
  'tsconfig.test.json',
];

await runScript(async () => {
  const options = readArguments(process.argv.slice(2));
  await setUp({ projects: ['tsconfig.tools.json'] });
  const { MUTANTS, mutate } = await import(pathToFileURL(join(ROOT, 'build/test/mutants/caspaxos.js')).href);
  const missing = options.only?.find((wanted) => !MUTANTS.some(({ id }) => id === wanted));
  if (missing !== undefined) throw new ScriptError(`There is no mutant ${missing}.`);
  const chosen = MUTANTS.filter(({ id }) => options.only?.includes(id) ?? true);
  const folder = mkdtempSync(join(tmpdir(), 'baton-mutants-'));
  try {
    const results = await runAll(chosen, mutate, folder, options);
    print(results, options);
    return results.every(isCaught) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function readArguments(args) {
  const at = args.indexOf('--only');
  const only = at < 0 ? undefined : (args[at + 1] ?? '').split(',');
  const known = new Set(['--only', '--tests', '--seeds', '--json', '--write', only?.join()]);
  const unknown = args.find((argument) => !known.has(argument));
  if (unknown !== undefined)
    throw new ScriptError(`${unknown}: only --only ID,ID, --tests, --seeds, --json and --write are known.`);
  const isPart = args.includes('--tests') !== args.includes('--seeds');
  const options = {
    only,
    tests: !isPart || args.includes('--tests'),
    seeds: !isPart || args.includes('--seeds'),
    json: args.includes('--json'),
    write: args.includes('--write'),
  };
  if (options.write && (options.only !== undefined || isPart))
    throw new ScriptError('--write publishes all mutants, with what their tests and the simulation say.');
  return options;
}

/** Two copies on two cores; first without any defect, because what fails anyway catches nothing. */
async function runAll(mutants, mutate, folder, options) {
  const trees = Array.from({ length: Math.min(2, availableParallelism(), mutants.length) }, (_, at) =>
    copyTo(folder, at),
  );
  await checkSound(trees[0], mutants, options);
  const waiting = [...mutants];
  const results = new Map();
  const worker = async (tree) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const result = await runOne(mutant, mutate, tree, options);
      results.set(mutant.id, result);
      if (!options.json) process.stdout.write(`${lines(result)}\n`);
    }
  };
  await Promise.all(trees.map(worker));
  return mutants.map(({ id }) => results.get(id));
}

async function checkSound(tree, mutants, options) {
  if (options.tests) {
    const sound = await runTests(tree, [...new Set(mutants.flatMap(({ tests }) => tests))]);
    if (sound.caughtBy !== undefined || sound.code !== 0)
      throw new ScriptError(
        `Without any defect, the tests fail already: ${sound.caughtBy ?? sound.problem ?? sound.output}`,
      );
  }
  if (options.seeds && mutants.some(({ simulated }) => simulated === true)) {
    const sound = await runSeeds(tree);
    if (sound.check !== undefined || sound.problem !== undefined)
      throw new ScriptError(
        `Without any defect, the simulation fails already: ${sound.problem ?? `${sound.check}, seed ${sound.seeds}`}`,
      );
  }
}

function copyTo(folder, at) {
  const tree = join(folder, String(at));
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

async function runOne(mutant, mutate, tree, options) {
  const path = join(tree, mutant.file);
  const text = readFileSync(path, 'utf8');
  const startedAt = performance.now();
  const { id, rule, what, simulated } = mutant;
  const result = { id, rule, what, simulated };
  try {
    writeFileSync(path, mutate(text, mutant));
    if (options.tests) result.tests = await runTests(tree, mutant.tests);
    if (options.seeds && simulated === true) result.seeds = await runSeeds(tree);
  } catch (error) {
    result.problem = error.message;
  } finally {
    writeFileSync(path, text);
  }
  return { ...result, seconds: Number(((performance.now() - startedAt) / 1000).toFixed(1)) };
}

function isCaught({ problem, tests, seeds }) {
  if (problem !== undefined) return false;
  return (
    (tests === undefined || tests.caughtBy !== undefined) &&
    (seeds === undefined || seeds.check !== undefined)
  );
}

function lines(result) {
  const { id, rule, simulated, tests, seeds, problem, seconds } = result;
  const head = `${`rule ${rule}`.padEnd(8)} ${id.padEnd(34)} ${`${seconds} s`.padStart(7)}  `;
  if (problem !== undefined) return `${head}PROBLEM: ${problem}`;
  const parts = [];
  if (tests !== undefined)
    parts.push(
      tests.caughtBy === undefined ? `NOT CAUGHT by its tests: ${tests.problem ?? ''}` : tests.caughtBy,
    );
  if (seeds !== undefined)
    parts.push(
      seeds.check === undefined
        ? `NOT CAUGHT by ${seeds.seeds ?? 0} seeds: ${seeds.problem ?? ''}`
        : `seed ${seeds.seeds}: ${seeds.check}`,
    );
  else if (simulated !== true) parts.push(`not in the simulator: ${simulated}`);
  return `${head}${parts.join(`\n${' '.repeat(head.length)}`)}`;
}

function print(results, { json, write }) {
  const survivors = results.filter((result) => !isCaught(result));
  if (json) process.stdout.write(`${JSON.stringify({ maxSeeds: MAX_SEEDS, rows: results }, undefined, 2)}\n`);
  else process.stdout.write(`${results.length - survivors.length} of ${results.length} mutants caught\n`);
  if (!write) return;
  if (survivors.length > 0)
    throw new ScriptError('docs/mutants.md is only written when all mutants are caught.');
  writeFileSync(join(ROOT, 'docs/mutants.md'), markdown(results, MAX_SEEDS));
}
