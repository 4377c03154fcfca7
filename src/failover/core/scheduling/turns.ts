/**
 * How one proposer of one register takes turns with the others, as its policy says (paper 6.2.3): what it learns of phase 2 goes
 * into the value with its next update, and after a refusal it waits by the statistics that the value carried last (formula 3).
 * The experiment of dueling proposers, the simulated agent and the product's agent all wait by this.
 */
import {
  type SchedulingPolicy,
  SHARED,
  statisticsFor,
  type StatisticsTable,
  withStatistics,
} from './policy.ts';
import { observe, type PhaseStatistics } from './statistics.ts';

export class Turns {
  readonly #policy: SchedulingPolicy;
  readonly #proposer: string;
  #table: StatisticsTable = {};

  constructor(policy: SchedulingPolicy, proposer: string) {
    this.#policy = policy;
    this.#proposer = proposer;
  }

  /** The figures of the value that was met last, or is proposed now. */
  saw(table: StatisticsTable): void {
    this.#table = table;
  }

  /** What this proposer waits by. */
  get statistics(): PhaseStatistics {
    return statisticsFor(this.#policy, this.#table, this.#proposer);
  }

  /** Whose figures its observations go into. */
  get observer(): string {
    return this.#policy.statistics === 'shared' ? SHARED : this.#proposer;
  }

  /** The value's figures after a successful phase 2 of that length. */
  observed(table: StatisticsTable, phase2Ms: number | undefined): StatisticsTable {
    if (phase2Ms === undefined || this.#policy.statistics === 'none') return table;
    const before = statisticsFor(this.#policy, table, this.#proposer);
    return withStatistics(this.#policy, table, this.#proposer, observe(before, phase2Ms));
  }

  /** After attempt number `attempt` (from 1) was refused. `random` in 0 .. 1. */
  nakDelayMs(attempt: number, random: number, intervalMs: number): number {
    return this.#policy.nakDelayMs(attempt, this.statistics, random, intervalMs);
  }
}
