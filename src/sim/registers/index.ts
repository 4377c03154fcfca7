/** The CASPaxos library under simulation: a seed in, a verdict out. */
import { Random } from '../core/index.ts';
import { recordOf, type ScheduledFault, type SeededRun, type SeededSimulation } from '../seeded-run.ts';
import { describeConfiguration, drawConfiguration } from './configuration.ts';
import { drawFaults, FAULT_NAMES, type FaultName } from './faults.ts';
import { meeting, type Phase, PHASES } from './phases.ts';
import { CALM_MS, Scene } from './scene.ts';
import type { Defect } from './store-server.ts';

export { DEFECTS, type Defect } from './store-server.ts';

/** A new set of acceptors and a second cluster are no faults, though they are drawn like them: they are something that faults meet. */
const FAULTS = FAULT_NAMES.filter((name) => name !== 'change set' && name !== 'shared');

/** Pairs that are rare, because a client seldom opens the cluster, or that cannot be: see the limits in `faults.ts`. */
function needNotMeet(fault: FaultName, phase: Phase): boolean {
  // Beside the cut that comes with it, which is what messages meet.
  if (fault === 'copy') return phase !== 'identity read' && phase !== 'phase 1';
  if (phase === 'set change') return ['roll back', 'promote', 'restore'].includes(fault);
  if (phase === 'describe') return fault === 'promote';
  return phase === 'install' && !['loss', 'duplicate', 'straggle', 'cut', 'slow disk'].includes(fault);
}

const MUST_OCCUR: readonly string[] = [
  'due: done',
  'read: read',
  'read: failed',
  'slow read',
  'one round trip',
  'conflict',
  'unavailable',
  'reopened',
  'forgotten',
  'set change: done',
  'unsynced writes lost',
  'open failed: CONFIGURATION_CONFLICT',
  'shared: two clusters',
  'shared: one cluster',
  'restored: found',
  ...['BEHIND', 'PROMOTED'].map((how) => `refused a newcomer: ACCEPTOR_${how}`),
  'warning CORRUPT_RECORD',
  ...['EMPTY', 'FOREIGN', 'BEHIND', 'PROMOTED'].map((how) => `acceptor down ACCEPTOR_${how}`),
  ...['committed', 'rejected', 'unknown'].flatMap((how) => [`change: ${how}`, `continued: ${how}`]),
  ...FAULT_NAMES.map((fault) => `fault ${fault}`),
  ...FAULTS.flatMap((fault) =>
    PHASES.filter((phase) => !needNotMeet(fault, phase)).map((phase) => meeting(fault, phase)),
  ),
];

/** Of chance: for what was not drawn from the beginning. */
const LATER_STREAM = 65_536;

export interface RegistersOptions {
  /** Breaks a promise of the simulated stores, to show that the checks notice. */
  readonly defect?: Defect;
}

export function registersSimulationWith(options: RegistersOptions = {}): SeededSimulation {
  return {
    name: 'registers',
    mustOccur: MUST_OCCUR,
    run: (seed, schedule) => runSeed(seed, schedule, options),
  };
}

export const registersSimulation: SeededSimulation = registersSimulationWith();

async function runSeed(
  seed: number,
  given: readonly ScheduledFault[] | undefined,
  { defect }: RegistersOptions,
): Promise<SeededRun> {
  const random = new Random(seed);
  const later = new Random(seed, LATER_STREAM);
  const configuration = drawConfiguration(random, later);
  const window = { fromMs: CALM_MS, untilMs: CALM_MS + configuration.chaosMs };
  const schedule = given ?? drawFaults(configuration, window, random, later);
  const scene = new Scene(seed, configuration, schedule, defect);
  return recordOf(scene, { seed, configuration: describeConfiguration(configuration), schedule });
}
