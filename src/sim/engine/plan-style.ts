/**
 * Which clients of a seed are driven by the SDK's own decisions (`src/client/core`), and how each of them uses the SDK. This is drawn
 * from a stream of its own: whatever else a seed chooses stays as it is.
 *
 * The first client is never one of them: it takes the last look at every copy, at places that no plan would choose.
 */
import { Random } from '../core/index.ts';

export interface PlanStyle {
  /** Reads are asked a second time, elsewhere, after so long; undefined: never. */
  readonly hedgeAfterMs: number | 'p95' | undefined;
  /** This share of the writes has no operation id. */
  readonly namelessShare: number;
  /** Writes without a name that replace one version may be repeated. */
  readonly conditions: boolean;
  /** The region that stands first, as the SDK's option `preferredRegion` has it. */
  readonly preferred: number;
}

/** One for each client; undefined: a simple one. */
export type PlanStyles = readonly (PlanStyle | undefined)[];

/** `drawn`: as the seed says. */
export type PlanClients = 'drawn' | 'none' | 'all';

/** Far above all that a run asks its world for. */
const STREAM = 1_000_000;
const HEDGES = [undefined, undefined, 'p95', 'p95', 15, 60] as const;

export function drawPlans(
  seed: number,
  { clients, regions }: { readonly clients: number; readonly regions: number },
  which: PlanClients,
): PlanStyles {
  const random = new Random(seed, STREAM);
  const mixture = random.uniform();
  const drawnShare = mixture < 0.25 ? 0 : mixture < 0.75 ? 0.5 : 1;
  const share = which === 'drawn' ? drawnShare : which === 'all' ? 1 : 0;
  return Array.from({ length: clients }, (_, at) => {
    const isPlanned = random.uniform() < share;
    const style = drawStyle(regions, random);
    return at > 0 && isPlanned ? style : undefined;
  });
}

function drawStyle(regions: number, random: Random): PlanStyle {
  return {
    hedgeAfterMs: HEDGES[random.integer(HEDGES.length)],
    namelessShare: random.uniform() < 0.5 ? 0 : 0.4,
    conditions: random.uniform() < 0.5,
    preferred: random.integer(regions),
  };
}

/** One line for each client that follows plans. */
export function describePlans(plans: PlanStyles): readonly string[] {
  return plans.flatMap((style, at) => {
    if (style === undefined) return [];
    const { hedgeAfterMs, namelessShare, conditions, preferred } = style;
    const hedge = hedgeAfterMs === undefined ? 'no hedges' : `hedges after ${hedgeAfterMs}`;
    const ids =
      namelessShare === 0 ? 'operation ids' : `operation ids but for ${namelessShare} of the writes`;
    const also = conditions ? ', repeats by condition' : '';
    return [`client-${at}: plans, ${hedge}, ${ids}${also}, prefers region-${preferred}`];
  });
}
