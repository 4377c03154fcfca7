/** One outage experiment as plain data, and the times that follow from it. */
import type { Consistency } from '../../failover/index.ts';
import { flapsOf, type OutageKind } from './kinds.ts';
import type { Processors } from './processors.ts';

export interface OutageCase {
  /** Places in the Azure matrix; the preferred region first. */
  readonly regions: readonly number[];
  readonly regionNames: readonly string[];
  readonly acceptors: readonly number[];
  readonly outages: number;
  readonly minutes: number;
  readonly profile: 'paper' | 'fast';
  readonly hints: boolean;
  readonly kind: OutageKind;
  readonly consistency: Consistency;
  readonly minDurability: number;
  readonly seed: number;
  /** Between two outages, and after the last: 15 unless said otherwise. */
  readonly calmMinutes?: number;
  /** The same between all places, as on one machine, instead of the Azure matrix. */
  readonly oneWayMs?: number;
  /** What all processes of the fleet share; without it each partition-set has processors of its own, and nothing waits. */
  readonly processors?: Processors;
}

export interface OutageTimes {
  readonly fromMs: number;
  readonly untilMs: number;
}

const MINUTE_MS = 60_000;
const WARM_UP_MINUTES = 5;
const CALM_MINUTES = 15;

export function calmMsOf({ calmMinutes = CALM_MINUTES }: Pick<OutageCase, 'calmMinutes'>): number {
  return calmMinutes * MINUTE_MS;
}

export function outageTimes(outageCase: OutageCase): readonly OutageTimes[] {
  const { outages, minutes } = outageCase;
  return Array.from({ length: outages }, (_, index) => {
    const fromMs = (WARM_UP_MINUTES + index * minutes) * MINUTE_MS + index * calmMsOf(outageCase);
    return { fromMs, untilMs: fromMs + minutes * MINUTE_MS };
  });
}

export function durationMs(outageCase: OutageCase): number {
  const { outages, minutes } = outageCase;
  return (WARM_UP_MINUTES + outages * minutes) * MINUTE_MS + outages * calmMsOf(outageCase);
}

/** When a flapping region is down, in order; nothing for the other kinds. */
export function flapTimes(outageCase: OutageCase): readonly OutageTimes[] {
  return outageCase.kind === 'flapping' ? outageTimes(outageCase).flatMap(flapsOf) : [];
}

/** What is measured as one outage: a flapping region is back for good when its last flap is over. */
export function measuredTimes(outageCase: OutageCase): readonly OutageTimes[] {
  const windows = outageTimes(outageCase);
  if (outageCase.kind !== 'flapping') return windows;
  return windows.map((window) => ({ ...window, untilMs: flapsOf(window).at(-1)!.untilMs }));
}
