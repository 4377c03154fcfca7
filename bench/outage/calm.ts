/**
 * The calm before the first outage, measured: all that the simulator is told of this machine. Of the outage itself it is told
 * nothing, so that what it says of it can be held against what happened.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Processors } from 'baton/sim';
import { nowMs } from './clock.ts';
import type { OutageGround } from './ground.ts';
import { type OutagePlan, REGIONS } from './plan.ts';
import type { UsageWatch } from './usage.ts';

export interface Calm {
  /** What a state update took on the average. */
  readonly updateMs: number;
  /** How many cores each process used, by its name. */
  readonly cores: Readonly<Record<string, number>>;
}

/** What had been used and done at one moment. */
export interface Look {
  readonly atMs: number;
  readonly cpuSeconds: Readonly<Record<string, number>>;
  readonly updates: { readonly ms: number; readonly count: number };
}

export async function measureCalm(ground: OutageGround, usage: UsageWatch, forMs: number): Promise<Calm> {
  const look = async (): Promise<Look> => {
    const updates = await ground.updates();
    const cpuSeconds = await usage.cpuSeconds();
    return { atMs: nowMs(), cpuSeconds, updates };
  };
  const cold = await look();
  await sleep(forMs);
  return calmBetween(cold, await look());
}

export function calmBetween(cold: Look, warm: Look): Calm {
  const seconds = (warm.atMs - cold.atMs) / 1000;
  // With a handful of partition-sets and long intervals there may have been none.
  const updates = Math.max(1, warm.updates.count - cold.updates.count);
  return {
    updateMs: (warm.updates.ms - cold.updates.ms) / updates,
    cores: Object.fromEntries(
      Object.entries(warm.cpuSeconds).map(([name, used]) => [
        name,
        (used - (cold.cpuSeconds[name] ?? 0)) / seconds,
      ]),
    ),
  };
}

/** By region and acceptor, as the simulator has them; the clients, the names' service and whatever else there is are the rest. */
export function processorsOf({ acceptors, nodesPerRegion }: OutagePlan, { cores }: Calm): Processors {
  const used = (isOne: (name: string) => boolean): number =>
    sum(Object.entries(cores).map(([name, some]) => (isOne(name) ? some : 0)));
  const regionCalm = REGIONS.map((region) => used((name) => new RegExp(`^${region}-\\d+$`).test(name)));
  const acceptorCalm = Array.from({ length: acceptors }, (_, at) => used((name) => name === `a${at + 1}`));
  return {
    cores: availableParallelism(),
    regionCalm,
    acceptorCalm,
    otherCalm: Math.max(0, coresInAll({ cores }) - sum(regionCalm) - sum(acceptorCalm)),
    processesPerRegion: nodesPerRegion,
  };
}

export function coresInAll({ cores }: Pick<Calm, 'cores'>): number {
  return sum(Object.values(cores));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
