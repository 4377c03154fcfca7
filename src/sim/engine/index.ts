/** The whole system under simulation: a seed in, a verdict out. */
import { CONSISTENCY_LEVELS, type ConsistencyLevel } from '../../check/index.ts';
import { Random } from '../core/index.ts';
import { recordOf, type ScheduledFault, type SeededRun, type SeededSimulation } from '../seeded-run.ts';
import { describeConfiguration, drawConfiguration } from './configuration.ts';
import { drawFaults, FUZZ_FAULTS } from './faults.ts';
import { FUZZ_PHASES, meeting } from './phases.ts';
import { PLANS_MUST } from './plan-counts.ts';
import { describePlans, drawPlans, type PlanClients } from './plan-style.ts';
import { CALM_MS, Scene } from './scene.ts';
import type { FuzzDefect } from './wiring.ts';

export { FUZZ_FAULTS } from './faults.ts';
export { PLAN_DEFECTS, type PlanDefect } from './plan-defects.ts';
export type { PlanClients } from './plan-style.ts';
export { FUZZ_DEFECTS, type FuzzDefect } from './wiring.ts';

const MUST_OCCUR: readonly string[] = [
  'unsynced writes lost',
  'machine suspended',
  'entry damaged',
  'engine: repaired',
  'engine: undone',
  'entries undone',
  'switchover: taken',
  ...['silence', 'unable', 'stop', 'forced', 'planned, operator', 'planned, priority'].map(
    (why) => `failover: ${why}`,
  ),
  ...FUZZ_FAULTS.map((fault) => `fault ${fault}`),
  ...FUZZ_FAULTS.flatMap((fault) => FUZZ_PHASES.map((phase) => meeting(fault, phase))),
];

export interface FuzzOptions {
  /** All partition-sets at this level; otherwise each seed draws one. */
  readonly level?: ConsistencyLevel | undefined;
  /** Breaks a promise on purpose, to show that the checks notice. */
  readonly defect?: FuzzDefect;
  /** Which clients are driven by the SDK's plans; otherwise each seed draws it. */
  readonly plans?: PlanClients;
}

/** The name is how the command is called, so that a replay can be printed. */
export function fuzzSimulationWith(options: FuzzOptions = {}): SeededSimulation {
  const { level, plans } = options;
  return {
    name: level === undefined ? 'fuzz' : `fuzz --consistency ${level}`,
    mustOccur: plans === 'none' ? MUST_OCCUR : [...MUST_OCCUR, ...PLANS_MUST],
    run: (seed, schedule) => runSeed(seed, schedule, options),
  };
}

export const FUZZ_SIMULATIONS: readonly SeededSimulation[] = [
  fuzzSimulationWith(),
  ...CONSISTENCY_LEVELS.map((level) => fuzzSimulationWith({ level })),
];

async function runSeed(
  seed: number,
  given: readonly ScheduledFault[] | undefined,
  { level, defect, plans: which = 'drawn' }: FuzzOptions,
): Promise<SeededRun> {
  const random = new Random(seed);
  const configuration = drawConfiguration(random, level);
  const window = { fromMs: CALM_MS, untilMs: CALM_MS + configuration.chaosMs };
  const schedule = given ?? drawFaults(configuration, window, random);
  const plans = drawPlans(seed, configuration, which);
  const scene = new Scene(seed, configuration, schedule, { plans, defect });
  const told = [...describeConfiguration(configuration), ...describePlans(plans)];
  return recordOf(scene, { seed, configuration: told, schedule });
}
