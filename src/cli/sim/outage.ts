/** `baton sim outage`: the paper's outage experiment (6.1), a fleet whose write region fails and returns. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { CONSISTENCY_LEVELS } from '../../failover/index.ts';
import {
  BUCKET_MS,
  dieAtHome,
  durationFigure,
  figureSix,
  OUTAGE_KIND_NAMES,
  OUTAGE_KINDS,
  outageTimes,
  runOutageExperiment,
} from '../../sim/index.ts';
import { UsageError } from '../errors.ts';
import { progressBar } from '../progress.ts';
import { type OutageFlags, PROFILE_NAMES, readOutageRequest } from './outage-flags.ts';
import { isUnsafe, outageJson, type OutageOutcome, outageText } from './outage-report.ts';

const REGIONS = 'East Asia,Southeast Asia,South Central US';
const ACCEPTORS = `${REGIONS},East US,West Europe,Japan East,Australia East`;
/** Enough to see the waits double. */
const DEATHS = 5;

const EXAMPLES = `
Kinds:
${OUTAGE_KIND_NAMES.map((kind) => `  ${kind.padEnd(20)}${OUTAGE_KINDS[kind].what}`).join('\n')}

Examples:
  baton sim outage --partition-sets 200
  baton sim outage --partition-sets 200 --hints off --charts charts
  baton sim outage --partition-sets 100 --kind flapping --outages 1
`;

export function outageCommand(): Command {
  return new Command('outage')
    .description(
      'Let the write region of a fleet fail and return, and measure when writes are back (paper 6.1).',
    )
    .option('--partition-sets <n>', 'number of partition-sets', '4300')
    .option('--regions <list>', 'names of Azure regions, the preferred write region first', REGIONS)
    .option('--acceptors <list>', 'names of Azure regions with one acceptor each; an odd number', ACCEPTORS)
    .option('--outages <n>', 'number of outages, one after the other', '3')
    .option('--minutes <n>', 'duration of each outage', '30')
    .option('--profile <name>', `timings: ${PROFILE_NAMES.join(', ')}`, 'paper')
    .option('--hints <on|off>', 'whether agents notify each other of beats and phases', 'on')
    .option('--kind <kind>', 'kind of outage, see below', 'region')
    .option('--consistency <level>', `consistency level: ${CONSISTENCY_LEVELS.join(', ')}`, 'Strong')
    .option('--min-durability <n>', 'regions that must store a write before it is acknowledged', '1')
    .option('--seed <n>', 'the same seed gives the same result', '1')
    .option('--workers <n>', 'number of threads (default: one per core); does not change the result')
    .option(
      '--charts <directory>',
      'write figure-6.svg, figure-7.svg, figure-8.svg and failback.svg to this directory',
    )
    .option('--json', 'print JSON', false)
    .addHelpText('after', EXAMPLES)
    .action(runOutageCommand);
}

async function runOutageCommand(flags: OutageFlags): Promise<void> {
  const { outageCase, partitionSets, workers } = readOutageRequest(flags);
  if (flags.charts !== undefined) makeDirectory(flags.charts);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const startedAt = performance.now();
  const progress = progressBar('partition-sets');
  let rssBytes = 0;
  const counts = await runOutageExperiment({
    outageCase,
    partitionSets,
    ...(workers !== undefined && { workers }),
    signal: interrupted.signal,
    onProgress: (done, inAll) => {
      rssBytes = Math.max(rssBytes, process.memoryUsage().rss);
      progress.update(done, inAll);
    },
  });
  progress.clear();
  const outcome: OutageOutcome = {
    outageCase,
    partitionSets,
    counts,
    elapsedSeconds: (performance.now() - startedAt) / 1000,
    cpuSeconds: cpuSeconds(),
    rssBytes,
    deaths: outageCase.kind === 'flapping' ? dieAtHome(outageCase, DEATHS) : [],
  };
  if (flags.charts !== undefined) writeCharts(flags.charts, outcome);
  process.stdout.write(flags.json ? `${JSON.stringify(outageJson(outcome))}\n` : outageText(outcome));
  if (isUnsafe(outcome)) process.exitCode = 1;
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Before the run: nobody should wait ten minutes to learn that the charts have no place. */
function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
  } catch {
    throw new UsageError(`The charts cannot be written to ${directory}.`);
  }
}

function writeCharts(directory: string, { outageCase, counts }: OutageOutcome): void {
  const charts = {
    'figure-6.svg': figureSix({
      regionNames: outageCase.regionNames,
      serving: counts.serving,
      bucketMs: BUCKET_MS,
      partitionSets: counts.partitionSets,
      outages: outageTimes(outageCase),
    }),
    'figure-7.svg': durationFigure('Time to restore availability', counts.recovery),
    'figure-8.svg': durationFigure('Time to detect recovery of the preferred region', counts.detect),
    'failback.svg': durationFigure('Time to fail back to the preferred region', counts.failback),
  };
  try {
    for (const [name, chart] of Object.entries(charts)) writeFileSync(join(directory, name), chart);
  } catch {
    throw new UsageError(`The charts cannot be written to ${directory}.`);
  }
}
