/**
 * How long an update waits after a lost attempt. Refused by a rival, it waits as the policy says, by the statistics that the
 * state carries (paper 6.2.3), and as long as it takes until there is a round for it in the budget.
 */
import type { FailoverState, RegionName } from '../machine/index.ts';
import type { SchedulingPolicy } from '../scheduling/policy.ts';
import { Turns } from '../scheduling/turns.ts';
import type { Purpose, RequestBudget } from './budget.ts';

export interface RetriesOptions {
  readonly region: RegionName;
  readonly policy: SchedulingPolicy;
  readonly random: () => number;
  readonly budget: RequestBudget;
  /** What the update under way is for. */
  readonly purpose: () => Purpose;
}

/** Of whoever has not seen a state yet. */
const FIRST_INTERVAL_MS = 1000;

export class Retries {
  readonly #turns: Turns;
  readonly #random: () => number;
  readonly #budget: RequestBudget;
  readonly #purpose: () => Purpose;
  #intervalMs = FIRST_INTERVAL_MS;

  constructor({ region, policy, random, budget, purpose }: RetriesOptions) {
    this.#turns = new Turns(policy, region);
    this.#random = random;
    this.#budget = budget;
    this.#purpose = purpose;
  }

  /** Under which name the statistics of this region's phase 2 stand in the state. */
  get observer(): string {
    return this.#turns.observer;
  }

  /** The state that was met last, or is proposed now. */
  saw({ statistics, configuration }: FailoverState): void {
    this.#turns.saw(statistics);
    this.#intervalMs = configuration.timings.intervalMs;
    this.#budget.paceBy(this.#intervalMs);
  }

  /** After attempt number `attempt` (from 1). Infinity: the update is given up; the agent begins another when it may. */
  delayMs(attempt: number, because: 'conflict' | 'unavailable', now: number): number {
    if (because === 'unavailable') this.#budget.unanswered();
    const delayMs = this.turnMs(attempt);
    const readyMs = this.#budget.readyAt(this.#purpose()) - now;
    if (readyMs <= delayMs) return delayMs;
    return because === 'unavailable' ? Infinity : readyMs;
  }

  /** As the policy says, whatever is in the budget: for what people have asked for. */
  turnMs(attempt: number): number {
    return this.#turns.nakDelayMs(attempt, this.#random(), this.#intervalMs);
  }
}
