/**
 * The failover state of one partition-set: the value of its CASPaxos register, and the one source of truth for its GCN and
 * its write region (paper 4.4; DESIGN section 4). It is plain JSON. Whoever edits it spreads what it was given, so that
 * fields of a newer version survive the edits of an older one.
 *
 * There is no clock in here. Regions are known by their beats, timeouts are waits that somebody measured and reports
 * against the exact thing it waited on, and timestamps are for people.
 */
import type { StatisticsTable } from '../scheduling/policy.ts';
import type { Configuration } from './configuration.ts';
import type { HistoryEntry } from './history.ts';
import type { ClosedIntent, OpenIntent } from './intent-list.ts';

export type RegionName = string;

/**
 * Steady: the write region writes, or nobody does because it is dead and that is not certain yet. Graceful: the writes are
 * being moved to the target; once that is known to be listening, the writer quiesces. Ungraceful: there is no write region; regions fence, report, and one is elected.
 */
export const PHASES = ['Steady', 'Graceful', 'Ungraceful'] as const;
export type Phase = (typeof PHASES)[number];

/** What a region is told to be (the paper's names). */
export const SERVICE_STATUSES = [
  'ReadWrite',
  'ReadWriteWithWritesQuiesced',
  'ReadOnlyReplicationAllowed',
  'ReadOnlyReplicationDisallowed',
] as const;
export type ServiceStatus = (typeof SERVICE_STATUSES)[number];

/**
 * How far a log goes: the epoch of its last entry, and that entry's LSN. Compared in this order. The epoch's high-order part
 * is the GCN; its low-order part is the number of the primary that wrote the entry, for regions that replace theirs within a
 * GCN: what a replaced primary had sent out and its successor does not know is false progress too.
 */
export interface Progress {
  readonly epoch: number;
  readonly primary?: number;
  readonly lsn: number;
}

/** What a region said of itself last, under the GCN in force: raising the GCN clears it (rule 7). */
export interface RegionReportState {
  readonly progress: Progress;
  readonly gclsn: number;
  /** Regions that acknowledged durably within a third of a lease (rule 8). */
  readonly reaches: readonly RegionName[];
  /** Its driver cannot commit writes. */
  readonly unable?: true;
  readonly signals?: readonly string[];
}

export interface RegionState {
  /** It is being built: a new region, or one that lost its data. */
  readonly building?: true;
  /** The process that reported last; a later process of the region has a higher number. 0: none has reported yet. */
  readonly incarnation: number;
  /** The version of the machine that process runs. */
  readonly version: number;
  /** Raised by every successful update of the region. */
  readonly beat: number;
  /** The beat that the writer's last scheduled beat found, and how often in a row it found no newer one. */
  readonly seen: number;
  readonly missed: number;
  /** Scheduled beats since it was last found dead. */
  readonly live: number;
  /** How often it died soon after it had been given the writes back (damping). */
  readonly deaths?: number;
  /** As write region: scheduled beats since it became that. */
  readonly good?: number;
  readonly report?: RegionReportState;
  /** How far its log went when the raise cleared its report: for its next process to know its disk by, and for no election. */
  readonly had?: Progress;
  /** Rule 22: the incarnation that stopped on purpose. */
  readonly stop?: number;
  /** An operator removes it: it takes no part any more and goes when nobody depends on it. */
  readonly leaving?: true;
}

/**
 * What a removed region goes on from if it is added again. Beats and incarnations never begin anew: whoever still holds a state
 * from before the removal would take every newer one for older, and an earlier process could pass for a later one.
 */
export interface DepartedRegion {
  readonly region: RegionName;
  readonly incarnation: number;
  readonly beat: number;
}

/** Why the GCN in force was raised. `silence` is the only one that proves the old writer's lease to be over (rule 12). */
export const CAUSES = ['creation', 'silence', 'unable', 'stop', 'signal', 'forced', 'switch'] as const;
export type Cause = (typeof CAUSES)[number];

/** What the raise of the GCN in force found (rule 12), taken inside the editor. */
export interface Raise {
  readonly cause: Cause;
  readonly gcn: number;
  readonly writer: RegionName | null;
  readonly beat: number;
  /** The writer's last known LSN: what a candidate's loss is measured by. */
  readonly lsn: number;
  /** An operator's named target (rule 11), and whether he accepts a loss. */
  readonly target?: RegionName;
  readonly acceptLoss?: true;
}

export interface Damping {
  /** Graceful failovers that failed in a row, and the writer's scheduled beats until the next may be tried. */
  readonly failures: number;
  readonly wait: number;
  /** Elections in a row whose winner could not reach the minimum durability. */
  readonly vain: number;
}

export interface FailoverState {
  /** Of this layout; and the lowest version of the machine that may edit it. */
  readonly schema: number;
  readonly minReader: number;
  readonly partitionSet: string;
  readonly gcn: number;
  readonly writer: RegionName | null;
  readonly phase: Phase;
  /** Raised by every change of phase: a wait names the step that it waited in. */
  readonly step: number;
  /**
   * In `Graceful`: who takes over and why; that the target has been heard in it, so that the writer quiesces now; and the
   * writer's final progress once it has (rule 19).
   */
  readonly target?: RegionName;
  readonly why?: GracefulReason;
  readonly quiesce?: true;
  readonly final?: Progress;
  readonly configuration: Configuration;
  /** The lease that the writer's last beat granted: what its silence is measured by. */
  readonly leaseMs: number;
  readonly leaseSet: readonly RegionName[];
  readonly regions: Readonly<Record<RegionName, RegionState>>;
  /** Regions that were removed; a report of theirs is refused. */
  readonly removed?: readonly RegionName[];
  /** How far those had got that were removed. */
  readonly departed?: readonly DepartedRegion[];
  readonly raise: Raise;
  /**
   * What was globally committed under GCNs before this one may be undone: an operator accepted its loss, or the level was weaker.
   * Absent: nothing that was committed at Strong.
   */
  readonly sureFrom?: number;
  /** An operator's choice: automatic failback does not undo it. */
  readonly pin?: RegionName;
  readonly paused?: true;
  readonly damping: Damping;
  readonly open: readonly OpenIntent[];
  readonly recent: readonly ClosedIntent[];
  readonly statistics: StatisticsTable;
  readonly history: readonly HistoryEntry[];
}

export const GRACEFUL_REASONS = ['priority', 'operator', 'signal', 'leaving'] as const;
export type GracefulReason = (typeof GRACEFUL_REASONS)[number];

export const SCHEMA = 1;
/** Of this code. What came with a version switches on when every region runs it. */
export const MACHINE_VERSION = 3;

export function sameProgress(a: Progress, b: Progress): boolean {
  return compareProgress(a, b) === 0;
}

export function compareProgress(a: Progress, b: Progress): number {
  return a.epoch - b.epoch || (a.primary ?? 0) - (b.primary ?? 0) || a.lsn - b.lsn;
}

export function regionOf(state: FailoverState, name: RegionName): RegionState | undefined {
  return Object.hasOwn(state.regions, name) ? state.regions[name] : undefined;
}

/** The highest incarnation of that region that was ever reported, also before it was removed. A new disk begins above it. */
export function lastIncarnation(state: FailoverState, name: RegionName): number {
  return (regionOf(state, name) ?? departedOf(state, name))?.incarnation ?? 0;
}

/** What that region last said of its disk: the process that said it, and how far its log went. */
export interface LastSaid {
  readonly incarnation: number;
  readonly progress?: Progress;
  /** Up to that LSN it has everything, though it may not have said so: others have, and it is in the lease set at Strong. */
  readonly committed?: number;
}

export function lastSaidOf(state: FailoverState, name: RegionName): LastSaid {
  const progress = currentReport(state, name)?.progress ?? regionOf(state, name)?.had;
  const committed = committedOn(state, name);
  return {
    incarnation: lastIncarnation(state, name),
    ...(progress !== undefined && { progress }),
    ...(committed > 0 && { committed }),
  };
}

/**
 * What is globally committed at Strong every member of the lease set has on disk (rules 5, 14 and 16). That does not hold of what a weaker
 * level committed, nor where an operator accepted a loss; then there is `sureFrom`.
 */
function committedOn(state: FailoverState, name: RegionName): number {
  const { configuration, sureFrom, leaseSet, regions } = state;
  if (configuration.consistency !== 'Strong' || sureFrom !== undefined || !leaseSet.includes(name)) return 0;
  return Math.max(0, ...Object.values(regions).map(({ report }) => report?.gclsn ?? 0));
}

export function departedOf({ departed }: FailoverState, name: RegionName): DepartedRegion | undefined {
  return departed?.find(({ region }) => region === name);
}

export function withRegion(
  state: FailoverState,
  name: RegionName,
  changes: Partial<RegionState>,
): FailoverState {
  return { ...state, regions: { ...state.regions, [name]: { ...state.regions[name]!, ...changes } } };
}

/** The region's report under the GCN in force. */
export function currentReport(state: FailoverState, name: RegionName): RegionReportState | undefined {
  return regionOf(state, name)?.report;
}

/**
 * What the region is told to be. It follows from the rest of the state: replication is allowed to whoever has fenced itself
 * and reported under the GCN in force (rule 7), and refused by everybody while there is no write region.
 */
export function statusOf(state: FailoverState, name: RegionName): ServiceStatus {
  if (name === state.writer) return state.quiesce === true ? 'ReadWriteWithWritesQuiesced' : 'ReadWrite';
  const isFenced = state.phase !== 'Ungraceful' && currentReport(state, name) !== undefined;
  return isFenced ? 'ReadOnlyReplicationAllowed' : 'ReadOnlyReplicationDisallowed';
}

/**
 * Regions that may still act on rights which were given under an older GCN (rules 12, 13 and 22): they have not reported
 * under this one, and no silence has been waited out.
 */
export function unfenced(state: FailoverState): readonly RegionName[] {
  const { cause, writer } = state.raise;
  if (writer === null || cause === 'silence' || cause === 'creation') return [];
  return namesOf(state).filter((name) => name !== state.writer && currentReport(state, name) === undefined);
}

/** Rule 12: a whole lease must pass before the writer accepts; after a switch its predecessor is known to be quiesced. */
export function mustWait(state: FailoverState): boolean {
  return state.raise.cause !== 'switch' && unfenced(state).length > 0;
}

export function namesOf(state: FailoverState): readonly RegionName[] {
  return Object.keys(state.regions);
}

/** The lowest version that any region of the set runs; 0 while one of them has never reported. A new region does not run yet. */
export function commonVersion(state: FailoverState): number {
  const versions = Object.values(state.regions)
    .filter(({ leaving, building, version }) => leaving !== true && !(building === true && version === 0))
    .map(({ version }) => version);
  return versions.length === 0 ? 0 : Math.min(...versions);
}

/** The version that is switched on where this one runs: every region has it. */
export function awakeIn(state: FailoverState, version: number): number {
  return Math.min(version, Math.max(1, commonVersion(state)));
}
