/** The ballots of a scheduling policy: of the product's proposers and of those in the experiments. */
import { type CounterSource, hybrid, sequential } from '../caspaxos/index.ts';
import { followFastest, type PolicyElements } from './core/index.ts';

/** `nowMs`: milliseconds since 1970, or whatever else grows at the same pace everywhere. */
export function countersOf(
  { ballots, clock }: Pick<PolicyElements, 'ballots' | 'clock'>,
  nowMs: () => number,
): CounterSource {
  if (ballots === 'sequential') return sequential;
  return clock === 'own' ? hybrid(nowMs) : followFastest(nowMs);
}
