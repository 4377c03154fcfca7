/**
 * Which region to try next, and why. Writes: where they last worked, then the regions that nothing speaks against in order
 * of priority, then the others. Reads: the nearest first, those that failed lately last; who has to see what a session saw
 * asks the writer when nobody else has it.
 */
import type { RegionName } from '../../engine/core/index.ts';
import type { RegionCache } from './regions.ts';

export type Why =
  | 'writes worked here last'
  | 'named as the writer'
  | 'by priority'
  | 'nearest'
  | 'not measured yet'
  | 'next nearest'
  | 'the writer has all that the session saw'
  | 'failed lately, tried for want of others'
  | 'asked to come back'
  | 'the door of the write'
  | 'preferred'
  | 'hedge';

export interface Choice {
  readonly region: RegionName;
  readonly why: Why;
}

/** All regions, the likeliest first. */
export function orderForWrite(cache: RegionCache, partitionSet: string, nowMs: number): readonly Choice[] {
  const writer = cache.likelyWriter(partitionSet);
  const first: Choice[] =
    writer === undefined
      ? []
      : [
          {
            region: writer.region,
            why: writer.from === 'answer' ? 'writes worked here last' : 'named as the writer',
          },
        ];
  const others = cache.regions.filter((region) => region !== writer?.region);
  const isAvoided = (region: RegionName): boolean => cache.isAvoided(partitionSet, region, 'write', nowMs);
  return [...first, ...goodFirst(others, isAvoided, () => 'by priority')];
}

/** Within this much of the nearest counts as near as that. */
const TIE_FACTOR = 1.25;
const TIE_MS = 1;

/** All regions, the nearest first. A region that was never measured is taken for near, and so gets measured. */
export function orderForRead(cache: RegionCache, partitionSet: string, nowMs: number): readonly Choice[] {
  const distance = (region: RegionName): number => cache.latency(region, 'read').meanMs ?? 0;
  const isAvoided = (region: RegionName): boolean => cache.isAvoided(partitionSet, region, 'read', nowMs);
  const usable = cache.regions.filter((region) => !isAvoided(region));
  const nearest = Math.min(...(usable.length > 0 ? usable : cache.regions).map(distance));
  const rank = (region: RegionName): number => {
    const ms = distance(region);
    return ms <= nearest * TIE_FACTOR + TIE_MS ? 0 : ms;
  };
  const ordered = cache.regions.toSorted((a, b) => rank(a) - rank(b));
  return goodFirst(ordered, isAvoided, (region, at) => {
    if (cache.latency(region, 'read').meanMs === undefined) return 'not measured yet';
    return at === 0 ? 'nearest' : 'next nearest';
  });
}

/**
 * When a copy has not got as far as the session: the others, and the writer when they are at an end; the next time round it is the
 * first.
 */
export function withWriter(
  order: readonly Choice[],
  writer: RegionName | undefined,
  rounds: number,
): readonly Choice[] {
  const others = order.filter(({ region }) => region !== writer);
  if (writer === undefined || others.length === order.length) return order;
  const last: Choice = { region: writer, why: 'the writer has all that the session saw' };
  return rounds === 0 ? [...others, last] : [last, ...others];
}

/** The preferred region, if nothing speaks against it; otherwise it has no privilege. */
export function withPreferred(
  order: readonly Choice[],
  preferred: RegionName | undefined,
  isAvoided: (region: RegionName) => boolean,
): readonly Choice[] {
  const others = order.filter(({ region }) => region !== preferred);
  if (preferred === undefined || others.length === order.length || isAvoided(preferred)) return order;
  return [{ region: preferred, why: 'preferred' }, ...others];
}

function goodFirst(
  regions: readonly RegionName[],
  isAvoided: (region: RegionName) => boolean,
  why: (region: RegionName, at: number) => Why,
): readonly Choice[] {
  const good = regions.filter((region) => !isAvoided(region));
  const avoided = regions.filter(isAvoided);
  return [
    ...good.map((region, at) => ({ region, why: why(region, at) })),
    ...avoided.map((region): Choice => ({ region, why: 'failed lately, tried for want of others' })),
  ];
}
