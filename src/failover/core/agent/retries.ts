/**
 * How long an update waits after a lost attempt. Refused by a rival, it waits as the policy says, by the statistics that the
 * state carries (paper 6.2.3).
 */
import type { FailoverState, RegionName } from '../machine/index.ts';
import type { SchedulingPolicy } from '../scheduling/policy.ts';
import { Turns } from '../scheduling/turns.ts';

export interface RetriesOptions {
  readonly region: RegionName;
  readonly policy: SchedulingPolicy;
  readonly random: () => number;
}

/** Of whoever has not seen a state yet. */
const FIRST_INTERVAL_MS = 1000;

export class Retries {
  readonly #turns: Turns;
  readonly #random: () => number;
  #intervalMs = FIRST_INTERVAL_MS;

  constructor({ region, policy, random }: RetriesOptions) {
    this.#turns = new Turns(policy, region);
    this.#random = random;
  }

  /** Under which name the statistics of this region's phase 2 stand in the state. */
  get observer(): string {
    return this.#turns.observer;
  }

  /** The state that was met last, or is proposed now. */
  saw({ statistics, configuration }: FailoverState): void {
    this.#turns.saw(statistics);
    this.#intervalMs = configuration.timings.intervalMs;
  }

  /** After attempt number `attempt` (from 1). */
  delayMs(attempt: number): number {
    return this.#turns.nakDelayMs(attempt, this.#random(), this.#intervalMs);
  }
}
