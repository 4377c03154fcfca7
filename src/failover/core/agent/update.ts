/** One update while it is under way: what each run of its editor would have done. */
import type { FailoverState } from '../machine/index.ts';

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

/** Whether something has happened, to this region or to others, beyond one more beat. */
export function isNews(state: FailoverState, known: FailoverState | undefined): boolean {
  if (known === undefined || state.step !== known.step || state.gcn !== known.gcn) return true;
  if (state.configuration.version !== known.configuration.version) return true;
  if (state.leaseSet.length !== known.leaseSet.length || state.open.length !== known.open.length) return true;
  const regions = Object.entries(state.regions);
  return regions.some(([name, { report, stop }]) => {
    const other = known.regions[name];
    return (report === undefined) !== (other?.report === undefined) || stop !== other?.stop;
  });
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
