/**
 * `npm run bench:outage`: the paper's outage exercise (6.1) with real processes: a client writes in every partition-set, every
 * process of the write region is killed, its acceptor included; then they are started again, and everything has to find its
 * way home. The same run in the simulator stands beside it.
 */
import { FLAGS, GOALS, type OutagePlan, planOf } from './outage/plan.ts';
import { compare, jsonOf, shortcomings, textOf, writeCharts } from './outage/report.ts';
import { type RealResult, runOutages } from './outage/round.ts';
import { simulate } from './outage/simulated.ts';
import { type Figures, runBenchmark } from './support/benchmark.ts';

/** Each step of the search for the limit has that many times as many partition-sets as the one before. */
const STEP = 1.4;
const MOST_STEPS = 8;

await runBenchmark(
  {
    name: 'outage',
    about:
      'How soon partition-sets are written again when their write region dies, and how soon they are back in it: three regions ' +
      "of real processes on this machine's disk, and a client that writes in every partition-set. The outage is `kill -9` of " +
      'every process of the write region and of its acceptor; then they are started again. The same outages in the simulator ' +
      'stand beside it. Exit code 1 when p50 or p99 differ by more than 20 %, when an acknowledged write is lost, or when ' +
      'recovery takes longer than its goal. The defaults take half an hour. Needs Linux.',
    flags: FLAGS,
    example: '--profile fast --partition-sets 100 --outages 1 --calm-minutes 2',
  },
  (flags) => {
    const plan = planOf(flags);
    return plan.findLimit ? findLimit(plan) : measure(plan);
  },
);

async function measure(plan: OutagePlan): Promise<Figures> {
  const result = await runOutages(plan, say);
  if (plan.simulate) say('the same outages in the simulator');
  const simulated = plan.simulate ? await simulate(plan, result.calm, () => {}) : undefined;
  const compared = simulated === undefined ? [] : compare(result, simulated);
  const reasons = shortcomings(result, compared);
  if (plan.charts !== undefined) writeCharts(plan.charts, result);
  if (reasons.length > 0) process.exitCode = 1;
  return { json: jsonOf(result, simulated, reasons), text: textOf(result, simulated, compared, reasons) };
}

/** How many this machine can carry with all recovered in time: up from the number that was asked for until one step fails. */
async function findLimit(plan: OutagePlan): Promise<Figures> {
  const steps: { partitionSets: number; inTime: boolean; p50: number; max: number; why: string }[] = [];
  let partitionSets = plan.partitionSets;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const result = await runOutages({ ...plan, partitionSets }, say).catch(
      (error: unknown) => error as Error,
    );
    const why = result instanceof Error ? result.message : reasonsOf(result).join('; ');
    const { recovery } = result instanceof Error ? { recovery: undefined } : result.counts;
    steps.push({
      partitionSets,
      inTime: why === '',
      p50: recovery?.percentile(0.5) ?? 0,
      max: recovery?.percentile(1) ?? 0,
      why,
    });
    say(`${partitionSets}: ${why === '' ? 'in time' : why}`);
    if (why !== '') break;
    partitionSets = Math.round(partitionSets * STEP);
  }
  const limit = steps.findLast(({ inTime }) => inTime)?.partitionSets ?? 0;
  const { halfMs, allMs } = GOALS[plan.profile];
  const what = `half within ${halfMs / 1000} s and all within ${allMs / 1000} s`;
  const tried = steps.map((one) => `${one.partitionSets}: ${one.inTime ? 'in time' : one.why}`).join('. ');
  return {
    json: { profile: plan.profile, limit, steps },
    text: `Profile ${plan.profile}: ${limit} partition-sets were carried with ${what}; ${tried}.\n`,
  };
}

function reasonsOf(result: RealResult): readonly string[] {
  return shortcomings(result, []);
}

function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}
