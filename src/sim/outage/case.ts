/** One outage experiment as plain data, and the times that follow from it. */
import type { Consistency } from '../../failover/index.ts';
import { flapsOf, type OutageKind } from './kinds.ts';

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
}

export interface OutageTimes {
  readonly fromMs: number;
  readonly untilMs: number;
}

const MINUTE_MS = 60_000;
const WARM_UP_MINUTES = 5;
/** Between two outages, and after the last. */
const CALM_MINUTES = 15;
export const CALM_MS = CALM_MINUTES * MINUTE_MS;

export function outageTimes({ outages, minutes }: OutageCase): readonly OutageTimes[] {
  return Array.from({ length: outages }, (_, index) => {
    const fromMs = (WARM_UP_MINUTES + index * (minutes + CALM_MINUTES)) * MINUTE_MS;
    return { fromMs, untilMs: fromMs + minutes * MINUTE_MS };
  });
}

export function durationMs({ outages, minutes }: OutageCase): number {
  return (WARM_UP_MINUTES + outages * (minutes + CALM_MINUTES)) * MINUTE_MS;
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
