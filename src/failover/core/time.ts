/**
 * The one assumption about clocks that safety makes (DESIGN section 5): their rates differ by no more than this. A lease that
 * one process measures is over for certain when another has waited this much longer.
 */
export const MAX_DRIFT_RATE = 0.001;

/** Rule 4: how long to wait, on one's own clock, until a lease of that length is certainly over on its holder's. */
export function certainlyOver(leaseMs: number): number {
  return (leaseMs * (1 + MAX_DRIFT_RATE)) / (1 - MAX_DRIFT_RATE);
}
