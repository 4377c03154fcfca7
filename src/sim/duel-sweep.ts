/**
 * The sweep of the static base. The paper does not say what base delay its initial approach had, and a badly chosen one
 * would make a strawman of it: so `initial` is played with every base of a list, and compared at the best of them, chosen
 * with hindsight for each number of proposers, as well as at one that somebody would plausibly configure.
 */
import type { DuelCase } from './duel-case.ts';
import type { DuelResult } from './duel-experiment.ts';

export const SWEEP_BASES_MS: readonly number[] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

/** Every case of `initial` with every base; the others, which have no base, as they are. */
export function sweepOf(cases: readonly DuelCase[], basesMs: readonly number[]): readonly DuelCase[] {
  return cases.flatMap((duelCase) => {
    if (!isSwept(duelCase)) return [duelCase];
    const all = new Set([...basesMs, duelCase.baseMs]);
    return [...all].toSorted((a, b) => a - b).map((baseMs) => ({ ...duelCase, baseMs }));
  });
}

export interface SweepLine {
  readonly proposers: number;
  readonly best: DuelResult;
  /** At the base that was asked for. */
  readonly plausible: DuelResult;
  /** The policies that were not swept. */
  readonly others: readonly DuelResult[];
}

/** One line for each number of proposers for which `initial` was played with the plausible base. */
export function sweepLines(results: readonly DuelResult[], plausibleMs: number): readonly SweepLine[] {
  const counts = [...new Set(results.map(({ duelCase }) => duelCase.proposers))];
  return counts.flatMap((proposers) => {
    const own = results.filter(({ duelCase }) => duelCase.proposers === proposers);
    const swept = own.filter(({ duelCase }) => isSwept(duelCase));
    const plausible = swept.find(({ duelCase }) => duelCase.baseMs === plausibleMs);
    if (plausible === undefined) return [];
    const best = swept.reduce((least, result) => (isBetter(result, least) ? result : least));
    return [{ proposers, best, plausible, others: own.filter((result) => !swept.includes(result)) }];
  });
}

/** Plain `initial`. */
function isSwept(duelCase: DuelCase): boolean {
  return duelCase.policy === 'initial' && duelCase.with === undefined;
}

/** Fewer failures; of two without any, the one that needs fewer attempts. */
function isBetter(a: DuelResult, b: DuelResult): boolean {
  const [rateA, rateB] = [a.counts.failures / a.counts.due, b.counts.failures / b.counts.due];
  if (rateA !== rateB) return rateA < rateB;
  return a.counts.attempts / a.counts.updates < b.counts.attempts / b.counts.updates;
}
