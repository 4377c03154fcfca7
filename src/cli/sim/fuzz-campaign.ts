/** A campaign of whole-system seeds: for so many seeds or so many minutes, with a line that says how far it is. */
import { availableParallelism } from 'node:os';
import {
  type CampaignResult,
  runCampaign,
  SAME_RUN,
  type SeededSimulation,
  type SeedFailure,
  shrink,
} from '../../sim/index.ts';
import { type Progress, progressBar } from '../progress.ts';
import { type FuzzSummary, fuzzJson, fuzzText, summaryOf } from './fuzz-report.ts';
import type { SeedsOptions } from './registers-campaign.ts';
import { type Example, heading, type Used, usedBy } from './registers-findings.ts';

export interface FuzzCampaign extends SeedsOptions {
  /** Undefined: until all seeds are done. */
  readonly minutes: number | undefined;
}

const INTERRUPTED = 130;
const SHRINKING_RUNS = 60;

export async function runFuzz(campaign: FuzzCampaign): Promise<void> {
  const { simulation, workers = availableParallelism(), twice, json } = campaign;
  const used = usedBy(workers, twice);
  if (!json) process.stdout.write(headingOf(campaign, used));
  const startedAt = performance.now();
  const { result, isInterrupted } = await runAll({ ...campaign, workers });
  const seconds = (performance.now() - startedAt) / 1000;
  const [failure] = result.failures;
  const example = failure && (await exampleOf(simulation, failure));
  const summary: FuzzSummary = summaryOf(result);
  if (json) process.stdout.write(`${JSON.stringify(fuzzJson(result, summary, used, seconds, example))}\n`);
  else process.stdout.write(fuzzText(result, summary, used, seconds, example));
  if (!summary.passed) process.exitCode = 1;
  else if (isInterrupted) process.exitCode = INTERRUPTED;
}

function headingOf(campaign: FuzzCampaign, used: Used): string {
  const { minutes, simulation, first } = campaign;
  if (minutes === undefined) return heading(campaign, used);
  return `Seeds from ${first} on of the simulation ${simulation.name}, for ${minutes} min; baton ${used.baton}, Node ${used.node}, ${used.platform}.\n\n`;
}

/** Ctrl-C, or the end of the time, ends the campaign with what is done by then. */
async function runAll(
  campaign: FuzzCampaign & { readonly workers: number },
): Promise<{ readonly result: CampaignResult; readonly isInterrupted: boolean }> {
  const { minutes } = campaign;
  const end = new AbortController();
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
    end.abort();
  };
  const timer = minutes === undefined ? undefined : setTimeout(() => end.abort(), minutes * 60_000);
  process.once('SIGINT', interrupt);
  const bar = progressOf(minutes);
  try {
    const result = await runCampaign({ ...campaign, signal: end.signal, onProgress: bar.update });
    return { result, isInterrupted };
  } finally {
    clearTimeout(timer);
    process.off('SIGINT', interrupt);
    bar.clear();
  }
}

/** By seeds, or by time where that decides when it ends. */
function progressOf(minutes: number | undefined): Progress {
  if (minutes === undefined) return progressBar('seeds');
  const bar = progressBar('s');
  const startedAt = performance.now();
  const inAll = Math.ceil(minutes * 60);
  const passed = (): number => Math.min(inAll, Math.round((performance.now() - startedAt) / 1000));
  return { update: () => bar.update(passed(), inAll), clear: bar.clear };
}

/** The first failure again, and the least of its faults that still gives it. */
async function exampleOf(simulation: SeededSimulation, failure: SeedFailure): Promise<Example> {
  const run = await simulation.run(failure.seed);
  if (failure.check === SAME_RUN || run.failure === undefined) return { failure, run, shrunk: undefined };
  const bar = progressBar(`runs at most, to shrink the schedule of seed ${run.seed}`);
  let runs = 0;
  const watched: SeededSimulation = {
    ...simulation,
    run(seed, schedule) {
      bar.update((runs += 1), SHRINKING_RUNS);
      return simulation.run(seed, schedule);
    },
  };
  const shrunk = await shrink(watched, run, { maxRuns: SHRINKING_RUNS });
  bar.clear();
  return { failure, run, shrunk };
}
