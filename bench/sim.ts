/** `npm run bench:sim`: how fast the simulator plays the paper's Figure 9. */
import { availableParallelism } from 'node:os';
import { type DuelCase, LATENCY_FORMS, latencyModel, runDuelExperiment } from 'baton/sim';
import { runBenchmark } from './support/benchmark.ts';
import { count, type Flag, FlagError } from './support/flags.ts';

const USUAL = 'lognormal:60,0.5';

const LATENCY: Flag<string> = {
  takes: 'MODEL',
  what: `one-way times in ms: ${LATENCY_FORMS.join(', ')}`,
  otherwise: USUAL,
  usual: USUAL,
  read: (typed, flag) => {
    if (latencyModel(typed) !== undefined) return typed;
    throw new FlagError(`${flag} does not know "${typed}"; known forms: ${LATENCY_FORMS.join(', ')}.`);
  },
};

await runBenchmark(
  {
    name: 'sim',
    about:
      "Time that the simulator takes for the whole of the paper's Figure 9: two policies at 3, 5, 7 and 9 proposers, " +
      '10,000 simulated hours each, 80,000 in all, on all cores.',
    flags: {
      hours: count('simulated hours of each of the eight cases', 10_000),
      latency: LATENCY,
    },
    example: '--hours 500',
  },
  async ({ hours, latency }) => {
    const cases = casesWith(latency);
    const startedAt = performance.now();
    const results = await runDuelExperiment({ cases, hours });
    const seconds = (performance.now() - startedAt) / 1000;
    const events = results.reduce((total, { counts }) => total + counts.events, 0);
    const figures = {
      simulatedHours: cases.length * hours,
      seconds: Math.round(seconds * 10) / 10,
      eventsPerSecond: Math.round(events / seconds),
      workers: availableParallelism(),
    };
    return { json: figures, text: sentence(figures) };
  },
);

function casesWith(latency: string): readonly DuelCase[] {
  const common = {
    acceptors: 7,
    baseMs: 100,
    latency,
    intervalMs: 30_000,
    leaseMs: 45_000,
    skewMs: 0,
    writerDies: false,
    seed: 1,
  };
  return [3, 5, 7, 9].flatMap((proposers) => [
    { ...common, policy: 'initial', proposers },
    { ...common, policy: 'adaptive', proposers },
  ]);
}

function sentence(figures: {
  readonly simulatedHours: number;
  readonly seconds: number;
  readonly eventsPerSecond: number;
  readonly workers: number;
}): string {
  const { simulatedHours, seconds, eventsPerSecond, workers } = figures;
  return (
    `${simulatedHours.toLocaleString('en')} simulated hours in ${seconds} s on ${workers} cores, ` +
    `${eventsPerSecond.toLocaleString('en')} events a second.\n`
  );
}
