/**
 * The planned move of the writes, without loss (paper 4.5; rules 18 to 20):
 *
 *   begin     the writer's update names the target; writes go on
 *   ready     the target's update shows that it knows; only now the writer quiesces, so that no write waits for a target
 *             that is not listening
 *   final     the writer, quiesced and with commit set = lease set, reports its last (epoch, LSN)
 *   switch    the target reports the same: GCN and write region move in one step
 *   give up   quiesced for a third of a lease, not ready within a whole one, or the target is gone: back to Steady with
 *             backoff, same writer
 *
 * A writer that falls silent meanwhile is rule 4's matter, as always: the timeout alone never raises the GCN (rule 20).
 */
import { grantedLeaseMs, isNewIncarnation, missedBeats, reachOf, renews } from './beats.ts';
import { allowsFailback, hasSignal, needsLeaseSet } from './configuration.ts';
import { type HistoryEntry, remember } from './history.ts';
import { close } from './intent-list.ts';
import { cleared, diedAgain } from './raise.ts';
import type { RegionReport, WriterReport } from './report.ts';
import {
  currentReport,
  type FailoverState,
  type GracefulReason,
  mustWait,
  type RegionName,
  regionOf,
  sameProgress,
  withRegion,
} from './state.ts';

/** Live beats that a target needs; doubled for each time it died soon after it had got the writes back. */
export const BASE_LIVE_BEATS = 2;
const MAX_DOUBLINGS = 8;

export interface Move {
  readonly target: RegionName;
  readonly why: GracefulReason;
}

export function begin(
  state: FailoverState,
  report: RegionReport,
  before: FailoverState,
  awake: number,
): FailoverState {
  if (state.phase !== 'Steady' || report.region !== state.writer || report.writer === undefined) return state;
  if (isNewIncarnation(before, report) || !renews(state, report)) return state;
  // Rule 18: pending changes of the commit set, and rule 12's wait, are finished first.
  if (isWaiting(state, report.writer)) return state;
  if (!sameMembers(report.writer.commitSet, state.leaseSet)) return state;
  const move = nextMove(state, report, awake);
  if (move === undefined) return state;
  const next: FailoverState = {
    ...state,
    phase: 'Graceful',
    step: state.step + 1,
    target: move.target,
    why: move.why,
  };
  return remember(next, entry(state, report, { what: 'began', why: move.why, region: move.target }));
}

/** An operator's wish comes first and skips damping; then signals and removals; then the priorities. */
function nextMove(state: FailoverState, report: RegionReport, awake: number): Move | undefined {
  const wished = state.open.find(({ kind }) => kind === 'switchover')?.target;
  if (wished !== undefined && isReady(state, report, wished, awake))
    return { target: wished, why: 'operator' };
  if (isRevoked(state)) return awayFrom(state, report, 'operator', awake);
  if (state.damping.wait > 0) return undefined;
  if (state.regions[report.region]!.leaving === true) return awayFrom(state, report, 'leaving', awake);
  if (state.paused === true) return undefined;
  if (awake >= 2 && hasSignal(state.configuration, report.signals))
    return awayFrom(state, report, 'signal', awake);
  // Not home while an operator waits for another region to get ready.
  return wished === undefined ? homeward(state, report, awake) : undefined;
}

function awayFrom(
  state: FailoverState,
  report: RegionReport,
  why: GracefulReason,
  awake: number,
): Move | undefined {
  const target = state.configuration.priorities.find((name) => isReady(state, report, name, awake));
  return target === undefined ? undefined : { target, why };
}

/**
 * To a region of higher priority that has been live for long enough; to the pinned one, and not away from it. It is never
 * urgent: a process that is busy with others' moves puts it off until its next beat.
 */
function homeward(state: FailoverState, report: RegionReport, awake: number): Move | undefined {
  const { configuration, pin } = state;
  if (report.busy === true || pin === state.writer) return undefined;
  if (!allowsFailback(configuration.failback, report.at)) return undefined;
  const here = configuration.priorities.indexOf(report.region);
  const better = pin === undefined ? configuration.priorities.slice(0, here < 0 ? undefined : here) : [pin];
  const target = better.find(
    (name) => isReady(state, report, name, awake) && state.regions[name]!.live >= neededLive(state, name),
  );
  return target === undefined ? undefined : { target, why: 'priority' };
}

export function neededLive(state: FailoverState, name: RegionName): number {
  return BASE_LIVE_BEATS * 2 ** Math.min(regionOf(state, name)?.deaths ?? 0, MAX_DOUBLINGS);
}

/** Healthy, built, caught up, in the lease set (rule 19), and able to commit once it is the writer (rule 8). */
function isReady(state: FailoverState, report: RegionReport, name: RegionName, awake: number): boolean {
  const region = regionOf(state, name);
  const said = currentReport(state, name);
  if (name === state.writer || region === undefined || said === undefined) return false;
  const { consistency, minDurability } = state.configuration;
  const reachesEnough = !needsLeaseSet(consistency) || reachOf(state, name, said.reaches) >= minDurability;
  return (
    region.building !== true &&
    region.leaving !== true &&
    region.stop === undefined &&
    region.missed < missedBeats(awake) &&
    said.unable !== true &&
    !hasSignal(state.configuration, said.signals) &&
    reachesEnough &&
    state.leaseSet.includes(name) &&
    report.writer!.caughtUp.includes(name)
  );
}

/** The target knows of the move: it has waited in this very step. Each half of the move is a step with a time limit of its own. */
export function ready(state: FailoverState, report: RegionReport): FailoverState {
  const { phase, target, quiesce, step } = state;
  if (phase !== 'Graceful' || quiesce === true || report.region !== target) return state;
  if (report.wait?.step !== step || isGone(state, target)) return state;
  return { ...state, quiesce: true, step: step + 1 };
}

/**
 * Rule 18: the editor takes the final report only if commit set = lease set, and none while rule 12's wait runs: the target does
 * not wait, because it knows the writer to be quiesced, and whoever wrote before that writer may still do so.
 */
export function finalReport(
  state: FailoverState,
  report: RegionReport,
  before: FailoverState,
): FailoverState {
  if (state.quiesce !== true || report.region !== state.writer || state.final !== undefined) return state;
  if (report.writer?.quiescedInStep !== state.step || isNewIncarnation(before, report)) return state;
  if (isWaiting(state, report.writer)) return state;
  if (!sameMembers(report.writer.commitSet, state.leaseSet)) return state;
  return { ...state, final: report.progress };
}

/** As far as the state can tell; how long a lease takes, only the writer knows, and says it. */
function isWaiting(state: FailoverState, { hasWaited }: WriterReport): boolean {
  return mustWait(state) && hasWaited !== true;
}

/** Rule 19: the same (epoch, LSN), reported by a member of the lease set. The switch keeps the lease set. */
export function switchOver(state: FailoverState, report: RegionReport): FailoverState {
  const { phase, target, final, writer, gcn } = state;
  if (phase !== 'Graceful' || target === undefined || final === undefined || writer === null) return state;
  const said = currentReport(state, target);
  if (said === undefined || !sameProgress(said.progress, final) || isGone(state, target)) return state;
  const { target: _target, why = 'priority', quiesce: _quiesce, final: _final, ...rest } = state;
  const old = why === 'signal' ? diedAgain(state, writer) : state.regions[writer]!;
  const left = withRegion(state, writer, isRevoked(state) ? { ...old, live: 0 } : old);
  const regions = Object.fromEntries(
    Object.entries(left.regions).map(([name, { good: _good, ...region }]) => [name, cleared(region)]),
  );
  const next: FailoverState = {
    ...rest,
    regions,
    gcn: gcn + 1,
    writer: target,
    phase: 'Steady',
    step: state.step + 1,
    leaseMs: grantedLeaseMs(state),
    raise: { cause: 'switch', gcn, writer, beat: state.regions[writer]!.beat, lsn: final.lsn },
    damping: { ...state.damping, failures: 0, wait: 0, vain: 0 },
    // An operator's choice is not undone by the next failback. That a region should not write, as when it stops, is no
    // choice of another: when it is back and has proved itself, the writes go home.
    ...(isWished(state, target) && { pin: target }),
  };
  return remember(next, {
    ...entry(state, report, { what: 'switched', why, region: target }),
    to: gcn + 1,
  });
}

function isRevoked({ open, writer }: FailoverState): boolean {
  return open.some(({ kind, target }) => kind === 'revoke' && target === writer);
}

function isWished(state: FailoverState, target: RegionName): boolean {
  return state.open.some((intent) => intent.kind === 'switchover' && intent.target === target);
}

/** Rule 20: the writer itself, alive, finds that it takes too long, or that there is nobody to wait for. */
export function giveUp(state: FailoverState, report: RegionReport, before: FailoverState): FailoverState {
  const { phase, target, writer, step } = state;
  if (phase !== 'Graceful' || target === undefined || report.region !== writer) return state;
  const why = isStillWished(state, target) ? whyGiveUp(state, report, before) : 'withdrawn';
  if (why === undefined) return state;
  const { target: _target, why: _why, quiesce: _quiesce, final: _final, ...rest } = closeWishes(state);
  const failures = state.damping.failures + 1;
  const next: FailoverState = {
    ...rest,
    phase: 'Steady',
    step: step + 1,
    damping: { ...state.damping, failures, wait: 2 ** Math.min(failures, MAX_DOUBLINGS) },
  };
  return remember(next, entry(state, report, { what: 'gave up', why, region: target }));
}

function whyGiveUp(
  state: FailoverState,
  report: RegionReport,
  before: FailoverState,
): 'target gone' | 'writer restarted' | 'took too long' | undefined {
  if (isGone(state, state.target!)) return 'target gone';
  if (isNewIncarnation(before, report)) return 'writer restarted';
  // At Strong its silence holds up every commit, and in a graceful failover nobody is removed (rule 18).
  const waitsForTarget = state.quiesce !== true && needsLeaseSet(state.configuration.consistency);
  if (waitsForTarget && !report.reaches.includes(state.target!)) return 'target gone';
  const { wait } = report;
  const limit = state.quiesce === true ? state.leaseMs / 3 : state.leaseMs;
  return wait?.step === state.step && wait.waitedMs >= limit ? 'took too long' : undefined;
}

/** An operator's wish that came to nothing is not tried again behind his back: each try costs the writes a moment. */
function closeWishes(state: FailoverState): FailoverState {
  if (state.why !== 'operator') return state;
  const wishes = state.open.filter(({ kind, target }) =>
    kind === 'switchover' ? target === state.target : kind === 'revoke' && target === state.writer,
  );
  return wishes.reduce((next, { id }) => close(next, id, 'cancelled'), state);
}

function isStillWished(state: FailoverState, target: RegionName): boolean {
  return (
    state.why !== 'operator' ||
    isWished(state, target) ||
    state.open.some((intent) => intent.kind === 'revoke' && intent.target === state.writer)
  );
}

function isGone(state: FailoverState, target: RegionName): boolean {
  const region = regionOf(state, target);
  return (
    region === undefined || region.stop !== undefined || region.leaving === true || region.building === true
  );
}

function sameMembers(a: readonly RegionName[], b: readonly RegionName[]): boolean {
  return new Set(a).size === new Set(b).size && a.every((name) => b.includes(name));
}

function entry(
  { gcn }: FailoverState,
  { at, region: who }: RegionReport,
  what: Pick<HistoryEntry, 'what' | 'why' | 'region'>,
): HistoryEntry {
  return { at, who, from: gcn, to: gcn, ...what };
}
