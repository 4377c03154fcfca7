/** One seed, run once more: all that it used, all that it did, and what its checks say. */
import {
  differenceOf,
  type ScheduledFault,
  type SeededRun,
  type SeededSimulation,
  type SimulationFailure,
} from '../../sim/index.ts';
import { UsageError } from '../errors.ts';
import { countsTable, indented, virtualTime } from './registers-report.ts';
import { formatSchedule } from './registers-schedule.ts';

export interface ReplayOptions {
  readonly simulation: SeededSimulation;
  readonly seed: number;
  /** Undefined: the seed's own. */
  readonly schedule: readonly ScheduledFault[] | undefined;
  readonly twice: boolean;
  readonly json: boolean;
}

export async function replaySeed({ simulation, seed, schedule, twice, json }: ReplayOptions): Promise<void> {
  const run = await play(simulation, seed, schedule);
  const difference = twice ? differenceOf(run, await play(simulation, seed, schedule)) : undefined;
  const failure = difference ?? run.failure;
  if (json) {
    const report = { simulation: simulation.name, ...run, ...(failure && { failure }) };
    process.stdout.write(`${JSON.stringify({ ...report, passed: failure === undefined })}\n`);
  } else {
    process.stdout.write(describe(simulation.name, run, failure, schedule !== undefined));
  }
  if (failure !== undefined) process.exitCode = 1;
}

async function play(
  simulation: SeededSimulation,
  seed: number,
  schedule: readonly ScheduledFault[] | undefined,
): Promise<SeededRun> {
  try {
    return await simulation.run(seed, schedule);
  } catch (error) {
    if (schedule === undefined) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The schedule does not fit seed ${seed}: ${why}.`);
  }
}

function describe(
  name: string,
  run: SeededRun,
  failure: SimulationFailure | undefined,
  isGiven: boolean,
): string {
  const { seed, configuration, schedule, trace, events, virtualMs, counts } = run;
  return [
    `Seed ${seed} of the simulation ${name}.\n`,
    'What it used:',
    indented(configuration),
    '',
    isGiven ? 'The schedule that was given:' : 'Its schedule:',
    formatSchedule(schedule),
    '',
    countsTable(counts),
    `Trace ${trace}: ${events.toLocaleString('en')} events in ${virtualTime(virtualMs)} of virtual time.`,
    failure === undefined ? 'Passed.' : `FAILED: ${failure.check}\n${indented([failure.message])}`,
    '',
  ].join('\n');
}
