/** Runs seeds of a simulation as it stands in another tree: `TREE NAME FIRST SEEDS SECONDS`. Prints what failed first, if any did. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [tree, name, first, seeds, seconds] = process.argv.slice(2);
const room = (file) => import(pathToFileURL(join(tree, 'dist', 'sim', file)).href);
const [{ runCampaign }, { simulationNamed }] = await Promise.all([room('index.js'), room('simulations.js')]);
const { done, failures } = await runCampaign({
  simulation: simulationNamed(name),
  first: Number(first),
  count: Number(seeds),
  workers: 1,
  stopAtFirst: true,
  signal: AbortSignal.timeout(Number(seconds) * 1000),
});
const [failure] = failures;
process.stdout.write(JSON.stringify({ seeds: done, check: failure?.check, message: failure?.message }));
