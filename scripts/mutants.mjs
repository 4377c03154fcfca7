/**
 * `npm run mutants`: applies each deliberate defect of `test/mutants` to a copy of the sources and runs the tests that
 * must catch it. One that survives, or no longer applies, is a failure.
 *
 *     npm run mutants                  all of them, with a table
 *     npm run mutants -- --only ID     one of them, and what its tests say
 *     npm run mutants -- --json        the table as JSON
 *     npm run mutants -- --write       writes docs/mutants.md
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cleanEnvironment, ROOT, runQuietly, runScript, ScriptError } from './run.mjs';
import { setUp } from './setup.mjs';

const COPIED = [
  'src',
  'test',
  'package.json',
  'vitest.config.ts',
  'tsconfig.base.json',
  'tsconfig.test.json',
];
const SECONDS = 90;

await runScript(async () => {
  const options = readArguments(process.argv.slice(2));
  await setUp({ projects: ['tsconfig.tools.json'] });
  const { MUTANTS, mutate } = await import(pathToFileURL(join(ROOT, 'build/test/mutants/caspaxos.js')).href);
  const chosen = MUTANTS.filter(({ id }) => options.only === undefined || id === options.only);
  if (chosen.length === 0) throw new ScriptError(`There is no mutant ${options.only}.`);
  const folder = mkdtempSync(join(tmpdir(), 'baton-mutants-'));
  try {
    const results = await runAll(chosen, mutate, folder, options);
    print(results, options);
    return results.every(({ isCaught }) => isCaught) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function readArguments(args) {
  const at = args.indexOf('--only');
  const options = {
    only: at < 0 ? undefined : args[at + 1],
    json: args.includes('--json'),
    write: args.includes('--write'),
  };
  const known = new Set(['--only', '--json', '--write', options.only]);
  const unknown = args.find((argument) => !known.has(argument));
  if (unknown !== undefined)
    throw new ScriptError(`${unknown}: only --only ID, --json and --write are known.`);
  if (options.write && options.only !== undefined)
    throw new ScriptError('--write publishes all mutants, not one.');
  return options;
}

/** Two copies on two cores; first without any defect, because a test that fails anyway catches nothing. */
async function runAll(mutants, mutate, folder, { json }) {
  const trees = Array.from({ length: Math.min(2, availableParallelism(), mutants.length) }, (_, at) =>
    copyTo(folder, at),
  );
  const tests = [...new Set(mutants.flatMap(({ tests: files }) => files))];
  const sound = await runTests(trees[0], tests);
  if (sound.caughtBy !== undefined || sound.code !== 0) {
    throw new ScriptError(
      `Without any defect, the tests fail already: ${sound.caughtBy ?? sound.problem ?? sound.output}`,
    );
  }
  const waiting = [...mutants];
  const results = new Map();
  const worker = async (tree) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const result = await runOne(mutant, mutate, tree);
      results.set(mutant.id, result);
      if (!json) process.stdout.write(`${line(result)}\n`);
    }
  };
  await Promise.all(trees.map(worker));
  return mutants.map(({ id }) => results.get(id));
}

function copyTo(folder, at) {
  const tree = join(folder, String(at));
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  return tree;
}

async function runOne(mutant, mutate, tree) {
  const path = join(tree, mutant.file);
  const text = readFileSync(path, 'utf8');
  const startedAt = performance.now();
  const { id, rule, what } = mutant;
  let outcome;
  try {
    writeFileSync(path, mutate(text, mutant));
    outcome = await runTests(tree, mutant.tests);
  } catch (error) {
    outcome = { problem: error.message };
  } finally {
    writeFileSync(path, text);
  }
  const seconds = Number(((performance.now() - startedAt) / 1000).toFixed(1));
  const { caughtBy, problem } = outcome;
  return {
    id,
    rule,
    what,
    isCaught: caughtBy !== undefined,
    caughtBy: caughtBy ?? problem ?? 'nothing',
    seconds,
  };
}

/** The first test that fails, if one does. A file that does not even load is a problem of the mutant, not a catch. */
async function runTests(tree, files) {
  const report = join(tree, 'report.json');
  rmSync(report, { force: true });
  const vitest = join(tree, 'node_modules', 'vitest', 'vitest.mjs');
  const flags = [
    '--project',
    'unit',
    '--bail',
    '1',
    '--testTimeout',
    '15000',
    '--reporter',
    'json',
    '--outputFile',
    report,
  ];
  const env = cleanEnvironment({ CI: '', VITEST_MAX_WORKERS: '1' });
  const { code, output } = await runQuietly(process.execPath, [vitest, 'run', ...flags, ...files], {
    cwd: tree,
    seconds: SECONDS,
    env,
  });
  const results = readReport(report);
  if (results === undefined) return { code, output, problem: `its tests did not end: ${output.slice(-300)}` };
  const tests = results.testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.find(({ status }) => status === 'failed');
  if (failed !== undefined) return { code, output, caughtBy: failed.fullName };
  const broken = results.testResults.find(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  if (broken !== undefined)
    return { code, output, problem: `its tests did not load: ${broken.message.slice(0, 300)}` };
  if (code !== 0 && tests.length > 0) return { code, output, caughtBy: 'an error that no test caught' };
  return { code, output };
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function line({ id, rule, isCaught, caughtBy, seconds }) {
  const verdict = isCaught ? 'caught by' : 'NOT CAUGHT:';
  return `${`rule ${rule}`.padEnd(8)} ${id.padEnd(32)} ${`${seconds} s`.padStart(7)}  ${verdict} ${caughtBy}`;
}

function print(results, { json, write }) {
  const survivors = results.filter(({ isCaught }) => !isCaught);
  if (json) process.stdout.write(`${JSON.stringify({ rows: results }, undefined, 2)}\n`);
  else process.stdout.write(`${results.length - survivors.length} of ${results.length} mutants caught\n`);
  if (!write) return;
  if (survivors.length > 0)
    throw new ScriptError('docs/mutants.md is only written when all mutants are caught.');
  writeFileSync(join(ROOT, 'docs/mutants.md'), markdown(results));
}

function markdown(results) {
  const rows = results.map(
    ({ id, rule, what, caughtBy }) => `| ${rule} | \`${id}\` | ${what} | ${escape(caughtBy)} |`,
  );
  return [
    '# Mutants of the CASPaxos library',
    '',
    'Deliberate defects, each applied alone to a copy of the sources, and the test that catches it. Written by',
    '`npm run mutants -- --write`; the rules are those of the design: "rules that real implementations got wrong".',
    '',
    '| rule | mutant | what it breaks | caught by |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function escape(text) {
  return text.replaceAll('|', '\\|');
}
