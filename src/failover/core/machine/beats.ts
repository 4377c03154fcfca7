/**
 * What every update does before anything is decided: the report is taken down, and the region's beat goes up. A writer's
 * beat goes up only if its driver can commit, and, where commits wait for others, if it reaches enough of them (rule 8):
 * everything that waits for a dead writer then also waits for one that is of no use.
 */
import { NO_STATISTICS, observe, type PhaseStatistics } from '../scheduling/statistics.ts';
import { needsLeaseSet } from './configuration.ts';
import type { RegionReport } from './report.ts';
import { type FailoverState, namesOf, type RegionState, regionOf, unfenced, withRegion } from './state.ts';

/**
 * Found with no new beat so often in a row by the writer's own, a region counts as dead. Since version 3 one that only watches may
 * beat every other interval (`agenda.ts`), and may be late with it. `awake`: the version that is switched on; as long as a region
 * runs an older one it counts to two, and so do all, and nobody beats that seldom.
 */
export function missedBeats(awake: number): number {
  return awake >= 3 ? 3 : 2;
}

/** A write region that has done well for so long is forgiven its earlier deaths. */
export const FORGIVEN_AFTER = 20;
const ENOUGH_LIVE = 1000;

/** Whether this update of the write region renews its lease (heartbeat; rule 8). */
export function renews(state: FailoverState, report: RegionReport): boolean {
  if (!canWrite(report)) return false;
  const { consistency, minDurability } = state.configuration;
  if (!needsLeaseSet(consistency)) return true;
  return reachOf(state, report.region, report.reaches) >= minDurability;
}

/** A process that has lost its data, or its means to commit, or is about to stop, is of no use as a writer. */
export function canWrite({ canCommit, build, stopping }: RegionReport): boolean {
  return canCommit && build === 'Built' && stopping !== true;
}

/** How many regions of the set hold a write that this one commits, itself included. */
export function reachOf(state: FailoverState, region: string, reaches: readonly string[]): number {
  return new Set([...reaches.filter((name) => regionOf(state, name) !== undefined), region]).size;
}

export function isNewIncarnation(before: FailoverState, report: RegionReport): boolean {
  return report.incarnation > (regionOf(before, report.region)?.incarnation ?? 0);
}

export function takeDown(
  state: FailoverState,
  report: RegionReport,
  _before: FailoverState,
  awake: number,
): FailoverState {
  const known = state.regions[report.region]!;
  const counts = state.writer !== report.region || renews(state, report);
  const { stop, building: _building, had: _had, ...kept } = known;
  // Rule 22: the next incarnation's first update clears the mark, and nothing else but a raise does.
  const isStopped = report.stopping === true || stop === report.incarnation;
  const updated: RegionState = {
    ...kept,
    ...(report.build === 'Building' && { building: true }),
    incarnation: report.incarnation,
    version: report.version,
    beat: known.beat + (counts ? 1 : 0),
    live: liveBeats(state, report, known),
    report: {
      progress: report.progress,
      gclsn: report.gclsn,
      reaches: report.reaches,
      ...(!report.canCommit && { unable: true }),
      ...(report.signals !== undefined && report.signals.length > 0 && { signals: report.signals }),
    },
    ...(isStopped && { stop: report.incarnation }),
  };
  const next = { ...state, regions: { ...state.regions, [report.region]: updated } };
  return withPhase2(
    state.writer === report.region && counts ? onWriterBeat(next, report, awake) : next,
    report,
  );
}

function liveBeats(state: FailoverState, report: RegionReport, known: RegionState): number {
  const before = report.incarnation > known.incarnation ? 0 : known.live;
  return report.scheduled && state.phase === 'Steady' ? Math.min(before + 1, ENOUGH_LIVE) : before;
}

/** The writer's scheduled beats are the clock of everything that is counted in beats. */
function onWriterBeat(state: FailoverState, report: RegionReport, awake: number): FailoverState {
  const { leaseMs } = state.configuration.timings;
  const renewed: FailoverState = {
    ...state,
    leaseMs: Math.max(leaseMs, heldLeaseMs(state, report)),
    damping: { ...state.damping, vain: 0 },
  };
  if (!report.scheduled) return renewed;
  const { deaths: _, ...writer } = state.regions[report.region]!;
  const good = (writer.good ?? 0) + 1;
  let next = withRegion(renewed, report.region, { good });
  if (good >= FORGIVEN_AFTER) {
    next = { ...next, regions: { ...next.regions, [report.region]: { ...writer, good } } };
  }
  for (const name of namesOf(state)) if (name !== report.region) next = lookAt(next, name, awake);
  const { damping } = next;
  return damping.wait === 0 ? next : { ...next, damping: { ...damping, wait: damping.wait - 1 } };
}

/** The update that makes a region the writer may be its own, and gives it a lease as configured: one that was lengthened too. */
export function grantedLeaseMs({ leaseMs, configuration }: FailoverState): number {
  return Math.max(leaseMs, configuration.timings.leaseMs);
}

/**
 * A lease that was shortened is waited for in its old length as long as somebody may hold one of that, or a read grant that was
 * given under it: the writer, whose answer to this update may be lost; its readers; or, from an older writer, a region that has not
 * fenced itself yet.
 */
function heldLeaseMs(state: FailoverState, { writer }: RegionReport): number {
  return unfenced(state).length > 0 ? state.leaseMs : (writer?.leaseMs ?? state.leaseMs);
}

function lookAt(state: FailoverState, name: string, awake: number): FailoverState {
  const enough = missedBeats(awake);
  const { beat, seen, missed, live } = state.regions[name]!;
  if (beat > seen) return withRegion(state, name, { seen: beat, missed: 0 });
  if (missed >= enough) return state;
  return withRegion(state, name, { missed: missed + 1, live: missed + 1 >= enough ? 0 : live });
}

function withPhase2(
  state: FailoverState,
  { region, phase2Ms, phase2Of = region }: RegionReport,
): FailoverState {
  if (phase2Ms === undefined) return state;
  const known = Object.hasOwn(state.statistics, phase2Of) ? state.statistics[phase2Of] : undefined;
  const observed = observe(known ?? NO_STATISTICS, phase2Ms);
  const updated = { ...known, ...rounded(observed) };
  return { ...state, statistics: { ...state.statistics, [phase2Of]: updated } };
}

/** To what matters: the state is written at every beat. */
function rounded({ count, average, mean, squares }: PhaseStatistics): PhaseStatistics {
  return { count, average: Math.round(average), mean: Math.round(mean), squares: Math.round(squares) };
}
