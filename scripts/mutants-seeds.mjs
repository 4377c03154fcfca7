/**
 * What seeds of the simulation say of a copy of the sources: the copy is compiled, and a process of its own runs seeds
 * from 1 on until one fails a check. The count does not depend on the machine; only the limit of time does.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runQuietly } from './run.mjs';

export const MAX_SEEDS = 1500;
const SECONDS = 300;
/** Beyond its own limit the process hangs, in a loop that no virtual time ends. */
const GRACE_SECONDS = 30;

/** `check` and the number of `seeds` that it took; without `check`, the number of seeds that caught nothing. */
export async function runSeeds(tree) {
  const compiler = join(tree, 'node_modules', 'typescript', 'bin', 'tsc');
  // A mutant may well leave a name unused: what counts is that something was compiled, which the run will show.
  await runQuietly(process.execPath, [compiler, '-b', 'src/sim'], { cwd: tree });
  const child = fileURLToPath(new URL('mutants-seeds-child.mjs', import.meta.url));
  const { code, output, stdout } = await runQuietly(
    process.execPath,
    [child, tree, String(MAX_SEEDS), String(SECONDS)],
    { seconds: SECONDS + GRACE_SECONDS },
  );
  if (code !== 0) return { problem: `the simulation did not run to its end: ${output.slice(-300)}` };
  return JSON.parse(stdout);
}
