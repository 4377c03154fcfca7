/**
 * Many seeds of one simulation, on all cores. Any worker can take any seed, and what comes of it must not show who took
 * what, so results are taken in the order of the seeds: a seed counts when all below it have been counted. A campaign
 * that is interrupted, or that stops at its first failure, is therefore exactly a shorter campaign.
 *
 * A campaign fails in three ways. A seed fails one of the simulation's checks. A seed gives two different runs, when each
 * is run twice. Or every seed passes, but something that had to happen (a fault that meets a phase) never did, so that
 * the campaign has shown less than it claims; that is held against it once it has `ENOUGH_SEEDS`.
 */
import { availableParallelism } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { startSeedWorker } from './campaign-threads.ts';
import { combinedDigest, NO_TRACE } from './core/index.ts';
import type { SeededRun, SeededSimulation, SimulationFailure } from './seeded-run.ts';
import type { Runner } from './threads.ts';

/** Runs seeds of one simulation, one at a time. */
export type SeedRunner = Runner<number, SeededRun>;

export interface CampaignOptions {
  readonly simulation: SeededSimulation;
  readonly first: number;
  readonly count: number;
  /** All cores, unless told otherwise. */
  readonly workers?: number;
  /** Runs each seed twice, on whatever workers are free: a seed whose two runs differ has failed. */
  readonly twice?: boolean;
  /** Ends with the lowest seed that fails. */
  readonly stopAtFirst?: boolean;
  /** What is done by then is the result. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (seedsDone: number, seedsInAll: number) => void;
  readonly startRunner?: (simulation: SeededSimulation) => SeedRunner;
}

export interface SeedFailure extends SimulationFailure {
  readonly seed: number;
}

export interface CampaignResult {
  readonly simulation: string;
  readonly first: number;
  /** Seeds that were asked for, and those that were run and counted: `first .. first + done - 1`. */
  readonly asked: number;
  readonly done: number;
  /** One fingerprint of all runs. */
  readonly trace: string;
  readonly events: number;
  readonly virtualMs: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly failures: readonly SeedFailure[];
  /** What had to happen and did not. */
  readonly neverOccurred: readonly string[];
  /** Whether there were seeds enough for `neverOccurred` to be a failure. */
  readonly hasEnoughSeeds: boolean;
  readonly passed: boolean;
}

/** The check that runs of one seed must be the same run. */
export const SAME_RUN = 'same run';

/** From here on a campaign must have seen all that the simulation says must occur. */
export const ENOUGH_SEEDS = 200;

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { simulation, first, count, signal, onProgress, startRunner = startSeedWorker } = options;
  const tally = new Tally(options);
  const times = options.twice === true ? 2 : 1;
  let begun = 0;
  const isOver = (): boolean =>
    begun >= count * times || tally.isStopped || (signal?.aborted === true && begun % times === 0);
  const work = async (): Promise<void> => {
    const runner = startRunner(simulation);
    try {
      while (!isOver()) {
        const seed = first + Math.floor(begun / times);
        begun += 1;
        tally.add(await runner.run(seed));
        onProgress?.(tally.done, count);
      }
    } catch (error) {
      begun = Infinity;
      throw error;
    } finally {
      await runner.close();
    }
  };
  const workers = Math.min(options.workers ?? availableParallelism(), count * times);
  await Promise.all(Array.from({ length: workers }, work));
  return tally.result();
}

/** Counts runs in the order of their seeds, however they come in. */
class Tally {
  readonly #options: CampaignOptions;
  readonly #waiting = new Map<number, SeededRun[]>();
  readonly #counts = new Map<string, number>();
  readonly #failures: SeedFailure[] = [];
  #trace = NO_TRACE;
  #events = 0;
  #virtualMs = 0;
  #done = 0;
  #isStopped = false;

  constructor(options: CampaignOptions) {
    this.#options = options;
  }

  get done(): number {
    return this.#done;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  add(run: SeededRun): void {
    const { first, twice } = this.#options;
    this.#waiting.set(run.seed, [...(this.#waiting.get(run.seed) ?? []), run]);
    while (!this.#isStopped) {
      const seed = first + this.#done;
      const [one, other] = this.#waiting.get(seed) ?? [];
      if (one === undefined || (twice === true && other === undefined)) return;
      this.#waiting.delete(seed);
      this.#count(one, failureOf(one, other));
    }
  }

  result(): CampaignResult {
    const { simulation, first, count } = this.#options;
    const neverOccurred = simulation.mustOccur.filter((name) => (this.#counts.get(name) ?? 0) === 0);
    const hasEnoughSeeds = this.#done >= ENOUGH_SEEDS;
    return {
      simulation: simulation.name,
      first,
      asked: count,
      done: this.#done,
      trace: this.#trace,
      events: this.#events,
      virtualMs: this.#virtualMs,
      counts: Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))),
      failures: this.#failures,
      neverOccurred,
      hasEnoughSeeds,
      passed: this.#failures.length === 0 && !(hasEnoughSeeds && neverOccurred.length > 0),
    };
  }

  #count(
    { seed, trace, events, virtualMs, counts }: SeededRun,
    failure: SimulationFailure | undefined,
  ): void {
    this.#done += 1;
    this.#trace = combinedDigest(this.#trace, trace);
    this.#events += events;
    this.#virtualMs += virtualMs;
    for (const [name, times] of Object.entries(counts))
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + times);
    if (failure === undefined) return;
    this.#failures.push({ seed, ...failure });
    if (this.#options.stopAtFirst === true) this.#isStopped = true;
  }
}

/** That two runs differ comes first: what such a seed says otherwise cannot be replayed. */
function failureOf(one: SeededRun, other: SeededRun | undefined): SimulationFailure | undefined {
  return (other && differenceOf(one, other)) ?? one.failure;
}

/** How two runs of one seed differ, if they do: not only in their traces. */
export function differenceOf(one: SeededRun, other: SeededRun): SimulationFailure | undefined {
  if (isDeepStrictEqual(one, other)) return undefined;
  const describe = ({ trace, events }: SeededRun): string => `trace ${trace} after ${events} events`;
  return {
    check: SAME_RUN,
    message: `Two runs of seed ${one.seed} differ: ${describe(one)}, and ${describe(other)}.`,
  };
}
