/**
 * What would happen to a partition-set if a region died now: a judgement of the failover state by the machine's own rules
 * (DESIGN section 5, rules 8 to 11), from outside. Whether regions reach each other is not in it: an estimate, not a promise.
 */
import { certainlyOver, needsLeaseSet, PROFILES } from '../../failover/index.ts';
import { lagOf } from './health.ts';
import type { PartitionSet } from './merge.ts';
import { millis, plural } from './output.ts';
import { isBuilding, type PartitionSetView } from './shapes.ts';

export type Effect = 'nothing' | 'short stall' | 'failover' | 'outage' | 'unknown';

export interface Prediction {
  readonly partitionSet: string;
  readonly effect: Effect;
  readonly sentence: string;
  readonly newWriteRegion?: string;
  readonly withinMs?: number;
  /** Writes that the new write region is known to lack now; only levels weaker than bounded staleness lose them. */
  readonly lossWrites?: number;
}

export function ifDies(one: PartitionSet, region: string): Prediction {
  const { name: partitionSet, state } = one;
  const said = state === undefined ? unknown() : predict(one, state, region);
  return { partitionSet, ...said };
}

type Said = Omit<Prediction, 'partitionSet'>;

function unknown(): Said {
  return { effect: 'unknown', sentence: 'No node that holds it answers.' };
}

function predict(one: PartitionSet, state: PartitionSetView, region: string): Said {
  if (state.regions[region] === undefined)
    return { effect: 'nothing', sentence: `${region} has no copy of it.` };
  const { configuration, leaseSet, writeRegion } = state;
  const survivors = Object.keys(state.regions).filter((name) => name !== region && isServing(state, name));
  const isStrict = needsLeaseSet(configuration.consistency);
  const tooFew = isStrict && survivors.length < configuration.minDurability;
  if (region === writeRegion || writeRegion === null) return writerDies(one, state, survivors, tooFew);
  if (!isStrict || !leaseSet.includes(region)) {
    return { effect: 'nothing', sentence: `Writes go on in ${writeRegion}; ${region} only reads.` };
  }
  if (tooFew) {
    const sentence = `Writes stop: ${plural(survivors.length, 'region')} left, and the minimum durability is ${configuration.minDurability}.`;
    return { effect: 'outage', sentence };
  }
  const withinMs = (timingsOf(state).leaseMs * 2) / 3;
  const sentence = `Writes wait up to ${millis(withinMs)} until ${region} is out of the lease set, then go on in ${writeRegion}.`;
  return { effect: 'short stall', sentence, withinMs };
}

function writerDies(
  one: PartitionSet,
  state: PartitionSetView,
  survivors: readonly string[],
  tooFew: boolean,
): Said {
  const { configuration, leaseSet } = state;
  const isStrict = needsLeaseSet(configuration.consistency);
  if (state.pausedAutomatic) {
    return { effect: 'outage', sentence: 'Writes stop: automatic failovers are paused (baton resume).' };
  }
  const [winner] = survivors
    .filter((name) => !isStrict || leaseSet.includes(name))
    .sort((a, b) => lsnOf(one, b) - lsnOf(one, a) || placeOf(state, a) - placeOf(state, b));
  if (winner === undefined) {
    const sentence = 'Writes stop: no other live region may be elected without losing acknowledged writes.';
    return { effect: 'outage', sentence };
  }
  if (tooFew) {
    const sentence = `Writes stop: ${winner} alone is below the minimum durability of ${configuration.minDurability}.`;
    return { effect: 'outage', sentence, newWriteRegion: winner };
  }
  const { leaseMs } = timingsOf(state);
  const withinMs = certainlyOver(leaseMs) + electionMs(state, survivors);
  const lossWrites = isStrict ? 0 : (lagOf(one, winner)?.entries ?? 0);
  const loss = isStrict ? 'nothing acknowledged is lost' : lossText(lossWrites);
  const sentence = `Writes move to ${winner} in about ${millis(withinMs)}; ${loss}.`;
  return { effect: 'failover', sentence, newWriteRegion: winner, withinMs, lossWrites };
}

/** At the weaker levels an election waits for most of the built regions, a lease at the most; no longer than for all that there are. */
function electionMs(state: PartitionSetView, survivors: readonly string[]): number {
  const { settleMs, leaseMs } = timingsOf(state);
  const built = Object.values(state.regions).filter((region) => !isBuilding(region)).length;
  const isHeard = survivors.length * 2 > built || survivors.length === built - 1;
  return needsLeaseSet(state.configuration.consistency) || isHeard ? settleMs : certainlyOver(leaseMs);
}

function lossText(writes: number): string {
  return writes === 0
    ? 'it lacks nothing now, and what it lacks then becomes a lost write'
    : `${plural(writes, 'write')} that it lacks now would become lost writes`;
}

function timingsOf({ configuration }: PartitionSetView): { leaseMs: number; settleMs: number } {
  return configuration.timings ?? PROFILES.fast;
}

function isServing({ regions }: PartitionSetView, name: string): boolean {
  const region = regions[name]!;
  return region.isLive && !isBuilding(region);
}

function lsnOf({ local, state }: PartitionSet, name: string): number {
  return (local[name]?.progress ?? state?.regions[name]?.progress)?.lsn ?? 0;
}

function placeOf({ configuration: { priorities } }: PartitionSetView, name: string): number {
  const place = priorities.indexOf(name);
  return place < 0 ? priorities.length : place;
}
