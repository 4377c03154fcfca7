/** `baton sim fuzz`: the whole system under seeded faults; campaigns of seeds, and the replay of one. */
import { Command } from 'commander';
import { CONSISTENCY_LEVELS, type ConsistencyLevel } from '../../check/index.ts';
import { FUZZ_FAULTS, fuzzSimulationWith } from '../../sim/index.ts';
import { UsageError } from '../errors.ts';
import { positiveInteger } from '../flags.ts';
import { runFuzz } from './fuzz-campaign.ts';
import { replaySeed } from './registers-replay.ts';
import { readSchedule } from './registers-schedule.ts';

interface FuzzFlags {
  readonly seeds?: string;
  readonly minutes?: string;
  readonly first?: string;
  readonly fresh: boolean;
  readonly workers?: string;
  readonly twice: boolean;
  readonly stopAtFirst: boolean;
  readonly seed?: string;
  readonly schedule?: string;
  readonly consistency?: string;
  readonly json: boolean;
}

const DEFAULT_SEEDS = '200';
/** Chance begins with 32 bits. */
const HIGHEST_SEED = 2 ** 32 - 1;
/** Fresh seeds are drawn below this, so that there is room above the first. */
const FRESH_BELOW = 2 ** 31;

export function fuzzCommand(): Command {
  return new Command('fuzz')
    .description('Run the whole system under seeded faults: many seeds on all cores, or one seed replayed.')
    .option(
      '--seeds <n>',
      `number of seeds (default: ${DEFAULT_SEEDS}; with --minutes, as many as there is time for)`,
    )
    .option('--minutes <m>', 'start no seed after this many minutes')
    .option('--first <n>', 'first seed (default: 1)')
    .option('--fresh', 'start at a random seed', false)
    .option('--workers <n>', 'number of threads (default: one per core)')
    .option('--twice', 'run each seed twice, and fail if the runs differ', false)
    .option('--stop-at-first', 'stop at the first seed that fails', false)
    .option('--seed <n>', 'replay this seed and report it in detail')
    .option(
      '--schedule <file>',
      'with --seed: replay with this schedule of faults (JSON); - reads standard input',
    )
    .option('--consistency <level>', `one of ${CONSISTENCY_LEVELS.join(', ')} (default: each seed draws one)`)
    .option('--json', 'print JSON', false)
    .addHelpText(
      'after',
      '\nExamples:\n  baton sim fuzz --minutes 5 --fresh\n  baton sim fuzz --consistency Strong --seeds 500\n  baton sim fuzz --seed 17\n',
    )
    .action(fuzz);
}

async function fuzz(flags: FuzzFlags): Promise<void> {
  const { twice, stopAtFirst, json } = flags;
  refuseMixtures(flags);
  const simulation = fuzzSimulationWith({ level: levelOf(flags.consistency) });
  if (flags.seed !== undefined) {
    const seed = seedNumber(flags.seed, '--seed');
    const schedule =
      flags.schedule === undefined ? undefined : await readSchedule(flags.schedule, FUZZ_FAULTS);
    await replaySeed({ simulation, seed, schedule, twice, json });
    return;
  }
  const first = flags.fresh ? freshSeed() : seedNumber(flags.first ?? '1', '--first');
  const minutes = flags.minutes === undefined ? undefined : minutesOf(flags.minutes);
  const count =
    flags.seeds === undefined && minutes !== undefined
      ? HIGHEST_SEED - first + 1
      : positiveInteger(flags.seeds ?? DEFAULT_SEEDS, '--seeds');
  if (first + count - 1 > HIGHEST_SEED) throw new UsageError(`There is no seed above ${HIGHEST_SEED}.`);
  const workers = flags.workers === undefined ? undefined : positiveInteger(flags.workers, '--workers');
  await runFuzz({ simulation, first, count, minutes, workers, twice, stopAtFirst, json });
}

function levelOf(name: string | undefined): ConsistencyLevel | undefined {
  if (name === undefined) return undefined;
  const level = CONSISTENCY_LEVELS.find((known) => known.toLowerCase() === name.toLowerCase());
  if (level === undefined)
    throw new UsageError(`--consistency needs one of ${CONSISTENCY_LEVELS.join(', ')}, not "${name}".`);
  return level;
}

/** One seed, or many: flags of the one mean nothing to the other. */
function refuseMixtures(flags: FuzzFlags): void {
  const { seed, seeds, minutes, first, fresh, workers, stopAtFirst, schedule } = flags;
  if (fresh && first !== undefined)
    throw new UsageError('--fresh draws the first seed, so it cannot be combined with --first.');
  if (seed === undefined) {
    if (schedule !== undefined) throw new UsageError('--schedule needs --seed, the seed to replay.');
    return;
  }
  const ofCampaigns = {
    '--seeds': seeds,
    '--minutes': minutes,
    '--first': first,
    '--fresh': fresh,
    '--workers': workers,
    '--stop-at-first': stopAtFirst,
  };
  const mixed = Object.entries(ofCampaigns).find(([, value]) => value !== undefined && value !== false);
  if (mixed !== undefined)
    throw new UsageError(`--seed replays one seed, so it cannot be combined with ${mixed[0]}.`);
}

function seedNumber(text: string, flag: string): number {
  const seed = positiveInteger(text, flag);
  if (seed > HIGHEST_SEED) throw new UsageError(`There is no seed above ${HIGHEST_SEED}.`);
  return seed;
}

function minutesOf(text: string): number {
  const minutes = Number(text);
  if (!Number.isFinite(minutes) || minutes <= 0)
    throw new UsageError(`--minutes needs a positive number, not "${text}".`);
  return minutes;
}

function freshSeed(): number {
  return 1 + Math.floor(Math.random() * FRESH_BELOW);
}
