/** Scans and the change feed, as bytes. Both come in pages: an answer never holds more than the asker takes. */
import {
  decodeEntry,
  type DocumentKey,
  encodeEntry,
  type Entry,
  type FeedPosition,
  type Position,
  type ReadLevel,
  READ_LEVELS,
  type Version,
} from '../../engine/index.ts';
import type { Payload } from '../../transport/index.ts';
import {
  countIn,
  levelIn,
  listIn,
  msIn,
  optional,
  positionIn,
  textIn,
  versionIn,
  versionOut,
} from './fields.ts';
import { malformed, packed, unpacked } from './packing.ts';
import { type NodeRefusal, refusalIn, refusalOut } from './refusals.ts';

export interface NodeScan {
  readonly partitionSet: string;
  readonly timeoutMs: number;
  /** Effective partition keys: from this one on, up to but without the other. */
  readonly from: string;
  readonly to: string;
  /** Goes on behind this document. */
  readonly after?: DocumentKey;
  /** A page has at most so many documents, and stops after about so many bytes. */
  readonly limit: number;
  readonly maxBytes: number;
  readonly level: ReadLevel;
  readonly session?: Position;
}

export type NodeScanAnswer =
  | {
      readonly outcome: 'done';
      readonly versions: readonly Version[];
      /** Whether there may be more behind the last one. */
      readonly hasMore: boolean;
      readonly position: Position;
    }
  | NodeRefusal;

export interface NodeFeed {
  readonly partitionSet: string;
  /** What was read last; (0, 0) is the beginning. */
  readonly after: FeedPosition;
  readonly maxBytes: number;
  /** How long to wait when there is nothing new. */
  readonly waitMs: number;
}

export type NodeFeedAnswer =
  | { readonly outcome: 'done'; readonly entries: readonly Entry[]; readonly position: FeedPosition }
  | NodeRefusal;

export function encodeScan(scan: NodeScan): Payload {
  const { partitionSet, timeoutMs, from, to, after, limit, maxBytes, level, session } = scan;
  const behind = after === undefined ? null : [after.epk, after.id];
  const seen = session === undefined ? null : [session.epoch, session.lsn];
  const number = READ_LEVELS.indexOf(level);
  return packed([partitionSet, timeoutMs, from, to, behind, limit, maxBytes, number, seen]);
}

export function decodeScan(payload: Buffer): NodeScan {
  const [partitionSet, timeoutMs, from, to, behind, limit, maxBytes, level, seen] = unpacked(payload).header;
  const after = optional(behind, (value) => {
    const [epk, id] = listIn(value);
    return { epk: textIn(epk), id: textIn(id) };
  });
  const session = optional(seen, (value) => {
    const [epoch, lsn] = listIn(value);
    return positionIn(epoch, lsn);
  });
  return {
    partitionSet: textIn(partitionSet),
    timeoutMs: msIn(timeoutMs),
    from: textIn(from),
    to: textIn(to),
    ...(after && { after }),
    limit: countIn(limit),
    maxBytes: countIn(maxBytes),
    level: levelIn(level),
    ...(session && { session }),
  };
}

export function encodeScanAnswer(answer: NodeScanAnswer): Payload {
  if (answer.outcome === 'refused') return packed(refusalOut(answer));
  const { versions, hasMore, position } = answer;
  const shown = versions.filter(({ body }) => body !== undefined);
  return packed(
    ['done', position.epoch, position.lsn, hasMore, shown.map(versionOut)],
    shown.map(({ body }) => body!),
  );
}

export function decodeScanAnswer(payload: Buffer): NodeScanAnswer {
  const { header, bodies } = unpacked(payload);
  const [outcome, ...rest] = header;
  if (outcome === 'refused') return refusalIn(rest);
  if (outcome !== 'done') throw malformed();
  const [epoch, lsn, hasMore, list] = rest;
  const fields = listIn(list);
  if (fields.length !== bodies.length) throw malformed();
  const versions = bodies.map((body, at) => versionIn(listIn(fields[at]), body));
  return { outcome, versions, hasMore: hasMore === true, position: positionIn(epoch, lsn) };
}

export function encodeFeed({ partitionSet, after, maxBytes, waitMs }: NodeFeed): Payload {
  const { epoch, lsn, base = null } = after;
  return packed([partitionSet, epoch, lsn, base, maxBytes, waitMs]);
}

export function decodeFeed(payload: Buffer): NodeFeed {
  const [partitionSet, epoch, lsn, base, maxBytes, waitMs] = unpacked(payload).header;
  return {
    partitionSet: textIn(partitionSet),
    after: feedPositionIn(epoch, lsn, base),
    maxBytes: countIn(maxBytes),
    waitMs: msIn(waitMs),
  };
}

export function encodeFeedAnswer(answer: NodeFeedAnswer): Payload {
  if (answer.outcome === 'refused') return packed(refusalOut(answer));
  const { epoch, lsn, base = null } = answer.position;
  return packed(['done', epoch, lsn, base], answer.entries.map(encodeEntry));
}

export function decodeFeedAnswer(payload: Buffer): NodeFeedAnswer {
  const { header, bodies } = unpacked(payload);
  const [outcome, ...rest] = header;
  if (outcome === 'refused') return refusalIn(rest);
  if (outcome !== 'done') throw malformed();
  const [epoch, lsn, base] = rest;
  return { outcome, entries: bodies.map(entryIn), position: feedPositionIn(epoch, lsn, base) };
}

function feedPositionIn(epoch: unknown, lsn: unknown, base: unknown): FeedPosition {
  const begun = optional(base, countIn);
  return { ...positionIn(epoch, lsn), ...(begun !== undefined && { base: begun }) };
}

/** Throws MALFORMED. */
export function entryIn(bytes: Buffer): Entry {
  try {
    return decodeEntry(bytes);
  } catch {
    throw malformed();
  }
}
