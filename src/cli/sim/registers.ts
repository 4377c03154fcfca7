/** `baton sim registers`: the CASPaxos library under seeded faults; campaigns of seeds, and the replay of one. */
import { Command } from 'commander';
import { FAULT_NAMES, registersSimulation } from '../../sim/index.ts';
import { UsageError } from '../errors.ts';
import { positiveInteger } from '../flags.ts';
import { runSeeds } from './registers-campaign.ts';
import { replaySeed } from './registers-replay.ts';
import { readSchedule } from './registers-schedule.ts';

interface RegistersFlags {
  readonly seeds?: string;
  readonly first?: string;
  readonly workers?: string;
  readonly twice: boolean;
  readonly stopAtFirst: boolean;
  readonly seed?: string;
  readonly schedule?: string;
  readonly json: boolean;
}

const DEFAULT_SEEDS = '1000';
/** Chance begins with 32 bits. */
const HIGHEST_SEED = 2 ** 32 - 1;

export function registersCommand(): Command {
  return new Command('registers')
    .description('Run CASPaxos registers under seeded faults: many seeds on all cores, or one seed replayed.')
    .option('--seeds <n>', `number of seeds (default: ${DEFAULT_SEEDS})`)
    .option('--first <n>', 'first seed (default: 1)')
    .option('--workers <n>', 'number of threads (default: one per core)')
    .option('--twice', 'run each seed twice, and fail if the runs differ', false)
    .option('--stop-at-first', 'stop at the first seed that fails', false)
    .option('--seed <n>', 'replay this seed and report it in detail')
    .option(
      '--schedule <file>',
      'with --seed: replay with this schedule of faults (JSON); - reads standard input',
    )
    .option('--json', 'print JSON', false)
    .addHelpText(
      'after',
      '\nExamples:\n  baton sim registers --seeds 2000 --twice\n  baton sim registers --seed 17\n',
    )
    .action(runRegisters);
}

async function runRegisters(flags: RegistersFlags): Promise<void> {
  const { twice, stopAtFirst, json } = flags;
  const simulation = registersSimulation;
  refuseMixtures(flags);
  if (flags.seed !== undefined) {
    const seed = seedNumber(flags.seed, '--seed');
    const schedule =
      flags.schedule === undefined ? undefined : await readSchedule(flags.schedule, FAULT_NAMES);
    await replaySeed({ simulation, seed, schedule, twice, json });
    return;
  }
  const first = seedNumber(flags.first ?? '1', '--first');
  const count = positiveInteger(flags.seeds ?? DEFAULT_SEEDS, '--seeds');
  if (first + count - 1 > HIGHEST_SEED) throw new UsageError(`There is no seed above ${HIGHEST_SEED}.`);
  const workers = flags.workers === undefined ? undefined : positiveInteger(flags.workers, '--workers');
  await runSeeds({ simulation, first, count, workers, twice, stopAtFirst, json });
}

/** One seed, or many: flags of the one mean nothing to the other. */
function refuseMixtures({ seed, seeds, first, workers, stopAtFirst, schedule }: RegistersFlags): void {
  if (seed === undefined) {
    if (schedule !== undefined) throw new UsageError('--schedule needs --seed, the seed to replay.');
    return;
  }
  const ofCampaigns = {
    '--seeds': seeds,
    '--first': first,
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
