/** One line of the experiment's table, as plain data that travels to workers, and what an hour of it is played with. */
import {
  namedPolicy,
  type PolicyElement,
  type PolicyName,
  type SchedulingPolicy,
  withElement,
  without,
} from '../failover/index.ts';
import { must } from '../protocol/index.ts';
import { latencyModel } from './core/index.ts';
import type { DuelOptions } from './duel.ts';

export interface DuelCase {
  readonly policy: PolicyName;
  /** The policy with this element taken out, or with this one of `baton` put in. */
  readonly without?: PolicyElement;
  readonly with?: PolicyElement;
  readonly baseMs: number;
  readonly proposers: number;
  readonly acceptors: number;
  readonly latency: string;
  readonly intervalMs: number;
  readonly leaseMs: number;
  /** Every proposer's clock is wrong by up to this, either way. */
  readonly skewMs: number;
  /** Near the end of the hour one proposer dies, and the others have to notice. */
  readonly writerDies: boolean;
  readonly seed: number;
}

const HOUR_MS = 3_600_000;
/** Spreads the hours' seeds: neighbouring experiments share none of them. */
const SEED_STRIDE = 1_000_003;

export function policyOfCase({ policy, baseMs, ...elements }: DuelCase): SchedulingPolicy {
  if (elements.without !== undefined) return without(policy, elements.without, baseMs);
  if (elements.with !== undefined) return withElement(policy, elements.with, baseMs);
  return namedPolicy(policy, baseMs);
}

export function hourOf(duelCase: DuelCase, hour: number): DuelOptions {
  const { proposers, acceptors, intervalMs, leaseMs, skewMs, writerDies, seed } = duelCase;
  return {
    proposers,
    acceptors,
    intervalMs,
    leaseMs,
    skewMs,
    writerDies,
    policy: policyOfCase(duelCase),
    latency: must(latencyModel(duelCase.latency)),
    durationMs: HOUR_MS,
    seed: (Math.imul(seed, SEED_STRIDE) + hour) >>> 0,
  };
}
