/** Where the regions and the acceptors of an experiment are, how far apart, and what happens to them. */
import type { OutageCase } from './case.ts';
import { AZURE_REGIONS, azureOneWayMs, type Random, SPREAD } from '../core/index.ts';

/** Places are numbers of Azure regions. */
export interface Topology {
  readonly regions: readonly number[];
  readonly acceptors: readonly number[];
  typicalMs(from: number, to: number): number;
  messageMs(from: number, to: number, random: Random): number;
}

/** Something that happens to a partition-set: `r0`, `r1` ... are its regions, `a0`, `a1` ... the acceptors. */
export type OutageEvent =
  | { readonly atMs: number; readonly what: 'region down'; readonly region: number }
  | { readonly atMs: number; readonly what: 'region up'; readonly region: number; readonly withinMs: number }
  | { readonly atMs: number; readonly what: 'acceptor down' | 'acceptor up'; readonly acceptor: number }
  | { readonly atMs: number; readonly what: 'cut' | 'heal'; readonly from: string; readonly to: string }
  /** Everything to and from the region takes that many times as long. */
  | { readonly atMs: number; readonly what: 'slow'; readonly region: number; readonly factor: number };

/** Undefined when there is no such region. */
export function azureRegion(name: string): number | undefined {
  const index = AZURE_REGIONS.findIndex((region) => region.toLowerCase() === name.trim().toLowerCase());
  return index < 0 ? undefined : index;
}

export function azureTopology(regions: readonly number[], acceptors: readonly number[]): Topology {
  return {
    regions,
    acceptors,
    typicalMs: azureOneWayMs,
    messageMs: (from, to, random) => azureOneWayMs(from, to) * Math.exp(SPREAD * random.normal()),
  };
}

/** All places equally far from each other, and from themselves: processes on one machine. */
function evenTopology(regions: readonly number[], acceptors: readonly number[], oneWayMs: number): Topology {
  return {
    regions,
    acceptors,
    typicalMs: () => oneWayMs,
    messageMs: (_, __, random) => oneWayMs * Math.exp(SPREAD * random.normal()),
  };
}

export function topologyOf({
  regions,
  acceptors,
  oneWayMs,
}: Pick<OutageCase, 'regions' | 'acceptors' | 'oneWayMs'>): Topology {
  return oneWayMs === undefined
    ? azureTopology(regions, acceptors)
    : evenTopology(regions, acceptors, oneWayMs);
}
