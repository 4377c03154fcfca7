/**
 * What the copies of a partition-set say to each other. Everything carries the GCN it was said under; whoever knows a higher
 * one refuses it. A session is one reader following one writer: it begins with `follow`, and what was said in an older session
 * counts for nothing (rule 5). Messages may be lost, doubled or overtaken: each says where in the log it belongs.
 *
 *   reader                                  writer
 *     │ ◀──────────── invite ─────────────── │   "I write now"
 *     │ ──────────── follow ───────────────▶ │   "I follow you"
 *     │ ◀──────────── welcome ────────────── │   its history, so that the reader sees where its own leaves it
 *     │ undoes what is false progress        │
 *     │ ──────────── ready ────────────────▶ │   from here on I need your entries
 *     │ ◀──────────── entries ────────────── │   many at a time, many messages under way
 *     │ ──────────── ack ──────────────────▶ │   on disk up to here
 */
import type { Entry, Epoch, Position } from '../model.ts';
import type { ProgressTable } from './progress-table.ts';

/** LSNs that a writer tells its followers along with the entries. */
export interface Marks {
  /** Globally committed: what may be shown to anybody. */
  readonly gclsn: number;
  /** Every region of the commit set has it on disk, at any consistency level. */
  readonly safe: number;
  /** Every region of the partition-set has it on disk: the log up to here is needed by nobody. */
  readonly everywhere: number;
}

export const NO_MARKS: Marks = { gclsn: 0, safe: 0, everywhere: 0 };

/** Marks only rise: an older message that was overtaken does not take anything back. */
export function higherMarks(a: Marks, b: Marks): Marks {
  return {
    gclsn: Math.max(a.gclsn, b.gclsn),
    safe: Math.max(a.safe, b.safe),
    everywhere: Math.max(a.everywhere, b.everywhere),
  };
}

interface Said {
  readonly gcn: number;
}

interface InSession extends Said {
  readonly session: number;
}

export interface Follow extends InSession {
  readonly type: 'follow';
  /** It has to copy everything, and gives up what it has when it is welcomed: the writer reads its log through before. */
  readonly copies?: true;
}

export interface Welcome extends InSession {
  readonly type: 'welcome';
  /** Of the writer's reign: of this process of it, that is. */
  readonly epoch: Epoch;
  readonly table: ProgressTable;
  readonly tail: Position;
  /** The first LSN from which on the writer's log has no gaps. */
  readonly base: number;
  /** Whether all of the writer's log could be read lately. Absent, from an older writer: it does not look. */
  readonly whole?: boolean;
}

export interface Ready extends InSession {
  readonly type: 'ready';
  /** Of the welcome that it answers. */
  readonly epoch: Epoch;
  readonly base: number;
  /** Shared with the writer and on disk up to here. Below the writer's base: everything is needed. */
  readonly lsn: number;
}

export interface Entries extends InSession {
  readonly type: 'entries';
  /** The LSN that the first of these follows in the writer's log: one less, except in a log with gaps. */
  readonly after: number;
  readonly entries: readonly Entry[];
  readonly marks: Marks;
}

export interface Ack extends InSession {
  readonly type: 'ack';
  /** On disk. */
  readonly durable: number;
  /** Taken, on its way to disk. */
  readonly received: number;
  /** What the reader knows to be committed, and to be safe. */
  readonly gclsn: number;
  readonly safe: number;
  /** Something is missing behind `received`: send from there. */
  readonly gap?: true;
}

export interface GrantRequest extends InSession {
  readonly type: 'ask';
  /** Of the request; the answer has it too. */
  readonly number: number;
  readonly incarnation: number;
}

export interface Grant extends InSession {
  readonly type: 'grant';
  readonly number: number;
  readonly ms: number;
  /** The strongest reads that it is good for: what the writer keeps. Absent, from an older writer: whatever the reader promises. */
  readonly level?: GrantLevel;
}

export type GrantLevel = 'Strong' | 'BoundedStaleness';

/** From a writer that has restarted: what do you have? */
export interface Survey extends InSession {
  readonly type: 'survey';
}

export interface Standing extends InSession {
  readonly type: 'standing';
  readonly table: ProgressTable;
  readonly tail: Position;
  readonly base: number;
  /** What it knows to be committed. */
  readonly gclsn: number;
  /** It has lost its data, or never had them: it has nothing to offer. */
  readonly building: boolean;
}

/** From the same writer: your entries behind that LSN. */
export interface Fetch extends InSession {
  readonly type: 'fetch';
  readonly after: number;
  readonly maxBytes: number;
}

export interface Fetched extends InSession {
  readonly type: 'fetched';
  readonly after: number;
  readonly entries: readonly Entry[];
}

/** From a reader: your log lacks this entry, which is globally committed. You are not followed. */
export interface Short extends InSession {
  readonly type: 'short';
  readonly epoch: Epoch;
  readonly lsn: number;
}

export type PartitionMessage =
  | ({ readonly type: 'invite' } & Said)
  | Follow
  | Welcome
  | Ready
  | Entries
  | Ack
  | GrantRequest
  | Grant
  | Survey
  | Standing
  | Fetch
  | Fetched
  | Short
  /** Not in that epoch: `gcn` is what the sender knows. */
  | ({ readonly type: 'refuse' } & InSession)
  /** The entry is damaged here: whoever has it sends it. It is the same in every log that has it. */
  | {
      readonly type: 'damaged';
      readonly epoch: Epoch;
      readonly lsn: number;
      /** Who asks knows what to do with the rest of an entry. */
      readonly rest?: true;
    }
  | {
      readonly type: 'repair';
      readonly entry: Entry;
      /** The sender's log ends there and goes on behind it: of an entry up to there this is what documents still need. */
      readonly upTo?: Position;
    };
