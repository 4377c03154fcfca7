/**
 * What is failed over stands behind a driver (DESIGN section 4): the embedded engine, a PostgreSQL, a toy. An agent asks it
 * how it is, tells it what to be, and knows nothing else of it. These are the words they exchange; the contract is in
 * docs/driver.md and, as a suite that any driver can be run through, in `test/conformance/driver.ts`.
 */
import {
  type FailoverState,
  heldLevel,
  keptLevel,
  type Level,
  type Progress,
  type RegionName,
  sameLevel,
} from '../machine/index.ts';

/** What this region knows of replication with another one. */
export interface PeerStatus {
  /** Since it last proved that it makes durable what it is sent. */
  readonly acknowledgedMsAgo: number;
  /** As writer: up to where the peer has the log durably, and how long it needs to have all of it if no write comes. */
  readonly lsn: number;
  readonly behindMs: number;
}

/** How a partition is, at the moment of asking. */
export interface DriverStatus {
  readonly build: 'Building' | 'Built';
  /** The end of its durable log. */
  readonly progress: Progress;
  readonly gclsn: number;
  /** Whether a write (or a durable probe) could be committed locally since the last question. */
  readonly canCommit: boolean;
  readonly peers: Readonly<Record<RegionName, PeerStatus>>;
  /** As writer: no write is under way, and none is accepted. */
  readonly quiesced: boolean;
  /**
   * This process has not seen yet that it has what the others have: as the writer it recovers first, and welcomes nobody before. It
   * ends when what was taken over from them is on its own disk.
   */
  readonly recovering?: true;
  /** External health signals that are up here. */
  readonly signals?: readonly string[];
}

/**
 * `sureFrom`: what was globally committed under GCNs before this one may be undone, because somebody accepted its loss, or the level was
 * weaker then. Without it nothing that is globally committed at Strong may be.
 *
 * What a partition is told to be. Assuming a role again changes nothing. A role holds until the next one, with one
 * exception: a writer accepts writes only while its lease runs.
 *
 *   fenced   drop leases and grants, refuse replication of epochs below this one, durably (rule 7)
 *   reader   follow that writer: find where the histories part, undo false progress, apply its log (rule 5)
 *   builder  the same from an empty or unusable copy
 *   writer   write in this epoch. A commit waits for every region of the commit set (at Strong), for the log taken over too
 *            (rule 6). `accepts: false`: take no writes and serve no strong reads yet, or any more
 *   gone     this region is not part of the partition-set any more
 *
 * `serves`: the consistency level from then on: no stronger reads are promised here, and what a writer grants is good for that level and
 * no more. `keeps`: what a writer's commits wait for; while a stronger level is on its way, that one already.
 */
export type Role =
  | { readonly role: 'fenced'; readonly epoch: number }
  | {
      readonly role: 'reader' | 'builder';
      readonly epoch: number;
      readonly writer: RegionName;
      readonly serves: Level;
      readonly sureFrom?: number;
    }
  | {
      readonly role: 'writer';
      readonly epoch: number;
      readonly accepts: boolean;
      readonly commitSet: readonly RegionName[];
      readonly serves: Level;
      readonly keeps: Level;
      /** While the driver recovers: the others here have to say what they have; one of them, where each has everything that is committed. */
      readonly leaseSet?: readonly RegionName[];
      readonly sureFrom?: number;
    }
  | { readonly role: 'gone' };

/** Of a region that is told to follow the write region there is. */
export function followerRole(
  role: 'reader' | 'builder',
  { gcn, writer, configuration, sureFrom }: FailoverState,
): Role {
  const sure = sureFrom === undefined ? {} : { sureFrom };
  return { role, epoch: gcn, writer: writer!, serves: heldLevel(configuration), ...sure };
}

export function writerRole(
  { gcn, configuration, sureFrom }: FailoverState,
  says: Pick<Extract<Role, { role: 'writer' }>, 'accepts' | 'commitSet' | 'leaseSet'>,
): Role {
  const sure = sureFrom === undefined ? {} : { sureFrom };
  const levels = { serves: heldLevel(configuration), keeps: keptLevel(configuration) };
  return { role: 'writer', epoch: gcn, ...levels, ...says, ...sure };
}

export function sameRole(a: Role | undefined, b: Role): boolean {
  if (a === undefined || a.role !== b.role) return false;
  if (a.role === 'gone' || b.role === 'gone') return true;
  if (a.epoch !== b.epoch) return false;
  if ('serves' in a && 'serves' in b && !sameLevel(a.serves, b.serves)) return false;
  if (sureFromOf(a) !== sureFromOf(b)) return false;
  if (a.role === 'writer' && b.role === 'writer')
    return (
      a.accepts === b.accepts &&
      sameLevel(a.keeps, b.keeps) &&
      sameList(a.commitSet, b.commitSet) &&
      sameList(a.leaseSet ?? [], b.leaseSet ?? [])
    );
  return !('writer' in a) || !('writer' in b) || a.writer === b.writer;
}

function sureFromOf(role: Role): number | undefined {
  return 'sureFrom' in role ? role.sureFrom : undefined;
}

function sameList(a: readonly RegionName[], b: readonly RegionName[]): boolean {
  return a.length === b.length && a.every((name, at) => name === b[at]);
}

/** Nearly at the tail of the log: writes may wait for such a region without being felt (rule 16). */
export const NEAR_TAIL_MS = 200;
