/** A campaign of seeds from the command line: it shows how far it is, can be interrupted, and shrinks what it finds. */
import { availableParallelism } from 'node:os';
import {
  type CampaignOptions,
  type CampaignResult,
  runCampaign,
  SAME_RUN,
  type SeededRun,
  type SeededSimulation,
  type SeedFailure,
  shrink,
} from '../../sim/index.ts';
import { progressBar } from '../progress.ts';
import { asJson, asText, type Example, heading, usedBy } from './registers-findings.ts';

export interface SeedsOptions {
  readonly simulation: SeededSimulation;
  readonly first: number;
  readonly count: number;
  /** Undefined: one for each core. */
  readonly workers: number | undefined;
  readonly twice: boolean;
  readonly stopAtFirst: boolean;
  readonly json: boolean;
  /** For tests: threads know only the simulations that have a name. */
  readonly startRunner?: NonNullable<CampaignOptions['startRunner']>;
}

const INTERRUPTED = 130;
const SHRINKING_RUNS = 200;

export async function runSeeds(options: SeedsOptions): Promise<void> {
  const { simulation, workers = availableParallelism(), twice, json } = options;
  const used = usedBy(workers, twice);
  if (!json) process.stdout.write(heading(options, used));
  const startedAt = performance.now();
  const result = await runAll({ ...options, workers });
  const seconds = (performance.now() - startedAt) / 1000;
  const example = result.failures.length === 0 ? undefined : await exampleOf(simulation, result.failures[0]!);
  if (json) process.stdout.write(`${JSON.stringify(asJson(result, used, seconds, example))}\n`);
  else process.stdout.write(asText(result, used, seconds, example));
  if (!result.passed) process.exitCode = 1;
  else if (result.done < result.asked) process.exitCode = INTERRUPTED;
}

/** Ctrl-C ends this part of the work and not the command; between two parts it ends the command. */
async function interruptible<R>(work: (signal: AbortSignal) => Promise<R>): Promise<R> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  process.once('SIGINT', interrupt);
  try {
    return await work(interrupted.signal);
  } finally {
    process.off('SIGINT', interrupt);
  }
}

async function runAll(campaign: SeedsOptions & { readonly workers: number }): Promise<CampaignResult> {
  const bar = progressBar('seeds');
  try {
    return await interruptible((signal) => runCampaign({ ...campaign, signal, onProgress: bar.update }));
  } finally {
    bar.clear();
  }
}

async function exampleOf(simulation: SeededSimulation, failure: SeedFailure): Promise<Example> {
  const run = await simulation.run(failure.seed);
  const isRepeatable = failure.check !== SAME_RUN && run.failure !== undefined;
  return { failure, run, shrunk: isRepeatable ? await shrunkRun(simulation, run) : undefined };
}

/** Undefined when somebody did not want to wait for it. */
async function shrunkRun(simulation: SeededSimulation, run: SeededRun): Promise<SeededRun | undefined> {
  const bar = progressBar(`runs at most, to shrink the schedule of seed ${run.seed}`);
  let runs = 0;
  return interruptible(async (signal) => {
    const watched: SeededSimulation = {
      ...simulation,
      run(seed, schedule) {
        signal.throwIfAborted();
        bar.update((runs += 1), SHRINKING_RUNS);
        return simulation.run(seed, schedule);
      },
    };
    try {
      return await shrink(watched, run, { maxRuns: SHRINKING_RUNS });
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    } finally {
      bar.clear();
    }
  });
}
