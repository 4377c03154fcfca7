/** What a campaign of whole-system seeds has shown: writes, failovers by kind, which fault met which phase, what failed. */
import type { CampaignResult } from '../../sim/index.ts';
import { asJson, asText, type Example, type Used } from './registers-findings.ts';
import { counted, number } from './registers-report.ts';

export interface FuzzSummary {
  readonly acknowledgedWrites: number;
  readonly failovers: number;
  readonly failoversByKind: Readonly<Record<string, number>>;
  /** Seeds with few acknowledged writes, or without a failover: they have shown little. */
  readonly weakSeeds: number;
  readonly isWeak: boolean;
  /** What clients that decide as the SDK does went through. */
  readonly plans: Readonly<Record<string, number>>;
  readonly passed: boolean;
}

const FAILOVER = 'failover: ';
const PLAN = 'plan: ';
/** Of the seeds, so many may be weak, once there are enough to tell. */
const WEAK_SHARE = 0.3;
const ENOUGH_TO_TELL = 40;

export function summaryOf({ counts, done, passed }: CampaignResult): FuzzSummary {
  const kinds = Object.entries(counts).filter(([name]) => name.startsWith(FAILOVER) && !isIntent(name));
  const weakSeeds = counts['weak seed'] ?? 0;
  const isWeak = done >= ENOUGH_TO_TELL && weakSeeds > done * WEAK_SHARE;
  return {
    acknowledgedWrites: counts['acknowledged writes'] ?? 0,
    failovers: kinds.reduce((sum, [, times]) => sum + times, 0),
    failoversByKind: Object.fromEntries(kinds.map(([name, times]) => [name.slice(FAILOVER.length), times])),
    weakSeeds,
    isWeak,
    plans: Object.fromEntries(
      Object.entries(counts).flatMap(([name, times]) =>
        name.startsWith(PLAN) ? [[name.slice(PLAN.length), times]] : [],
      ),
    ),
    passed: passed && !isWeak,
  };
}

/** What became of an operator's wish is counted under the wish's name. */
function isIntent(name: string): boolean {
  return name === `${FAILOVER}taken` || name === `${FAILOVER}refused`;
}

export function fuzzText(
  result: CampaignResult,
  summary: FuzzSummary,
  used: Used,
  seconds: number,
  example: Example | undefined,
): string {
  const { acknowledgedWrites, failovers, failoversByKind, weakSeeds, isWeak, plans } = summary;
  const kinds = Object.entries(failoversByKind).map(([kind, times]) => `${number(times)} ${kind}`);
  const sights = Object.entries(plans).map(([sight, times]) => `${number(times)} ${sight}`);
  return [
    asText({ ...result, passed: summary.passed, asked: result.done }, used, seconds, example).trimEnd(),
    '',
    `${counted(acknowledgedWrites, 'acknowledged write')}; ${counted(failovers, 'failover')}: ${kinds.join(', ') || 'none'}.`,
    ...(sights.length > 0 ? [`Plans of the SDK: ${sights.join(', ')}.`] : []),
    `${counted(result.failures.length, 'violation')}; ${counted(weakSeeds, 'weak seed')} of ${number(result.done)}.`,
    ...(isWeak ? ['FAILED: too many seeds have too few acknowledged writes, or no failover.'] : []),
    '',
  ].join('\n');
}

export function fuzzJson(
  result: CampaignResult,
  summary: FuzzSummary,
  used: Used,
  seconds: number,
  example: Example | undefined,
): object {
  return {
    seeds: result.done,
    violations: result.failures.length,
    ...asJson(result, used, seconds, example),
    ...summary,
  };
}
