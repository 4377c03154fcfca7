/**
 * The worst that a flapping region can do: it dies again whenever it has just been given the writes back. Each time it has to
 * prove itself for twice as long before it gets them again, so its failovers become exponentially rarer (DESIGN 4, damping).
 *
 * What happens has to follow what the partition-set did, but the events of a run are fixed before it. So the run is repeated:
 * with the same seed it is the same up to the moment for which the next death is added.
 */
import { PROFILES } from '../../failover/index.ts';
import type { OutageCase } from './case.ts';
import { settingOf } from './outage.ts';
import { simulatePartitionSet } from './partition-set.ts';
import { type OutageEvent, topologyOf } from './topology.ts';

export interface Flap {
  /** When the preferred region died, and when the writes were back in it. */
  readonly diedAtMs: number;
  readonly homeAtMs: number;
  /** From power to writes: how long it had to prove itself. */
  readonly provedMs: number;
}

const FIRST_DEATH_MS = 300_000;
/** It is given the writes, serves them for this long, and dies. */
const SERVES_MS = 10_000;
const DOWN_LEASES = 3;
/** How long a run goes on after the last death, at first; it doubles with each. */
const FIRST_WAIT_INTERVALS = 16;

/** Ends early when the region does not get the writes back in the time that doubling allows. */
export function dieAtHome(outageCase: OutageCase, deaths: number): readonly Flap[] {
  const flaps: Flap[] = [];
  const events: OutageEvent[] = [];
  let diedAtMs = FIRST_DEATH_MS;
  for (let death = 0; death < deaths; death += 1) {
    const { intervalMs, leaseMs } = PROFILES[outageCase.profile];
    const upAtMs = diedAtMs + DOWN_LEASES * leaseMs;
    events.push(
      { atMs: diedAtMs, what: 'region down', region: 0 },
      { atMs: upAtMs, what: 'region up', region: 0, withinMs: intervalMs },
    );
    const waitMs = FIRST_WAIT_INTERVALS * 2 ** death * intervalMs;
    const homeAtMs = homeAfter(outageCase, events, upAtMs, upAtMs + waitMs);
    if (homeAtMs === undefined) return flaps;
    flaps.push({ diedAtMs, homeAtMs, provedMs: homeAtMs - upAtMs });
    diedAtMs = homeAtMs + SERVES_MS;
  }
  return flaps;
}

function homeAfter(
  outageCase: OutageCase,
  events: readonly OutageEvent[],
  upAtMs: number,
  untilMs: number,
): number | undefined {
  const { seed } = outageCase;
  const topology = topologyOf(outageCase);
  const options = { ...settingOf(outageCase), name: 'flapping', topology, events, untilMs, seed };
  const { service } = simulatePartitionSet(options).availability;
  return service.find(({ region, from }) => region === 0 && from > upAtMs)?.from;
}
