/** The whole system under simulation: a seed in, a verdict out. */
import { CONSISTENCY_LEVELS, type ConsistencyLevel } from '../../check/index.ts';
import { Random } from '../core/index.ts';
import { recordOf, type ScheduledFault, type SeededRun, type SeededSimulation } from '../seeded-run.ts';
import { describeConfiguration, drawConfiguration } from './configuration.ts';
import { drawFaults, FUZZ_FAULTS } from './faults.ts';
import { FUZZ_PHASES, meeting } from './phases.ts';
import { CALM_MS, Scene } from './scene.ts';
import type { FuzzDefect } from './wiring.ts';

export { FUZZ_FAULTS } from './faults.ts';
export { FUZZ_DEFECTS, type FuzzDefect } from './wiring.ts';

const MUST_OCCUR: readonly string[] = [
  'unsynced writes lost',
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
}

/** The name is how the command is called, so that a replay can be printed. */
export function fuzzSimulationWith({ level, defect }: FuzzOptions = {}): SeededSimulation {
  return {
    name: level === undefined ? 'fuzz' : `fuzz --consistency ${level}`,
    mustOccur: MUST_OCCUR,
    run: (seed, schedule) => runSeed(seed, schedule, level, defect),
  };
}

export const FUZZ_SIMULATIONS: readonly SeededSimulation[] = [
  fuzzSimulationWith(),
  ...CONSISTENCY_LEVELS.map((level) => fuzzSimulationWith({ level })),
];

async function runSeed(
  seed: number,
  given: readonly ScheduledFault[] | undefined,
  level: ConsistencyLevel | undefined,
  defect: FuzzDefect | undefined,
): Promise<SeededRun> {
  const random = new Random(seed);
  const configuration = drawConfiguration(random, level);
  const window = { fromMs: CALM_MS, untilMs: CALM_MS + configuration.chaosMs };
  const schedule = given ?? drawFaults(configuration, window, random);
  const scene = new Scene(seed, configuration, schedule, defect);
  return recordOf(scene, { seed, configuration: describeConfiguration(configuration), schedule });
}
