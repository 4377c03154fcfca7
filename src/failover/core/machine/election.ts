/**
 * The election that ends an ungraceful failover (paper 4.5; rules 9 to 11). It needs one eligible region that has fenced
 * itself and reported under the GCN in force. It waits a settling time for better ones, less when everybody who can be
 * expected has reported; and it never waits for a quorum of regions, because the lease set makes any member safe.
 */
import { grantedLeaseMs, reachOf } from './beats.ts';
import { hasSignal, needsLeaseSet } from './configuration.ts';
import { certainlyOver } from '../time.ts';
import { remember } from './history.ts';
import type { RegionReport } from './report.ts';
import { compareProgress, currentReport, type FailoverState, namesOf, type RegionName } from './state.ts';

/** Elections that came to nothing double the settling time, up to a lease. */
const MAX_DOUBLINGS = 6;

export function elect(
  state: FailoverState,
  report: RegionReport,
  _before: FailoverState,
  awake: number,
): FailoverState {
  if (state.phase !== 'Ungraceful' || !isSettled(state, report)) return state;
  const chosen = candidates(state).find((name) => awake < 2 || !losesTooMuch(state, name));
  return chosen === undefined ? state : enthrone(state, chosen, report);
}

function isSettled(state: FailoverState, { wait }: RegionReport): boolean {
  if (wait?.step === state.step && wait.waitedMs >= settleMs(state)) return true;
  const silent = state.raise.cause === 'silence' ? state.raise.writer : undefined;
  return namesOf(state).every(
    (name) =>
      name === silent || state.regions[name]!.leaving === true || currentReport(state, name) !== undefined,
  );
}

export function settleMs({ configuration, damping }: FailoverState): number {
  const { settleMs: base, leaseMs } = configuration.timings;
  return Math.min(base * 2 ** Math.min(damping.vain, MAX_DOUBLINGS), certainlyOver(leaseMs));
}

/** Rule 9: at Strong and bounded staleness, members of the old lease set that reported under this GCN, never others. */
export function isEligible(state: FailoverState, name: RegionName): boolean {
  const { building, stop, leaving } = state.regions[name]!;
  if (currentReport(state, name) === undefined || building === true || stop !== undefined) return false;
  if (leaving === true && !state.leaseSet.includes(name)) return false;
  const anyone =
    !needsLeaseSet(state.configuration.consistency) ||
    // An operator who knows that the members are gone for good may take what is left.
    state.raise.acceptLoss === true;
  return anyone || state.leaseSet.includes(name);
}

/** Rule 11: the best first. */
export function candidates(state: FailoverState): readonly RegionName[] {
  const { configuration } = state;
  const { priorities, minDurability } = configuration;
  const reporters = namesOf(state).filter((name) => currentReport(state, name) !== undefined);
  const rank = (name: RegionName): number => {
    const { unable, reaches, signals } = currentReport(state, name)!;
    const reached = reaches.filter((other) => reporters.includes(other));
    const place = priorities.indexOf(name);
    return [
      name === state.raise.target,
      state.regions[name]!.leaving !== true && place >= 0,
      unable !== true && !hasSignal(configuration, signals) && !isToBeLeft(state, name),
      reachOf(state, name, reached) >= minDurability,
      // Whom it reaches may report a moment later: better than a writer that everybody knows to be cut off.
      needsLeaseSet(configuration.consistency) && reachOf(state, name, reaches) >= minDurability,
    ].reduce((sum, holds, at) => sum + (holds ? 16 >> at : 0), 0);
  };
  return reporters
    .filter((name) => isEligible(state, name))
    .sort(
      (a, b) =>
        rank(b) - rank(a) ||
        compareProgress(currentReport(state, b)!.progress, currentReport(state, a)!.progress) ||
        priorityOf(priorities, a) - priorityOf(priorities, b),
    );
}

/** Who forces a failover and names no target wants the writes anywhere but where they were. */
function isToBeLeft({ raise: { cause, writer, target } }: FailoverState, name: RegionName): boolean {
  return cause === 'forced' && target === undefined && name === writer;
}

function priorityOf(priorities: readonly RegionName[], name: RegionName): number {
  const place = priorities.indexOf(name);
  return place < 0 ? priorities.length : place;
}

/** A user's limit: beyond it, the old write region, or an operator, must come back first. */
export function losesTooMuch(state: FailoverState, chosen: RegionName): boolean {
  const { maxLossWrites, consistency } = state.configuration;
  if (maxLossWrites === undefined || needsLeaseSet(consistency) || state.raise.acceptLoss === true)
    return false;
  return state.raise.lsn - currentReport(state, chosen)!.progress.lsn > maxLossWrites;
}

function enthrone(state: FailoverState, chosen: RegionName, report: RegionReport): FailoverState {
  const { minDurability } = state.configuration;
  const reporters = namesOf(state).filter((name) => isEligible(state, name));
  // Rule 10: too few of them, and the old lease set stays until the new writer has added live regions.
  const leaseSet = reporters.length >= minDurability ? reporters : withChosen(state.leaseSet, chosen);
  const said = currentReport(state, chosen)!;
  const reachesTooFew =
    needsLeaseSet(state.configuration.consistency) && reachOf(state, chosen, said.reaches) < minDurability;
  const isVain = reachesTooFew || said.unable === true;
  // An operator's choice is not undone by the next failback.
  const isChoice = state.raise.cause === 'forced' || state.raise.target === chosen;
  const next: FailoverState = {
    ...state,
    writer: chosen,
    phase: 'Steady',
    step: state.step + 1,
    leaseMs: grantedLeaseMs(state),
    leaseSet,
    damping: { ...state.damping, vain: isVain ? state.damping.vain + 1 : state.damping.vain },
    regions: withFreshCount(state.regions, chosen),
    // Whoever comes back with what was committed before follows this history all the same.
    ...(state.raise.acceptLoss === true && { sureFrom: state.gcn }),
    ...(isChoice && { pin: chosen }),
  };
  return remember(next, {
    at: report.at,
    what: 'elected',
    who: report.region,
    why: state.raise.cause,
    from: state.gcn,
    to: state.gcn,
    region: chosen,
  });
}

/** The chosen one begins to prove itself anew. */
function withFreshCount(regions: FailoverState['regions'], chosen: RegionName): FailoverState['regions'] {
  const { good: _, ...region } = regions[chosen]!;
  return { ...regions, [chosen]: region };
}

function withChosen(leaseSet: readonly RegionName[], chosen: RegionName): readonly RegionName[] {
  return leaseSet.includes(chosen) ? leaseSet : [...leaseSet, chosen];
}
