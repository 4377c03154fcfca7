/** A partition and what is around it: what it is given, what it asks of its host, what it is told to be, what it says of itself. */
import type { ContainerSettings, JsonCodec, Limits } from '../documents/request.ts';
import type { FollowingTimings } from './following.ts';
import type { ForwarderLimits, RegionName } from './forwarder.ts';
import type { PartitionMessage } from './messages.ts';
import type { Consistency, WriterRole } from './reign.ts';

export interface PartitionPort {
  /** Monotonic, in milliseconds. */
  now(): number;
  wallClock(): number;
  send(to: RegionName, message: PartitionMessage): void;
  /** Whether the link to that region takes more now. When it does again: `linkReady`. */
  canSend(to: RegionName): boolean;
  /** Since that region's node proved that its disk takes writes; Infinity: it has not lately. */
  heardMsAgo(region: RegionName): number;
  mayWrite(): boolean;
  /** Rule 22: a reader that is about to stop shows nothing strongly any more, and asks for no grant. */
  isStopping?(): boolean;
  /** Rule 15: for how long that process of a region may read strongly; 0 is no. */
  grant(asker: { readonly region: RegionName; readonly incarnation: number }): number;
  /** The agent should look at the status: at once, or some time soon. */
  changed(how: 'at once' | 'soon'): void;
  /** Call `flush` when this turn's work is done. */
  flushSoon(): void;
  /** `nextAt` may have changed. */
  look(): void;
  event(event: PartitionEvent): void;
}

export type PartitionEvent =
  | { readonly event: 'undone'; readonly count: number; readonly after: number; readonly committed: boolean }
  /** Of those that were undone, so many were damaged, and are not in the list of undone writes here. */
  | { readonly event: 'unlisted'; readonly count: number }
  | { readonly event: 'damaged' | 'repaired'; readonly lsn: number }
  /** This copy does not follow that writer, whose log lacks an entry that is known here to be globally committed. */
  | { readonly event: 'refused'; readonly writer: RegionName; readonly lsn: number }
  /** The same, as the writer hears it. */
  | { readonly event: 'short'; readonly by: RegionName; readonly lsn: number }
  /** A writer that has restarted took over so many entries from another region. */
  | { readonly event: 'recovered'; readonly count: number }
  /** A writer that has restarted goes on with its own disk: none of the members that it asked could tell it what is committed. */
  | { readonly event: 'unconfirmed'; readonly asked: readonly RegionName[] }
  | { readonly event: 'disk'; readonly error: Error | undefined };

export interface PartitionOptions {
  readonly region: RegionName;
  /** All regions of the partition-set. */
  readonly regions: readonly RegionName[];
  readonly consistency: Consistency;
  readonly settings: ContainerSettings;
  readonly limits: Limits;
  readonly json: JsonCodec;
  /** Writes and reads that wait at a time. */
  readonly maxWaiting: number;
  readonly forwarder?: ForwarderLimits;
  readonly following?: FollowingTimings;
}

export type PartitionRole =
  | { readonly role: 'fenced'; readonly epoch: number }
  | {
      readonly role: 'reader' | 'builder';
      readonly epoch: number;
      readonly writer: RegionName;
      /** From now on. Absent: as before. */
      readonly serves?: Consistency;
      /** What was globally committed in GCNs before this one may be undone: somebody accepted its loss, or the level was weaker. */
      readonly sureFrom?: number;
    }
  | ({ readonly role: 'writer' } & WriterRole)
  | { readonly role: 'gone' };

export interface PeerStanding {
  readonly acknowledgedMsAgo: number;
  readonly lsn: number;
  readonly behindMs: number;
}

export interface PartitionStatus {
  readonly build: 'Building' | 'Built';
  readonly progress: { readonly epoch: number; readonly primary: number; readonly lsn: number };
  readonly gclsn: number;
  readonly canCommit: boolean;
  /** This process has not yet seen that it has what the others have: as the writer it does that first. */
  readonly recovering?: true;
  readonly peers: Readonly<Record<RegionName, PeerStanding>>;
  readonly quiesced: boolean;
}
