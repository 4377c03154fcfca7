/** `npm start`: everything a fresh clone needs, then the demonstration. Arguments after `--` go to it. */
import { setUp } from './setup.mjs';
import { runInstead, runScript } from './run.mjs';

await runScript(async () => {
  await setUp({ projects: ['src/cli'] });
  return runInstead(process.execPath, ['dist/cli/main.js', 'demo', ...process.argv.slice(2)]);
});
