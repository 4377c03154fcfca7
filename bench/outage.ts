/**
 * The paper's outage exercise (6.1) for real: three regions of real processes with the real engine and seven acceptors on
 * this machine's disk, a client that writes in every partition-set, and `kill -9` of every process of the write region, its
 * acceptor included; then they are started again, and everything has to find its way home. The same run in the simulator
 * stands beside it; where the two are more than 20 % apart, the command fails, as it does when a figure is not reached.
 *
 *   npm run bench:outage [-- --partition-sets 4300 --profile paper --outages 3 --minutes 3] [--find-limit] [--json]
 */
import { GOALS, HELP, type OutagePlan, readPlan } from './outage/plan.ts';
import { compare, jsonOf, shortcomings, textOf, writeCharts } from './outage/report.ts';
import { type RealResult, runOutages } from './outage/round.ts';
import { simulate } from './outage/simulated.ts';

/** Each step of the search for the limit has that many times as many partition-sets as the one before. */
const STEP = 1.4;
const MOST_STEPS = 8;

try {
  const plan = readPlan(process.argv.slice(2));
  if (plan === 'help') process.stdout.write(HELP);
  else if (plan.findLimit) await findLimit(plan);
  else await measure(plan);
} catch (error) {
  process.stderr.write(`bench:outage: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

async function measure(plan: OutagePlan): Promise<void> {
  const result = await runOutages(plan, say);
  if (plan.simulate) say('the same in the simulator');
  const simulated = plan.simulate ? await simulate(plan, result.calm, () => {}) : undefined;
  const compared = simulated === undefined ? [] : compare(result, simulated);
  const reasons = shortcomings(result, compared);
  if (plan.charts !== undefined) writeCharts(plan.charts, result);
  process.stdout.write(
    plan.json
      ? `${JSON.stringify(jsonOf(result, simulated, reasons))}\n`
      : textOf(result, simulated, compared, reasons),
  );
  if (reasons.length > 0) process.exitCode = 1;
}

/** How many this machine can carry with all recovered in time: up from the number that was asked for until one step fails. */
async function findLimit(plan: OutagePlan): Promise<void> {
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
  process.stdout.write(
    plan.json
      ? `${JSON.stringify({ profile: plan.profile, limit, steps })}\n`
      : `Profile ${plan.profile}: ${limit} partition-sets were carried with ${what}; ${steps.map((one) => `${one.partitionSets}: ${one.inTime ? 'in time' : one.why}`).join('. ')}.\n`,
  );
}

function reasonsOf(result: RealResult): readonly string[] {
  return shortcomings(result, []);
}

function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
}
