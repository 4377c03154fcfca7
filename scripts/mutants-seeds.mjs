/**
 * What seeds of a simulation say of a copy of the sources: the copy is compiled, and a process of its own runs seeds
 * from 1 on until one fails a check. The count does not depend on the machine; only the limit of time does. A seed that
 * fails without the defect as well has caught nothing: it is run in a sound copy too.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runQuietly } from './run.mjs';

/** Beyond its own limit the process hangs, in a loop that no virtual time ends. */
const GRACE_SECONDS = 30;

/** A mutant may well leave a name unused: what counts is that something was compiled, which the run will show. */
export async function compile(tree) {
  const compiler = join(tree, 'node_modules', 'typescript', 'bin', 'tsc');
  await runQuietly(process.execPath, [compiler, '-b', 'src/sim'], { cwd: tree });
}

/**
 * `check` and the number of `seeds` that it took; without `check`, the number of seeds that caught nothing. Both trees
 * are compiled; `sound` is the one without a defect.
 */
export async function runSeeds(tree, sound, { simulation, maxSeeds, maxSeconds }) {
  const found = await run(tree, simulation, 1, maxSeeds, maxSeconds);
  if (found.check === undefined) return found;
  const without = await run(sound, simulation, found.seeds, 1, maxSeconds);
  if (without.problem === undefined && without.check === undefined) return found;
  const why = without.problem ?? `${without.check}: ${without.message}`;
  return { problem: `seed ${found.seeds} of ${simulation} fails without any defect: ${why}` };
}

async function run(tree, simulation, first, seeds, seconds) {
  const child = fileURLToPath(new URL('mutants-seeds-child.mjs', import.meta.url));
  const { code, output, stdout } = await runQuietly(
    process.execPath,
    [child, tree, simulation, String(first), String(seeds), String(seconds)],
    { seconds: seconds + GRACE_SECONDS },
  );
  if (code !== 0) return { problem: `the simulation did not run to its end: ${output.slice(-300)}` };
  const found = JSON.parse(stdout);
  return { ...found, seeds: first + found.seeds - 1 };
}
