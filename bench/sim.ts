/**
 * `npm run bench:sim`: how fast the simulator plays the whole of the paper's Figure 9, two policies at 3, 5, 7 and 9
 * proposers, 10,000 simulated hours each: 80,000 in all.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type DuelCase, runDuelExperiment } from 'baton/sim';

const { values: flags } = parseArgs({
  options: {
    hours: { type: 'string', default: '10000' },
    latency: { type: 'string', default: 'lognormal:60,0.5' },
    json: { type: 'boolean', default: false },
  },
});

const hours = Number(flags.hours);
const common = {
  acceptors: 7,
  baseMs: 100,
  latency: flags.latency,
  intervalMs: 30_000,
  leaseMs: 45_000,
  skewMs: 0,
  writerDies: false,
  seed: 1,
};
const cases: readonly DuelCase[] = [3, 5, 7, 9].flatMap((proposers) => [
  { ...common, policy: 'initial', proposers },
  { ...common, policy: 'adaptive', proposers },
]);

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
if (flags.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
else {
  const number = (value: number): string => value.toLocaleString('en');
  process.stdout.write(
    `${number(figures.simulatedHours)} simulated hours in ${figures.seconds} s on ${figures.workers} cores, ` +
      `${number(figures.eventsPerSecond)} events a second.\n`,
  );
}
