/**
 * What operators are shown of a partition-set. Three things are kept apart, because they may disagree: what the register says
 * (`gcn` to `configuration`), what each region last reported into it (`regions`), and what is measured here (`local`).
 */
import type { EnginePartition } from '../../engine/index.ts';
import {
  awakeIn,
  type Configuration,
  currentReport,
  type FailoverState,
  type HostedAgent,
  MACHINE_VERSION,
  missedBeats,
  namesOf,
  type RegionName,
  statusOf,
} from '../../failover/index.ts';
import type { PartitionSetPlace } from '../config/index.ts';

export interface RegionView {
  /** What it is told to be. */
  readonly status: string;
  readonly build: 'Building' | 'Built';
  readonly beat: number;
  readonly progress: { readonly epoch: number; readonly lsn: number } | null;
  readonly gclsn: number | null;
  /** Of the machine that it runs. */
  readonly version: number;
  readonly isLive: boolean;
  /** The GCN of its report; null: it has not reported under the one in force. */
  readonly reportedUnder: number | null;
  readonly reaches: readonly RegionName[];
  readonly isStopped: boolean;
  readonly isLeaving: boolean;
}

export interface LocalView {
  readonly region: RegionName;
  readonly role: string;
  readonly canWrite: boolean;
  readonly canRead: boolean;
  readonly progress: { readonly epoch: number; readonly lsn: number };
  readonly gclsn: number;
  readonly canCommit: boolean;
  readonly build: 'Building' | 'Built';
  /** By how many entries each other region is behind this one; null: it does not follow this one. */
  readonly lag: Readonly<Record<RegionName, number | null>>;
  readonly logBytes: number;
  readonly undoneWrites: number;
  /** Of those, known to have been globally committed. */
  readonly undoneCommitted: number;
  /** The write region that this copy does not follow, because it lacks what is known here to be globally committed. */
  readonly refuses: RegionName | null;
}

export interface PartitionSetView {
  readonly partitionSet: string;
  readonly container: string;
  readonly range: { readonly from: string; readonly to: string };
  readonly gcn: number;
  readonly phase: string;
  readonly step: number;
  readonly writeRegion: RegionName | null;
  readonly target: RegionName | null;
  readonly leaseSet: readonly RegionName[];
  readonly configuration: Configuration;
  readonly regions: Readonly<Record<RegionName, RegionView>>;
  readonly local: LocalView | null;
  readonly intents: Pick<FailoverState, 'open' | 'recent'>;
  /** Why the GCN in force was raised. */
  readonly cause: string;
  readonly pin: RegionName | null;
  readonly pausedAutomatic: boolean;
}

export function viewOf(
  { name: partitionSet, container, from, to }: PartitionSetPlace,
  state: FailoverState,
  local: LocalView | undefined,
): PartitionSetView {
  const { gcn, phase, step, writer, target, leaseSet, configuration, open, recent, raise, pin, paused } =
    state;
  return {
    partitionSet,
    container,
    range: { from, to },
    gcn,
    phase,
    step,
    writeRegion: writer,
    target: target ?? null,
    leaseSet,
    configuration,
    regions: regionsOf(state),
    local: local ?? null,
    intents: { open, recent },
    cause: raise.cause,
    pin: pin ?? null,
    pausedAutomatic: paused === true,
  };
}

function regionsOf(state: FailoverState): Record<RegionName, RegionView> {
  return Object.fromEntries(namesOf(state).map((name) => [name, regionView(state, name)]));
}

function regionView(state: FailoverState, name: RegionName): RegionView {
  const { building, beat, version, missed, incarnation, stop, leaving } = state.regions[name]!;
  const report = currentReport(state, name);
  return {
    status: statusOf(state, name),
    build: building === true ? 'Building' : 'Built',
    beat,
    progress: report === undefined ? null : { epoch: report.progress.epoch, lsn: report.progress.lsn },
    gclsn: report?.gclsn ?? null,
    version,
    // One that was added again goes on from the beat that it had: it lives when a process of it has reported.
    isLive: version > 0 && missed < missedBeats(awakeIn(state, MACHINE_VERSION)) && stop !== incarnation,
    reportedUnder: report === undefined ? null : state.gcn,
    reaches: report?.reaches ?? [],
    isStopped: stop !== undefined && stop === incarnation,
    isLeaving: leaving === true,
  };
}

/** Measured now. Undefined: it has not been started here. */
export function localOf(
  region: RegionName,
  partition: EnginePartition,
  agent: HostedAgent | undefined,
): LocalView | undefined {
  const { core } = partition;
  if (core === undefined) return undefined;
  const { store, reign } = core;
  const { progress, gclsn, canCommit, build, peers } = partition.status();
  const open = partition.undone().filter(({ closed }) => closed === undefined);
  const lags = Object.entries(peers).map(([name, { lsn, behindMs }]): [RegionName, number | null] => [
    name,
    reign === undefined || behindMs === Infinity ? null : Math.max(0, store.tail.lsn - lsn),
  ]);
  return {
    region,
    role: agent?.role?.role ?? 'none',
    canWrite: agent?.mayWrite() === true && canCommit,
    canRead: core.isReadable,
    progress: { epoch: progress.epoch, lsn: progress.lsn },
    gclsn,
    canCommit,
    build,
    lag: Object.fromEntries(lags),
    logBytes: store.logBytes,
    undoneWrites: open.length,
    undoneCommitted: open.filter(({ committed }) => committed === true).length,
    refuses: core.following?.isRefusing === true ? core.following.writer : null,
  };
}
