/** `npm start`: sets up the clone, then runs a cluster on this machine. Arguments after `--` go to `baton up`. */
import { setUp } from './setup.mjs';
import { runInstead, runScript } from './run.mjs';

await runScript(async () => {
  await setUp({ projects: ['src/cli'] });
  return runInstead(process.execPath, ['dist/cli/main.js', 'up', ...process.argv.slice(2)]);
});
