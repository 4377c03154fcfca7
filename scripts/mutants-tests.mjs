/** What the tests say of a copy of the sources. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, runQuietly } from './run.mjs';

const SECONDS = 300;

/** The first test that fails, if one does. A file that does not even load is a problem of the mutant, not a catch. */
export async function runTests(tree, files) {
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
  if (failed !== undefined) return { code, caughtBy: failed.fullName };
  const broken = results.testResults.find(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  if (broken !== undefined)
    return { code, output, problem: `its tests did not load: ${broken.message.slice(0, 300)}` };
  if (code !== 0 && tests.length > 0) return { code, caughtBy: 'an error that no test caught' };
  return { code, output };
}

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}
