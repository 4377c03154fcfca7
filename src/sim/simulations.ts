/** The simulations by name: what a thread that was given a name runs. */
import { FUZZ_SIMULATIONS } from './engine/index.ts';
import { registersSimulation } from './registers/index.ts';
import type { SeededSimulation } from './seeded-run.ts';

const SIMULATIONS: readonly SeededSimulation[] = [registersSimulation, ...FUZZ_SIMULATIONS];

export function simulationNamed(name: string): SeededSimulation | undefined {
  return SIMULATIONS.find((simulation) => simulation.name === name);
}
