/** `baton sim duel`: the paper's Figure 9, how often proposers that duel for one register lose their leases. */
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { DEFAULT_BASE_MS, POLICY_ELEMENTS, POLICY_NAMES } from '../../failover/index.ts';
import {
  figureNine,
  type FigurePoint,
  LATENCY_FORMS,
  runDuelExperiment,
  SWEEP_BASES_MS,
} from '../../sim/index.ts';
import { UsageError } from '../errors.ts';
import { progressBar } from '../progress.ts';
import { type DuelFlags, readRequest } from './duel-flags.ts';
import { asJson, asText, pointsOf } from './duel-report.ts';

const EXAMPLES = `
Examples:
  baton sim duel --hours 1000
  baton sim duel --proposers 9 --policy initial,adaptive,baton --sweep --hours 1000
  baton sim duel --proposers 9 --policy baton --ablation --hours 1000
`;

export function duelCommand(): Command {
  const bases = SWEEP_BASES_MS.map((ms) => ms / 1000).join(',');
  return new Command('duel')
    .description(
      'Measure how often proposers that update one register at the same pace lose their leases (paper 6.2).',
    )
    .option('--proposers <list>', 'numbers of proposers, separated by commas', '3,5,7,9')
    .option('--acceptors <n>', 'number of acceptors; odd', '7')
    .option('--hours <n>', 'simulated hours per case', '10000')
    .option('--policy <list>', `scheduling policies: ${POLICY_NAMES.join(', ')}`, POLICY_NAMES.join(','))
    .option(
      '--base <seconds>',
      'base of the backoff of policies that keep no statistics',
      `${DEFAULT_BASE_MS / 1000}`,
    )
    .option('--sweep [list]', `also run the policy initial with each of these bases, in seconds (${bases})`)
    .option(
      '--without <list>',
      `also run the policy baton without each of these elements: ${POLICY_ELEMENTS.join(', ')}`,
    )
    .option('--with <list>', 'also run the other policies with each of these elements of baton added')
    .option('--ablation', '--without for every element, and --writer-dies', false)
    .option(
      '--writer-dies',
      'let one proposer die near the end of the hour and measure when others notice',
      false,
    )
    .option('--latency <model>', `one-way latency in ms: ${LATENCY_FORMS.join(', ')}`, 'lognormal:60,0.5')
    .option('--interval <seconds>', 'interval between updates of a proposer', '30')
    .option('--lease <seconds>', 'lease that an update grants', '45')
    .option('--skew <seconds>', 'largest clock error, in either direction', '0')
    .option('--seed <n>', 'the same seed gives the same result and trace', '1')
    .option('--workers <n>', 'number of threads (default: one per core); does not change the result')
    .option('--chart <file>', 'write the chart (SVG) to this file')
    .option('--json', 'print JSON', false)
    .addHelpText('after', EXAMPLES)
    .action(runDuelCommand);
}

async function runDuelCommand(flags: DuelFlags): Promise<void> {
  const { cases, hours, sweptMs, workers } = readRequest(flags);
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const startedAt = performance.now();
  const progress = progressBar('hours');
  const results = await runDuelExperiment({
    cases,
    hours,
    ...(workers !== undefined && { workers }),
    signal: interrupted.signal,
    onProgress: (done, inAll) => progress.update(done, inAll),
  });
  progress.clear();
  const outcome = {
    results: results.filter(({ counts }) => counts.hours > 0),
    hours,
    sweptMs,
    elapsedSeconds: (performance.now() - startedAt) / 1000,
  };
  if (flags.chart !== undefined) writeChart(flags.chart, pointsOf(outcome));
  process.stdout.write(flags.json ? `${JSON.stringify(asJson(outcome))}\n` : asText(outcome));
}

function writeChart(path: string, points: readonly FigurePoint[]): void {
  try {
    writeFileSync(path, figureNine(points));
  } catch {
    throw new UsageError(`The chart cannot be written to ${path}.`);
  }
}
