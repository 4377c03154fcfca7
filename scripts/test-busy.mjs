/**
 * `npm run test:busy`: `npm test`, three times in a row, while this command keeps every core busy itself. No test may depend on how
 * fast the machine is; this is how that is shown.
 *
 *     npm run test:busy                 three runs
 *     npm run test:busy -- --runs 1     one run
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { runInstead, runScript, ScriptError } from './run.mjs';

/** Computes until its parent is gone, which it looks for every tenth of a second or so. */
const BUSY = `const parent = process.ppid;
for (let count = 0; process.ppid === parent; ) for (const end = count + 1e8; count < end; count += 1);`;

await runScript(async () => {
  const runs = readRuns(process.argv.slice(2));
  const busy = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', BUSY], { stdio: 'ignore' }),
  );
  const results = [];
  try {
    for (let run = 1; run <= runs; run += 1) results.push(await testOnce(run, runs));
  } finally {
    for (const child of busy) child.kill('SIGKILL');
  }
  const failed = results.filter(({ code }) => code !== 0);
  process.stdout.write(`\nnpm test with ${busy.length} busy cores:\n`);
  for (const { run, code, seconds } of results)
    process.stdout.write(`  run ${run} of ${runs}: ${code === 0 ? 'passed' : 'FAILED'}, ${seconds} s\n`);
  process.stdout.write(`${runs - failed.length} runs passed, ${failed.length} runs failed\n`);
  return failed.length === 0 ? 0 : 1;
});

function readRuns(args) {
  if (args.length === 0) return 3;
  const [flag, value, ...rest] = args;
  const runs = Number(value);
  if (flag === '--runs' && rest.length === 0 && Number.isInteger(runs) && runs > 0) return runs;
  throw new ScriptError('Usage: npm run test:busy [-- --runs N]');
}

async function testOnce(run, runs) {
  process.stdout.write(`\n=== npm test, run ${run} of ${runs}, all cores busy\n`);
  const startedAt = performance.now();
  const code = await runInstead('npm', ['test']);
  return { run, code, seconds: Math.round((performance.now() - startedAt) / 1000) };
}
