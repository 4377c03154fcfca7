/** One update while it is under way: what each run of its editor would have done. */
import { type FailoverState, type RegionName, sameProgress } from '../machine/index.ts';
import type { DriverStatus } from './driver.ts';

export interface Update {
  readonly startedAt: number;
  readonly scheduled: boolean;
  /** What each run of the editor would have done: the one whose beat is in the register is the one that was done. */
  readonly tries: Try[];
}

export interface Try {
  readonly beat: number;
  readonly isRenewal: boolean;
  /** The step that it found. */
  readonly step: number;
}

/** What the attempt that succeeded took, and its phase 2. `isSlow`: updates take long lately, this one or others. */
export interface Took {
  readonly attemptMs: number;
  readonly phase2Ms?: number;
  readonly isSlow?: boolean;
}

/** The try that is in the register. Where two could be meant, it renewed the lease only if both would have (rule 3). */
export function doneOf({ tries }: Update, beat: number | undefined): Try | undefined {
  const possible = tries.filter((one) => one.beat === beat);
  const last = possible.at(-1);
  return last && { ...last, isRenewal: possible.every(({ isRenewal }) => isRenewal) };
}

/** While a writer is being elected and this region has reported, it looks on, and leaves the register to the others. */
export function hasSaidAll(
  state: FailoverState | undefined,
  { region, incarnation }: { readonly region: RegionName; readonly incarnation: number },
  status: DriverStatus | undefined,
): boolean {
  const own = state?.regions[region];
  if (state?.phase !== 'Ungraceful' || own?.report === undefined || status === undefined) return false;
  return own.incarnation === incarnation && sameProgress(own.report.progress, status.progress);
}

/**
 * Answers may overtake each other: a state that is older than one that was seen is no news. Nothing that is compared here ever goes
 * back: a region that was removed goes on from its beat if it is added again.
 */
export function isOlder(state: FailoverState, known: FailoverState): boolean {
  if (state.gcn !== known.gcn) return state.gcn < known.gcn;
  if (state.step !== known.step) return state.step < known.step;
  if (state.configuration.version < known.configuration.version) return true;
  return Object.keys(known.regions).some(
    (name) => (state.regions[name]?.beat ?? Infinity) < known.regions[name]!.beat,
  );
}
