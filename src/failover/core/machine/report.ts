/**
 * What goes into a state update. A region's report says what it knows of itself and what it has waited for; it carries the
 * GCN and the incarnation it was computed under, and is computed anew for every retry (rule 2). People and the control
 * plane post intents the same way.
 */
import type { Consistency } from './configuration.ts';
import type { IntentBody } from './intents.ts';
import type { Progress, RegionName } from './state.ts';

/** "I have waited so long since I learned of exactly this" (rule 4). */
export interface SilenceReport {
  readonly gcn: number;
  readonly writer: RegionName;
  readonly beat: number;
  readonly waitedMs: number;
}

/** "I have known this step of the machine for so long": settling, and a graceful failover that takes too long. */
export interface StepWait {
  readonly step: number;
  readonly waitedMs: number;
}

/** What only the write region says. */
export interface WriterReport {
  /** Whose acknowledgement it waits for now. Always contains the lease set (rule 14). */
  readonly commitSet: readonly RegionName[];
  /**
   * How long the lease is that it holds at this moment, or for how long a read grant may still run if that is more; 0: neither.
   * Absent: not known, so it may be the longest so far.
   */
  readonly leaseMs?: number;
  /** Regions nearly at the tail of the log. */
  readonly caughtUp: readonly RegionName[];
  /** Changes of the lease set that it asks for (rules 16 and 17). */
  readonly add?: readonly RegionName[];
  readonly remove?: readonly RegionName[];
  /** Nobody can have rights any more that were given before the raise of this GCN: rule 12's wait is over, or there was none. */
  readonly hasWaited?: true;
  /** In `Graceful`: writes are quiesced, and the report's progress is final (rule 18). */
  readonly quiescedInStep?: number;
  /**
   * The wanted level can be put in force: for a stronger one, all that was acknowledged is durable on the whole commit set; for a weaker
   * one, no right of this GCN or an older one is left that was given under the level in force.
   */
  readonly readyFor?: Consistency;
}

export interface RegionReport {
  readonly type: 'region';
  readonly region: RegionName;
  readonly incarnation: number;
  /** Of the machine that this process runs. */
  readonly version: number;
  /** Of the state that the report was computed under; the region has fenced itself up to it (rule 7). */
  readonly gcn: number;
  /** For people. */
  readonly at: string;
  /** The regular heartbeat, once an interval, and not an update in between. */
  readonly scheduled: boolean;
  readonly build: 'Building' | 'Built';
  readonly progress: Progress;
  readonly gclsn: number;
  readonly canCommit: boolean;
  readonly reaches: readonly RegionName[];
  readonly silence?: SilenceReport;
  readonly wait?: StepWait;
  readonly writer?: WriterReport;
  /** Rule 22: this process stops on purpose and does nothing any more. */
  readonly stopping?: true;
  /** External health signals that are up at this region (paper 7.2). */
  readonly signals?: readonly string[];
  /** Its process moves as many partition-sets as it should at a time: for the sake of priorities none begins now. */
  readonly busy?: true;
  /** How long the last successful phase 2 took (paper 6.2). */
  readonly phase2Ms?: number;
  /** Whose figures in the state that goes into, by the policy in force there: the region's own if it does not say. */
  readonly phase2Of?: string;
}

export interface IntentReport {
  readonly type: 'intent';
  /** Unique; the same one posted again changes nothing. */
  readonly id: string;
  /** Who wants it, for the history. */
  readonly who: string;
  readonly at: string;
  /** The GCN that the wish was formed under: once that has passed, the wish is void. */
  readonly gcn?: number;
  readonly intent: IntentBody;
}

export type Report = RegionReport | IntentReport;
