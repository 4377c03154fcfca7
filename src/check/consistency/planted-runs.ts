/**
 * Defects planted into good runs, for every rule at least two, to show that its checker catches them. Each breaks one thing of a
 * run that keeps its level; other rules may notice too, but the rule it stands under must.
 */
import type { Choose } from '../simulated.ts';
import { type ConsistencyFinding, type ConsistencyRule, levelOfRule } from './findings.ts';
import type { ConsistencyLevel } from './history.ts';
import { PLANTED_IN_LEVELS } from './planted-levels.ts';
import { PLANTED_IN_LOGS } from './planted-logs.ts';
import { type CheckedRun, Planting, type RunDefect } from './planting.ts';
import { checkRun } from './run.ts';
import { simulateCopies, simulateFeed } from './simulated-readers.ts';
import { type RunOptions, simulateRun } from './simulated-run.ts';

export const PLANTED_RUNS: Record<ConsistencyRule, Record<string, RunDefect>> = {
  ...PLANTED_IN_LEVELS,
  ...PLANTED_IN_LOGS,
};

/** The level at which the rule can be broken. */
export function levelToPlant(rule: ConsistencyRule): ConsistencyLevel {
  const level = levelOfRule(rule);
  if (level !== 'every') return level;
  if (rule === 'loss.versions' || rule === 'loss.time') return 'BoundedStaleness';
  return rule.startsWith('loss.') ? 'Session' : 'Strong';
}

export function simulateCheckedRun(options: RunOptions, choose: Choose): CheckedRun {
  const { level, bound } = options;
  const record = simulateRun(options, choose);
  return {
    level,
    record,
    bound,
    feed: simulateFeed(record, 'all', choose),
    copies: simulateCopies(record, choose),
  };
}

export function plantInRun(
  rule: ConsistencyRule,
  defect: string,
  run: CheckedRun,
  choose: Choose,
): CheckedRun | undefined {
  return PLANTED_RUNS[rule][defect]?.(new Planting(run, choose));
}

export function checkCheckedRun({ record, bound, feed, copies }: CheckedRun): ConsistencyFinding[] {
  return checkRun(record, { bound, feeds: [feed], copies });
}
