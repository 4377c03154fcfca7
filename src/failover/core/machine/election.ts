/**
 * The election that ends an ungraceful failover (paper 4.5; rules 9 to 11). It needs one eligible region that has fenced
 * itself and reported under the GCN in force, and it waits a settling time for better ones, less when everybody who can be
 * expected has reported.
 *
 * At levels whose writers are elected from the lease set any member is as good as another, so it never waits for a quorum of
 * regions. At the weaker levels any built region may be elected, and what the elected one lacks is lost: there it waits until most of
 * the built regions have reported, but no longer than a lease, and whoever has the longest log comes before whoever reaches more regions.
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
  if (state.phase !== 'Ungraceful' || !isSettled(state, report, awake)) return state;
  const chosen = candidates(state, awake).find((name) => awake < 2 || !losesTooMuch(state, name));
  return chosen === undefined ? state : enthrone(state, chosen, report);
}

function isSettled(state: FailoverState, { wait }: RegionReport, awake: number): boolean {
  if (wait?.step === state.step && wait.waitedMs >= electionWaitMs(state, awake)) return true;
  return namesOf(state).every((name) => state.regions[name]!.leaving === true || isHeard(state, name));
}

/** Nothing more is to be expected of that region: it has reported, or it is the one that was silent. */
function isHeard(state: FailoverState, name: RegionName): boolean {
  const { cause, writer } = state.raise;
  return (cause === 'silence' && name === writer) || currentReport(state, name) !== undefined;
}

/** How long the election waits for regions that have not reported, as things are: less when enough have. */
export function electionWaitMs(state: FailoverState, awake: number): number {
  const settled = settleMs(state);
  return risksLoss(state, awake) && !hasHeardEnough(state)
    ? Math.max(settled, certainlyOver(state.configuration.timings.leaseMs))
    : settled;
}

export function settleMs({ configuration, damping }: FailoverState): number {
  const { settleMs: base, leaseMs } = configuration.timings;
  return Math.min(base * 2 ** Math.min(damping.vain, MAX_DOUBLINGS), certainlyOver(leaseMs));
}

/** Whether writes that were acknowledged may be lost with an election at this level: with whom, its order decides. */
function risksLoss({ configuration }: FailoverState, awake: number): boolean {
  return awake >= 3 && !needsLeaseSet(configuration.consistency);
}

/** Most of the built regions have reported, or all that can; or nobody's report would matter, because a person has chosen already. */
function hasHeardEnough(state: FailoverState): boolean {
  const { acceptLoss, target } = state.raise;
  if (acceptLoss === true || (target !== undefined && isEligible(state, target))) return true;
  const built = namesOf(state).filter((name) => {
    const { building, leaving } = state.regions[name]!;
    return building !== true && leaving !== true;
  });
  const reporters = built.filter((name) => currentReport(state, name) !== undefined);
  return reporters.length * 2 > built.length || built.every((name) => isHeard(state, name));
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
export function candidates(state: FailoverState, awake: number): readonly RegionName[] {
  const { priorities } = state.configuration;
  const reporters = namesOf(state).filter((name) => currentReport(state, name) !== undefined);
  const ranks = new Map(reporters.map((name) => [name, rankOf(state, name, reporters, awake)]));
  const compare = (a: RegionName, b: RegionName): number => {
    const [first, second] = [ranks.get(a)!, ranks.get(b)!];
    return (
      second.before - first.before ||
      compareProgress(currentReport(state, b)!.progress, currentReport(state, a)!.progress) ||
      second.after - first.after ||
      priorityOf(priorities, a) - priorityOf(priorities, b)
    );
  };
  return reporters.filter((name) => isEligible(state, name)).sort(compare);
}

/** What counts before a candidate's progress, and what only among those with the same. */
interface Rank {
  readonly before: number;
  readonly after: number;
}

function rankOf(
  state: FailoverState,
  name: RegionName,
  reporters: readonly RegionName[],
  awake: number,
): Rank {
  const { configuration } = state;
  const { priorities, minDurability } = configuration;
  const { unable, reaches, signals } = currentReport(state, name)!;
  const isChosen = name === state.raise.target;
  const isPlaced = state.regions[name]!.leaving !== true && priorities.includes(name);
  const isUsable = unable !== true && !isToBeLeft(state, name);
  const isQuiet = !hasSignal(configuration, signals);
  const reached = reaches.filter((other) => reporters.includes(other));
  const reachesEnough = reachOf(state, name, reached) >= minDurability;
  if (risksLoss(state, awake)) {
    // Only what would take the writes away again at once comes first. From the others they move in a planned way, without loss.
    const isKept = isUsable && !hasSignal(configuration, signals, ['failover']);
    return { before: rank(isChosen, isKept), after: rank(isPlaced, isQuiet, reachesEnough) };
  }
  // Whom it reaches may report a moment later: better than a writer that everybody knows to be cut off.
  const mayReachEnough =
    needsLeaseSet(configuration.consistency) && reachOf(state, name, reaches) >= minDurability;
  return { before: rank(isChosen, isPlaced, isUsable && isQuiet, reachesEnough, mayReachEnough), after: 0 };
}

/** The first that holds counts more than all that follow. */
function rank(...merits: readonly boolean[]): number {
  return merits.reduce((sum, holds) => sum * 2 + (holds ? 1 : 0), 0);
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
