/**
 * `npm run mutants`: applies each deliberate defect of `test/mutants` to a copy of the sources, runs the tests that must
 * catch it, and then seeds of the simulation until one catches it too. One that survives, or no longer applies, is a
 * failure; so is one that the simulation could meet and did not.
 *
 *     npm run mutants                  all of them, with a table
 *     npm run mutants -- --area A      those of one area: caspaxos, engine
 *     npm run mutants -- --only A,B    some of them
 *     npm run mutants -- --workers 1   one at a time, not two
 *     npm run mutants -- --tests       the tests only, without the simulation
 *     npm run mutants -- --seeds       the simulation only, without the tests
 *     npm run mutants -- --json        the table as JSON
 *     npm run mutants -- --write       writes docs/mutants.md, or the area's part of it
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compile, runSeeds } from './mutants-seeds.mjs';
import { withArea } from './mutants-table.mjs';
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
  const { AREAS, mutate } = await import(pathToFileURL(join(ROOT, 'build/test/mutants/areas.js')).href);
  const chosen = choose(AREAS, options);
  const folder = mkdtempSync(join(tmpdir(), 'baton-mutants-'));
  try {
    const results = await runAll(chosen, mutate, folder, options);
    print(results, AREAS, options);
    return results.every(isCaught) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function readArguments(args) {
  const valueOf = (flag) => (args.includes(flag) ? (args[args.indexOf(flag) + 1] ?? '') : undefined);
  const values = ['--only', '--area', '--workers'].map(valueOf);
  const [only, area, workers] = values;
  const flags = ['--only', '--area', '--workers', '--tests', '--seeds', '--json', '--write'];
  const unknown = args.find((argument) => !flags.includes(argument) && !values.includes(argument));
  if (unknown !== undefined) throw new ScriptError(`${unknown}: only ${flags.join(', ')} are known.`);
  const isPart = args.includes('--tests') !== args.includes('--seeds');
  const options = {
    only: only?.split(','),
    area,
    workers: workers === undefined ? 2 : Number(workers),
    tests: !isPart || args.includes('--tests'),
    seeds: !isPart || args.includes('--seeds'),
    json: args.includes('--json'),
    write: args.includes('--write'),
  };
  if (!Number.isInteger(options.workers) || options.workers < 1)
    throw new ScriptError(`--workers is a number from 1 on, not ${workers}.`);
  if (options.write && (only !== undefined || isPart))
    throw new ScriptError('--write publishes all mutants, with what their tests and the simulation say.');
  return options;
}

/** Each with its area. */
function choose(areas, { only, area }) {
  if (area !== undefined && !areas.some(({ name }) => name === area))
    throw new ScriptError(`There is no area ${area}, only ${areas.map(({ name }) => name).join(' and ')}.`);
  const mutants = areas
    .filter(({ name }) => area === undefined || name === area)
    .flatMap((one) => one.mutants.map((mutant) => ({ ...mutant, area: one })));
  const missing = only?.find((wanted) => !mutants.some(({ id }) => id === wanted));
  if (missing !== undefined) throw new ScriptError(`There is no mutant ${missing}.`);
  return mutants.filter(({ id }) => only?.includes(id) ?? true);
}

/** Two copies on two cores, and one without any defect: what fails anyway catches nothing. */
async function runAll(mutants, mutate, folder, options) {
  const count = Math.min(options.workers, availableParallelism(), mutants.length);
  const trees = Array.from({ length: count }, (_, at) => copyTo(folder, at));
  const sound = copyTo(folder, 'sound');
  await prepareSound(sound, mutants, options);
  const waiting = [...mutants];
  const results = new Map();
  const worker = async (tree) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const result = await runOne(mutant, mutate, { tree, sound }, options);
      results.set(mutant.id, result);
      if (!options.json) process.stdout.write(`${lines(result)}\n`);
    }
  };
  await Promise.all(trees.map(worker));
  return mutants.map(({ id }) => results.get(id));
}

async function prepareSound(tree, mutants, options) {
  if (options.tests) {
    const sound = await runTests(tree, [...new Set(mutants.flatMap(({ tests }) => tests))]);
    if (sound.caughtBy !== undefined || sound.code !== 0)
      throw new ScriptError(
        `Without any defect, the tests fail already: ${sound.caughtBy ?? sound.problem ?? sound.output}`,
      );
  }
  if (options.seeds && mutants.some(({ simulated }) => simulated === true)) await compile(tree);
}

function copyTo(folder, at) {
  const tree = join(folder, String(at));
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

async function runOne(mutant, mutate, { tree, sound }, options) {
  const path = join(tree, mutant.file);
  const text = readFileSync(path, 'utf8');
  const startedAt = performance.now();
  const { id, rule, what, simulated, level, area } = mutant;
  const result = { id, rule, what, simulated, level, area: area.name };
  try {
    writeFileSync(path, mutate(text, mutant));
    if (options.tests) result.tests = await runTests(tree, mutant.tests);
    if (options.seeds && simulated === true) {
      await compile(tree);
      result.seeds = await runSeeds(tree, sound, { ...area, simulation: area.simulation(level) });
    }
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
        : `seed ${seeds.seeds}: ${seeds.check}: ${seeds.message?.slice(0, 200)}`,
    );
  else if (simulated !== true) parts.push(`not in the simulator: ${simulated}`);
  return `${head}${parts.join(`\n${' '.repeat(head.length)}`)}`;
}

function print(results, areas, { json, write }) {
  const survivors = results.filter((result) => !isCaught(result));
  if (json) process.stdout.write(`${JSON.stringify({ rows: results }, undefined, 2)}\n`);
  else process.stdout.write(`${results.length - survivors.length} of ${results.length} mutants caught\n`);
  if (!write) return;
  if (survivors.length > 0)
    throw new ScriptError('docs/mutants.md is only written when all mutants are caught.');
  const path = join(ROOT, 'docs/mutants.md');
  const parts = areas.map((area) => [area, results.filter((result) => result.area === area.name)]);
  const document = parts
    .filter(([, rows]) => rows.length > 0)
    .reduce((text, [area, rows]) => withArea(text, area, rows), readFileSync(path, 'utf8'));
  writeFileSync(path, document);
}
