/** Runs seeds of the simulation as it stands in another tree: `TREE SEEDS SECONDS`. Prints what failed first, if any did. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [tree, seeds, seconds] = process.argv.slice(2);
const { registersSimulation, runCampaign } = await import(
  pathToFileURL(join(tree, 'dist', 'sim', 'index.js')).href
);
const { done, failures } = await runCampaign({
  simulation: registersSimulation,
  first: 1,
  count: Number(seeds),
  workers: 1,
  stopAtFirst: true,
  signal: AbortSignal.timeout(Number(seconds) * 1000),
});
const [failure] = failures;
process.stdout.write(JSON.stringify({ seeds: done, check: failure?.check, message: failure?.message }));
