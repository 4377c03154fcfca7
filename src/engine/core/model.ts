/**
 * The words of the engine. A partition-set is a log; a write is one entry of it, (epoch, LSN), with the changes that it
 * made to documents; a batch is one entry with several. The version of a document is the entry that wrote it, so there is one
 * version of a document in an entry, and its etag is the entry's name.
 *
 * Bodies are JSON text in UTF-8, as the client sent it, without system properties: those follow from the entry and are put
 * in when somebody reads. Nothing here knows how entries are encoded or where they are kept.
 */

/**
 * The epoch of an entry. Its high-order part is the partition-set's GCN; its low-order part is the number of the primary
 * that wrote it, which changes when a region replaces its own primary. With one replica in a region every process is a new
 * primary: what its predecessor had sent out and not yet on disk must not be taken for its own. One number, so that epochs
 * compare as numbers.
 */
export type Epoch = number;

const PRIMARIES = 2 ** 20;

export function epochOf(gcn: number, primary = 0): Epoch {
  return gcn * PRIMARIES + (primary % PRIMARIES);
}

export function gcnOf(epoch: Epoch): number {
  return Math.floor(epoch / PRIMARIES);
}

export function primaryOf(epoch: Epoch): number {
  return epoch % PRIMARIES;
}

/** Where a log ends, or a place in it. Compared in this order; (0, 0) is before the first entry. */
export interface Position {
  readonly epoch: Epoch;
  readonly lsn: number;
}

export const BEGINNING: Position = { epoch: 0, lsn: 0 };

export function comparePositions(a: Position, b: Position): number {
  return a.epoch - b.epoch || a.lsn - b.lsn;
}

/** JSON text in UTF-8. */
export type JsonBytes = Uint8Array;

/** What a document is found by: the effective partition key (32 upper-case hexadecimal digits for each of its parts), and its id. */
export interface DocumentKey {
  readonly epk: string;
  readonly id: string;
}

/** For maps. In one container the key's first part has a fixed length, so this is unambiguous. */
export function keyText({ epk, id }: DocumentKey): string {
  return epk + id;
}

/** What an entry did to one document. */
export interface Change extends DocumentKey {
  /** The partition key's values as JSON text: `["a"]`. */
  readonly partitionKey: string;
  /** Absent: the document is gone. */
  readonly body?: JsonBytes;
  /** LSN of the entry that created the document: what its `_rid` is made of. */
  readonly createdLsn: number;
  /** Seconds to live from the entry's time; absent: for ever. */
  readonly ttl?: number;
  /** LSN of the entry that wrote the version before, a deletion too; 0, or an entry that was trimmed since: there was none. */
  readonly previous: number;
}

/** Answered to the client of a write: one of these for each operation of a batch. */
export interface OperationResult {
  /** As in the HTTP API: 200, 201, 204, 304, 400, 404, 409, 412, 413, 424. */
  readonly status: number;
  /** On an error: what is wrong, in one sentence. */
  readonly message?: string;
}

export interface Entry extends Position {
  /** Milliseconds since 1970 on the writer's wall clock: for people, `_ts` and time to live. */
  readonly at: number;
  /** The client's name for this write: whoever sends it again gets the first answer. */
  readonly operation?: string;
  /** The answers that were given, one for each operation: what a repeated write is told. */
  readonly statuses: readonly number[];
  readonly changes: readonly Change[];
  /** The entry's bytes, once somebody has made them: the same on every disk and on every wire. */
  encoded?: Uint8Array;
}

/** About how many bytes an entry is: for windows and limits. */
export function sizeOf({ changes, encoded }: Entry): number {
  if (encoded !== undefined) return encoded.length;
  return changes.reduce((sum, { id, body }) => sum + id.length + (body?.length ?? 0) + 100, 100);
}

/** A version of a document, as it lies in the log. */
export interface Version extends Change {
  readonly epoch: Epoch;
  readonly lsn: number;
  readonly at: number;
}

/** What a write has to know of a document's newest version, so that it need not read the body that it replaces. */
export interface Glance {
  readonly lsn: number;
  readonly partitionKey: string;
  /** Of the entry itself too: never 0. */
  readonly createdLsn: number;
  readonly isDeleted: boolean;
  /** Milliseconds since 1970; Infinity: never. */
  readonly expiresAt: number;
}

/** The etag of a version: the name of the entry that wrote it, with the quotation marks that belong to it. */
export function etagOf({ epoch, lsn }: Position): string {
  return `"${epoch.toString(16)}-${lsn.toString(16)}"`;
}

/** Whole seconds since 1970, as in `_ts`. */
export function timestampOf({ at }: { readonly at: number }): number {
  return Math.floor(at / 1000);
}

/** From when on the version counts as deleted, in milliseconds since 1970. */
export function expiresAt({ at, ttl }: Pick<Version, 'at' | 'ttl'>): number {
  return ttl === undefined ? Infinity : at + ttl * 1000;
}
