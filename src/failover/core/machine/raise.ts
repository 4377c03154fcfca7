/**
 * Raising the GCN: the writes are taken from whoever had them. Everything that was reported under the old one is void, and
 * every region must fence itself before it reports anew (rule 7). What the raise found is recorded inside the editor, for
 * the next writer to know whether, and against whom, it must still wait (rule 12).
 */
import { canWrite, FORGIVEN_AFTER, isNewIncarnation, missedBeats } from './beats.ts';
import { hasSignal, needsLeaseSet } from './configuration.ts';
import { certainlyOver } from '../time.ts';
import { remember } from './history.ts';
import type { RegionReport } from './report.ts';
import {
  type Cause,
  currentReport,
  type FailoverState,
  namesOf,
  type Raise,
  type RegionName,
  type RegionState,
  withRegion,
} from './state.ts';

export interface RaiseBy {
  readonly cause: Exclude<Cause, 'creation' | 'switch'>;
  readonly who: string;
  readonly at: string;
  readonly target?: RegionName | undefined;
  readonly acceptLoss?: boolean | undefined;
}

export function raise(state: FailoverState, by: RaiseBy): FailoverState {
  const { writer, gcn } = state;
  const { target: _target, why: _why, quiesce: _quiesce, final: _final, ...rest } = state;
  const regions = Object.fromEntries(
    Object.entries(state.regions).map(([name, region]) => [name, cleared(region)]),
  );
  const next: FailoverState = {
    ...afterDeath({ ...rest, regions }, by.cause),
    gcn: gcn + 1,
    writer: null,
    phase: 'Ungraceful',
    step: state.step + 1,
    raise: found(state, by),
  };
  return remember(next, {
    at: by.at,
    what: 'raised',
    who: by.who,
    why: by.cause,
    from: gcn,
    to: gcn + 1,
    region: writer,
  });
}

/** Rule 12: a raise that finds no writer keeps what the earlier one found. */
function found(state: FailoverState, { cause, target, acceptLoss }: RaiseBy): Raise {
  const { writer, gcn } = state;
  const { target: _target, acceptLoss: _loss, ...earlier } = state.raise;
  const triple =
    writer === null
      ? earlier
      : {
          cause,
          gcn,
          writer,
          beat: state.regions[writer]!.beat,
          // Since a switch it may not have reported yet: then the switch knows.
          lsn: state.regions[writer]!.report?.progress.lsn ?? state.raise.lsn,
        };
  return {
    ...triple,
    ...(target !== undefined && { target }),
    ...(acceptLoss === true && { acceptLoss }),
  };
}

/** Rule 7, and 22: raising the GCN clears reports and stop marks. What a disk was known to have stays known. */
export function cleared(region: RegionState): RegionState {
  const { report, stop: _stop, ...rest } = region;
  return report === undefined ? rest : { ...rest, had: report.progress };
}

/** Damping: a region that was given the writes back and died again must prove itself for longer each time. */
function afterDeath(state: FailoverState, cause: Cause): FailoverState {
  const { writer } = state;
  if (writer === null || cause === 'forced') return state;
  const known = cause === 'stop' ? state.regions[writer]! : diedAgain(state, writer);
  const next = withRegion(state, writer, cause === 'stop' ? known : { ...known, live: 0 });
  if (next.pin !== writer || cause === 'stop') return next;
  const { pin: _pin, ...unpinned } = next;
  return unpinned;
}

/** The write region, with one more death if it had only just been given the writes back. */
export function diedAgain(state: FailoverState, writer: RegionName): RegionState {
  const region = state.regions[writer]!;
  if (state.raise.cause !== 'switch' || (region.good ?? 0) >= FORGIVEN_AFTER) return region;
  return { ...region, deaths: (region.deaths ?? 0) + 1 };
}

/** Rule 4. The writer's own wait, or one against an earlier beat, says nothing. */
export function onSilence(state: FailoverState, report: RegionReport): FailoverState {
  const { silence, region } = report;
  const { writer } = state;
  if (silence === undefined || writer === null || region === writer || state.paused === true) return state;
  const isThat =
    silence.gcn === state.gcn && silence.writer === writer && silence.beat === state.regions[writer]!.beat;
  if (!isThat || silence.waitedMs < certainlyOver(state.leaseMs)) return state;
  return raise(state, { cause: 'silence', who: region, at: report.at });
}

/** The writer says that it cannot, or will not, go on: replaced at once if anybody can take over. */
export function onWriterUnable(
  state: FailoverState,
  report: RegionReport,
  before: FailoverState,
  awake: number,
): FailoverState {
  if (report.region !== state.writer || state.paused === true || isNewIncarnation(before, report))
    return state;
  if (canWrite(report)) return state;
  if (!hasSuccessor(state, awake)) return state;
  const cause = report.stopping === true ? 'stop' : 'unable';
  return raise(state, { cause, who: report.region, at: report.at });
}

/** Paper 7.2. A signal whose policy is `failover` takes the writes away at once. */
export function onSignal(
  state: FailoverState,
  report: RegionReport,
  _before: FailoverState,
  awake: number,
): FailoverState {
  if (report.region !== state.writer || state.paused === true) return state;
  const isUp = hasSignal(state.configuration, report.signals, ['failover']);
  return isUp && hasSuccessor(state, awake)
    ? raise(state, { cause: 'signal', who: report.region, at: report.at })
    : state;
}

/** Whether some other region looks able to take the writes: alive, built, able to commit, eligible at this level. */
export function hasSuccessor(state: FailoverState, awake: number): boolean {
  return namesOf(state).some((name) => {
    const region = state.regions[name]!;
    const report = currentReport(state, name);
    return (
      name !== state.writer &&
      region.leaving !== true &&
      region.stop === undefined &&
      region.building !== true &&
      region.missed < missedBeats(awake) &&
      report !== undefined &&
      report.unable !== true &&
      !hasSignal(state.configuration, report.signals) &&
      (!needsLeaseSet(state.configuration.consistency) || state.leaseSet.includes(name))
    );
  });
}
