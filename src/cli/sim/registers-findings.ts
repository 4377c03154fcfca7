/** What a campaign found, for people and as JSON: what it used, what happened, and how to see a failure again. */
import { version } from '../version.ts';
import {
  type CampaignOptions,
  type CampaignResult,
  ENOUGH_SEEDS,
  type SeededRun,
  type SeedFailure,
} from '../../sim/index.ts';
import { counted, countsTable, indented, number, virtualTime } from './registers-report.ts';
import { formatSchedule } from './registers-schedule.ts';

type Asked = Pick<CampaignOptions, 'simulation' | 'first' | 'count'>;

/** All that a campaign used, besides its seeds. */
export interface Used {
  readonly baton: string;
  readonly node: string;
  readonly platform: string;
  readonly workers: number;
  readonly twice: boolean;
}

export function usedBy(workers: number, twice: boolean): Used {
  const platform = `${process.platform} ${process.arch}`;
  return { baton: version(), node: process.version, platform, workers, twice };
}

/** The first failure in full: the run, and the least of its faults that still gives it. */
export interface Example {
  readonly failure: SeedFailure;
  readonly run: SeededRun;
  readonly shrunk: SeededRun | undefined;
}

const FAILURES_SHOWN = 20;

export function heading({ simulation, first, count }: Asked, used: Used): string {
  const last = first + count - 1;
  const how = `${used.twice ? 'each twice' : 'each once'}, on ${counted(used.workers, 'worker')}`;
  return `Seeds ${first} .. ${last} of the simulation ${simulation.name}, ${how}; baton ${used.baton}, Node ${used.node}, ${used.platform}.\n\n`;
}

export function asText(
  result: CampaignResult,
  used: Used,
  seconds: number,
  example: Example | undefined,
): string {
  const { counts, trace, done, asked, events, virtualMs } = result;
  const runs = used.twice ? 2 : 1;
  const seedsPerSecond = ((done * runs) / seconds).toFixed(1);
  const eventsPerSecond = number(Math.round((events * runs) / seconds));
  return [
    countsTable(counts),
    ...(done < asked ? [`Ended after ${number(done)} of ${number(asked)} seeds.`] : []),
    `Trace of all: ${trace}`,
    `${number(events)} events in ${virtualTime(virtualMs)} of virtual time${used.twice ? ', twice' : ''}; ` +
      `${seedsPerSecond} seeds and ${eventsPerSecond} events a second, ${seconds.toFixed(1)} s in all.`,
    ...coverage(result),
    ...(example === undefined ? [] : failures(result, example)),
    result.passed ? `Passed: ${counted(done, 'seed')}.` : 'FAILED.',
    '',
  ].join('\n');
}

function coverage({ neverOccurred, hasEnoughSeeds }: CampaignResult): readonly string[] {
  if (neverOccurred.length === 0) return [];
  const names = neverOccurred.map((name) => `"${name}"`).join(', ');
  return [
    hasEnoughSeeds
      ? `FAILED: this must occur in a campaign, and never did: ${names}.`
      : `Never occurred: ${names}. With ${ENOUGH_SEEDS} seeds or more this would be a failure.`,
  ];
}

function failures({ failures: all, simulation }: CampaignResult, example: Example): readonly string[] {
  const { failure, run, shrunk } = example;
  const others = all.slice(1, FAILURES_SHOWN).map(({ seed, check }) => `seed ${seed}: ${check}`);
  if (all.length > FAILURES_SHOWN) others.push(`and ${all.length - FAILURES_SHOWN} more`);
  return [
    '',
    `Seed ${failure.seed} FAILED: ${failure.check}`,
    indented([failure.message]),
    '',
    'What it used:',
    indented(run.configuration),
    '',
    ...(shrunk === undefined
      ? ['Its schedule:', formatSchedule(run.schedule)]
      : [
          `Its schedule, shrunk from ${counted(run.schedule.length, 'fault')} to ${shrunk.schedule.length}, ` +
            `still failing ${shrunk.failure?.check}:`,
          formatSchedule(shrunk.schedule),
          '',
          'To see it again with the shrunk schedule:',
          indented([replayCommand(simulation, failure.seed, shrunk)]),
        ]),
    '',
    'To see it again as it was:',
    indented([replayCommand(simulation, failure.seed)]),
    '',
    ...(others.length === 0 ? [] : [`${all.length} seeds failed. The others:`, indented(others), '']),
  ];
}

/** A line for the shell. Schedules are JSON without quotes of the single kind. */
function replayCommand(simulation: string, seed: number, shrunk?: SeededRun): string {
  const replay = `baton sim ${simulation} --seed ${seed}`;
  return shrunk === undefined ? replay : `echo '${JSON.stringify(shrunk.schedule)}' | ${replay} --schedule -`;
}

export function asJson(
  result: CampaignResult,
  used: Used,
  seconds: number,
  example: Example | undefined,
): object {
  const runs = used.twice ? 2 : 1;
  const { simulation } = result;
  return {
    ...used,
    ...result,
    seconds,
    seedsPerSecond: (result.done * runs) / seconds,
    eventsPerSecond: (result.events * runs) / seconds,
    ...(example && {
      example: {
        ...example,
        replay: replayCommand(simulation, example.failure.seed),
        ...(example.shrunk && {
          replayShrunk: replayCommand(simulation, example.failure.seed, example.shrunk),
        }),
      },
    }),
  };
}
