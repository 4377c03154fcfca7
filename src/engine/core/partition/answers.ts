/** What a partition answers to the requests of clients, and why it does not do what they ask. */
import type { DocumentKey, Entry, OperationResult, Position, Version } from '../model.ts';
import type { ScanOptions } from '../store.ts';
import type { ShownVersion } from './returning.ts';

/** Why a request was certainly not carried out here. */
export const REFUSALS = {
  NOT_WRITER: 'This region does not take writes for this partition-set now.',
  NOT_READY: 'This copy cannot answer that now.',
  TOO_MANY_REQUESTS: 'Too many requests are under way in this partition.',
  DISK_FULL: 'The disk of this partition takes no more writes.',
  DAMAGED: 'The document is damaged on this disk and is being fetched from another region.',
  LEVEL_TOO_STRONG: 'The account has a weaker consistency level than the request asks for.',
  SESSION_AHEAD: 'This copy has not got as far as the session yet.',
  SESSION_UNDONE: 'What the session saw was undone by a failover.',
  FEED_UNDONE: 'What the feed was read up to was undone by a failover.',
  FEED_TRIMMED: 'The log does not reach back to where the feed was read up to.',
} as const;
export type RefusalCode = keyof typeof REFUSALS;

export interface Refused {
  readonly outcome: 'refused';
  readonly code: RefusalCode;
  readonly retryAfterMs?: number;
}

/** It may have been carried out, or may be yet. */
export interface Unknown {
  readonly outcome: 'unknown';
}

export type WriteAnswer =
  | {
      readonly outcome: 'done';
      readonly results: readonly OperationResult[];
      /** The entry that it made, or up to where this copy was when it refused the operation: the session's token. */
      readonly position: Position;
      /** The entry that it made: `versionIn` gives the versions that are in it. Absent when it made none now. */
      readonly entry?: Entry;
      /** If that was asked for: see `returning.ts`. */
      readonly shown?: readonly ShownVersion[];
    }
  | Refused
  | Unknown;

/** As in Azure Cosmos DB, from the strongest to the weakest. */
export const READ_LEVELS = ['Strong', 'BoundedStaleness', 'Session', 'ConsistentPrefix', 'Eventual'] as const;
export type ReadLevel = (typeof READ_LEVELS)[number];

/** A request may ask for a weaker level than the account has, never for a stronger one: its writes were not made for that. */
export function isStronger(level: ReadLevel, than: ReadLevel): boolean {
  return READ_LEVELS.indexOf(level) < READ_LEVELS.indexOf(than);
}

export type ReadAnswer =
  | {
      readonly outcome: 'done';
      /** None: there is no such document. */
      readonly version: Version | undefined;
      /** The state of the partition-set that was read: everything up to here and nothing else. */
      readonly position: Position;
    }
  | Refused;

export interface ReadRequest {
  readonly key: DocumentKey;
  readonly level: ReadLevel;
  /** At Session: at least this much must be seen. */
  readonly session?: Position;
}

export interface ScanRequest {
  readonly options: ScanOptions;
  readonly level: ReadLevel;
  readonly session?: Position;
  /** As the store orders documents. */
  readonly compare: (a: DocumentKey, b: DocumentKey) => number;
}

export type ScanAnswer =
  | { readonly outcome: 'done'; readonly versions: readonly Version[]; readonly position: Position }
  | Refused;
