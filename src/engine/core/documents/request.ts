/** What a client asks of documents. One request is one entry of the log or none; a batch is one request. */
import type { JsonBytes } from '../model.ts';

/** One part of a partition key: what `epk` hashes. `undefined`: the document has no such property. */
export type PartitionKeyPart = string | number | boolean | null | undefined;
export type PartitionKey = readonly PartitionKeyPart[];

export interface Conditions {
  /** An etag, or `*`: any version. */
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
}

export interface PatchStep {
  readonly op: 'add' | 'set' | 'replace' | 'remove' | 'incr' | 'move';
  /** JSON pointers. */
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export type Operation =
  | ({ readonly op: 'create' | 'upsert'; readonly body: JsonBytes } & Conditions)
  | ({ readonly op: 'replace'; readonly id: string; readonly body: JsonBytes } & Conditions)
  | ({
      readonly op: 'patch';
      readonly id: string;
      readonly steps: readonly PatchStep[];
      /** `FROM c WHERE ...`: only if that holds for the item (see `condition.ts`). */
      readonly filter?: string;
    } & Conditions)
  | ({ readonly op: 'delete'; readonly id: string } & Conditions)
  /** Inside a batch; on its own a read is not a write. */
  | ({ readonly op: 'read'; readonly id: string } & Conditions);

export interface WriteRequest {
  readonly partitionKey: PartitionKey;
  /** One, or the operations of a transactional batch: all of them or none. */
  readonly operations: readonly Operation[];
  /** The client's name for this write, unique for ever: up to 64 printable ASCII characters. */
  readonly operation?: string;
  /** The answer shows the items as the operations left them. */
  readonly returning?: boolean;
}

/** Of the container that a partition-set belongs to. */
export interface ContainerSettings {
  /** One, or up to three for a hierarchical key: `/a/b`; a name that holds a slash stands in quotation marks, `/"a/b"`. */
  readonly partitionKeyPaths: readonly string[];
  /** Seconds; -1: documents live for ever unless they say otherwise; absent: time to live is off. */
  readonly defaultTtl?: number;
}

export interface Limits {
  readonly documentBytes: number;
  readonly idBytes: number;
  readonly partitionKeyBytes: number;
  readonly batchOperations: number;
  readonly batchBytes: number;
  /** Of the items that the operations of a request take apart, make and show, in all: what it brings says nothing of that. */
  readonly workBytes: number;
  readonly patchSteps: number;
  /** Levels of objects and arrays in an item. */
  readonly nesting: number;
}

export const LIMITS: Limits = {
  documentBytes: 2 * 1024 * 1024,
  idBytes: 1023,
  partitionKeyBytes: 2048,
  batchOperations: 100,
  batchBytes: 2 * 1024 * 1024,
  workBytes: 12 * 1024 * 1024,
  patchSteps: 10,
  nesting: 128,
};

/** JSON in and out of bytes: the host's, because a core cannot see how text is encoded. `parse` throws on bad text. */
export interface JsonCodec {
  parse(bytes: JsonBytes): unknown;
  format(value: unknown): JsonBytes;
  utf8(text: string): Uint8Array;
}
