/** `npm start`: sets up the clone, then runs a cluster on this machine. Arguments after `--` go to `baton up`. */
import { setUp } from './setup.mjs';
import { runInstead, runScript, ScriptError } from './run.mjs';

await runScript(async () => {
  const args = process.argv.slice(2);
  // npm keeps an option that stands before the `--` and passes on its value alone.
  if (args[0] !== undefined && !args[0].startsWith('-'))
    throw new ScriptError(
      `npm start: "${args[0]}" is not an option. Options must follow "--", for example: npm start -- --port-base 5100 [USAGE]`,
    );
  await setUp({ projects: ['src/cli'] });
  return runInstead(process.execPath, ['dist/cli/main.js', 'up', ...args]);
});
