/** What the acceptors are asked in an outage, beside what they are asked in the calm: it must not be more than twice as much (paper 7.1). */
import { nowMs } from './clock.ts';
import type { UsageWatch } from './usage.ts';

export interface Counted {
  readonly atMs: number;
  /** By the name of the acceptor. */
  readonly requests: Readonly<Record<string, number>>;
}

/** More than this many times the calm is too much. */
export const MOST_LOAD = 2;

export async function countRequests(usage: UsageWatch): Promise<Counted> {
  const requests = await usage.requests();
  return { atMs: nowMs(), requests };
}

/** How many times as much as in the calm the acceptors that lived were asked, all together. */
export function loadOf(
  calm: readonly [Counted, Counted],
  outage: readonly [Counted, Counted],
): number | undefined {
  const living = Object.keys(outage[1].requests).filter((name) => perSecond(outage, [name]) > 0);
  const usual = perSecond(calm, living);
  return usual === 0 ? undefined : perSecond(outage, living) / usual;
}

function perSecond([from, to]: readonly [Counted, Counted], names: readonly string[]): number {
  const asked = names.map((name) => (to.requests[name] ?? 0) - (from.requests[name] ?? 0));
  return asked.reduce((sum, some) => sum + some, 0) / ((to.atMs - from.atMs) / 1000);
}
