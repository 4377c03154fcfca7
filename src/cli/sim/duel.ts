/** `baton sim duel`: the paper's Figure 9, how often proposers that duel for one register lose their leases. */
import { writeFileSync } from 'node:fs';
import { Command } from 'commander';
import { POLICY_NAMES, type PolicyName } from '../../failover/index.ts';
import {
  type DuelCase,
  type DuelResult,
  figureNine,
  type FigurePoint,
  LATENCY_FORMS,
  latencyModel,
  runDuelExperiment,
  terminalBars,
} from '../../sim/index.ts';
import { UsageError } from '../errors.ts';
import { positiveInteger } from '../flags.ts';

interface DuelFlags {
  readonly proposers: string;
  readonly acceptors: string;
  readonly hours: string;
  readonly policy: string;
  readonly base: string;
  readonly latency: string;
  readonly seed: string;
  readonly chart?: string;
  readonly json: boolean;
}

const INTERVAL_MS = 30_000;
const LEASE_MS = 45_000;

export function duelCommand(): Command {
  return new Command('duel')
    .description(
      'How often proposers that update one register at the same pace lose their leases (paper 6.2).',
    )
    .option('--proposers <list>', 'numbers of proposers', '3,5,7,9')
    .option('--acceptors <n>', 'acceptors; an odd number', '7')
    .option('--hours <n>', 'simulated hours for each line', '1000')
    .option('--policy <list>', POLICY_NAMES.join(', '), POLICY_NAMES.join(','))
    .option('--base <seconds>', 'static base of the backoff', '0.1')
    .option('--latency <model>', `one-way times in ms: ${LATENCY_FORMS.join(', ')}`, 'lognormal:60,0.5')
    .option('--seed <n>', 'the same seed gives the same result', '1')
    .option('--chart <file>', 'write the picture (SVG) to this file')
    .option('--json', 'print JSON', false)
    .addHelpText(
      'after',
      '\nExample:\n  baton sim duel --proposers 9 --hours 10000 --policy initial,adaptive --base 1\n',
    )
    .action(runDuelCommand);
}

async function runDuelCommand(flags: DuelFlags): Promise<void> {
  const cases = readCases(flags);
  const hours = positiveInteger(flags.hours, '--hours');
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  const startedAt = performance.now();
  const results = await runDuelExperiment({
    cases,
    hours,
    signal: interrupted.signal,
    ...(process.stderr.isTTY && { onProgress: progressBar(startedAt) }),
  });
  const seconds = (performance.now() - startedAt) / 1000;
  if (process.stderr.isTTY) process.stderr.write('\r\u001B[K');
  const done = results.filter((result) => result.hours > 0);
  if (flags.chart !== undefined) writeChart(flags.chart, done);
  if (flags.json) process.stdout.write(`${JSON.stringify(asJson(done, seconds))}\n`);
  else process.stdout.write(asTable(done, seconds, flags));
}

function writeChart(path: string, results: readonly DuelResult[]): void {
  try {
    writeFileSync(path, figureNine(results.map(pointOf)));
  } catch {
    throw new UsageError(`The chart cannot be written to ${path}.`);
  }
}

function pointOf({ duelCase, counts }: DuelResult): FigurePoint {
  return {
    policy: duelCase.policy,
    proposers: duelCase.proposers,
    failureRate: counts.failures / counts.due,
  };
}

function readCases(flags: DuelFlags): readonly DuelCase[] {
  const acceptors = positiveInteger(flags.acceptors, '--acceptors');
  if (acceptors % 2 === 0) throw new UsageError(`--acceptors needs an odd number, not ${acceptors}.`);
  if (latencyModel(flags.latency) === undefined) {
    throw new UsageError(
      `There is no latency model "${flags.latency}"; there are ${LATENCY_FORMS.join(', ')}.`,
    );
  }
  const baseMs = Number(flags.base) * 1000;
  if (!(baseMs > 0)) throw new UsageError(`--base needs a positive number of seconds, not "${flags.base}".`);
  const seed = positiveInteger(flags.seed, '--seed');
  const common = {
    acceptors,
    latency: flags.latency,
    baseMs,
    seed,
    intervalMs: INTERVAL_MS,
    leaseMs: LEASE_MS,
  };
  return flags.proposers.split(',').flatMap((text) => {
    const proposers = positiveInteger(text, '--proposers');
    return flags.policy.split(',').map((name) => ({ ...common, policy: policyName(name), proposers }));
  });
}

function policyName(name: string): PolicyName {
  const known = POLICY_NAMES.find((candidate) => candidate === name);
  if (known !== undefined) return known;
  throw new UsageError(`There is no policy "${name}"; there are ${POLICY_NAMES.join(', ')}.`);
}

function progressBar(startedAt: number): (done: number, inAll: number) => void {
  return (done, inAll) => {
    const share = done / inAll;
    const left = ((performance.now() - startedAt) / 1000) * (1 / share - 1);
    const bar = '#'.repeat(Math.round(share * 30)).padEnd(30, '.');
    process.stderr.write(
      `\r\u001B[K[${bar}] ${done.toLocaleString('en')}/${inAll.toLocaleString('en')} hours, ${Math.ceil(left)} s left`,
    );
  };
}

function asJson(results: readonly DuelResult[], seconds: number): object {
  const rows = results.map(({ duelCase, hours, counts }) => {
    const { policy, proposers } = duelCase;
    const { due, failures } = counts;
    return {
      policy,
      proposers,
      hours,
      due,
      failures,
      failureRate: failures / due,
      attemptsPerUpdate: counts.attempts / counts.updates,
    };
  });
  return { rows, eventsPerSecond: eventsPerSecond(results, seconds) };
}

function asTable(results: readonly DuelResult[], seconds: number, flags: DuelFlags): string {
  const head = `Leases lost by proposers that update one register every 30 s, lease 45 s, ${flags.acceptors} acceptors,\n`;
  const setting = `one-way latency ${flags.latency}, static base ${flags.base} s, seed ${flags.seed}.\n\n`;
  const columns =
    'policy     proposers   hours   failure rate (95 %)              attempts  refusals  p50 ms  p99 ms  requests\n';
  const lines = results.map(({ duelCase, hours, counts }) => {
    const { updates, attempts, refusals, requests, commitMs } = counts;
    return [
      duelCase.policy.padEnd(10),
      `${duelCase.proposers}`.padStart(9),
      hours.toLocaleString('en').padStart(8),
      `  ${rateOf(counts.failures, counts.due)}`.padEnd(36),
      (attempts / updates).toFixed(2).padStart(6),
      (refusals / updates).toFixed(2).padStart(9),
      commitMs.percentile(0.5).toFixed(0).padStart(7),
      commitMs.percentile(0.99).toFixed(0).padStart(7),
      (requests / updates).toFixed(1).padStart(9),
    ].join(' ');
  });
  const speed = `\n${(eventsPerSecond(results, seconds) / 1e6).toFixed(2)} million events a second, ${seconds.toFixed(1)} s in all.\n`;
  const bars = terminalBars(results.map(pointOf));
  return `${head}${setting}${columns}${lines.join('\n')}\n\n${bars}\n${speed}`;
}

/** With Wilson's interval, which also holds where nothing failed. */
function rateOf(failures: number, due: number): string {
  const z = 1.96;
  const rate = failures / due;
  const centre = (rate + (z * z) / (2 * due)) / (1 + (z * z) / due);
  const half = (z / (1 + (z * z) / due)) * Math.sqrt((rate * (1 - rate)) / due + (z * z) / (4 * due * due));
  const percent = (value: number): string => `${(100 * Math.max(0, value)).toFixed(4)} %`;
  return `${percent(rate)} (${percent(centre - half)} .. ${percent(centre + half)})`;
}

function eventsPerSecond(results: readonly DuelResult[], seconds: number): number {
  return Math.round(results.reduce((total, { counts }) => total + counts.events, 0) / seconds);
}
