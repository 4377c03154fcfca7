/** The four things that a client asks of a partition-set, as requests that the `Executor` runs. All kinds of clients make theirs here. */
import {
  type DocumentKey,
  type FeedPosition,
  formatPartitionKey,
  type Operation,
  type PartitionKey,
  type Position,
  type ReadLevel,
} from '../../engine/index.ts';
import type { Door } from '../core/index.ts';
import {
  decodeReadAnswer,
  decodeWriteAnswer,
  encodeRead,
  encodeWrite,
  METHODS,
  type NodeReadAnswer,
  type NodeWriteAnswer,
} from '../wire/client-wire.ts';
import {
  decodeFeedAnswer,
  decodeScanAnswer,
  encodeFeed,
  encodeScan,
  type NodeFeedAnswer,
  type NodeScanAnswer,
} from '../wire/scan-wire.ts';
import { rangeOfKey } from './documents.ts';
import type { Request } from './executor.ts';
import type { HedgeOptions } from './options.ts';
import type { Session } from './session.ts';
import type { ContainerPlace, PlacedRange } from './topology.ts';

export interface Asked {
  /** For diagnostics. */
  readonly name: string;
  readonly container: string;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told how far the answer got. */
  readonly session?: Session | undefined;
}

/** The key may depend on the container, and that is looked at anew when the map has changed. */
type KeyAt = (container: ContainerPlace) => PartitionKey;
/** What the answer has to have seen. */
type SeenIn = (partitionSet: string) => Position | undefined;

export interface AskedWrite extends Asked {
  readonly keyAt: KeyAt;
  readonly operations: readonly Operation[];
  readonly operationId: string;
  readonly door?: Door | undefined;
  readonly returning?: boolean | undefined;
  readonly takesRejection?: boolean;
}

/** With an operation id, so that it can be sent again when its answer is lost and is carried out once all the same. */
export function writeRequest(asked: AskedWrite): Request<NodeWriteAnswer> {
  const { keyAt, operations, operationId, returning = false, ...rest } = asked;
  let partitionKey: PartitionKey = [];
  return {
    ...rest,
    kind: 'write',
    route: (container) => {
      partitionKey = keyAt(container);
      return rangeOfKey(partitionKey, container);
    },
    method: METHODS.write,
    encode: (partitionSet, timeoutMs) =>
      encodeWrite({
        partitionSet,
        timeoutMs,
        request: { partitionKey, operations, operation: operationId, ...(returning && { returning }) },
      }),
    decode: decodeWriteAnswer,
    repeatable: 'by operation id',
    operationId,
  };
}

interface AskedRead extends Asked {
  readonly level: ReadLevel;
  readonly seenIn: SeenIn;
  readonly hedge?: HedgeOptions | undefined;
  readonly preferred?: string | undefined;
}

export function readRequest(
  asked: AskedRead & { readonly keyAt: KeyAt; readonly id: string },
): Request<NodeReadAnswer> {
  const { keyAt, id, seenIn, ...rest } = asked;
  const { level } = rest;
  let partitionKey: PartitionKey = [];
  return {
    ...rest,
    kind: 'read',
    route: (container) => {
      partitionKey = keyAt(container);
      return rangeOfKey(partitionKey, container);
    },
    method: METHODS.read,
    encode: (partitionSet, timeoutMs) => {
      const session = seenIn(partitionSet);
      const read = { partitionSet, timeoutMs, partitionKey, id, level };
      return encodeRead(session === undefined ? read : { ...read, session });
    },
    decode: (payload) => ofKey(decodeReadAnswer(payload), partitionKey),
  };
}

/** Two keys may have the same hash; then only one of them has an item of this id. */
function ofKey(answer: NodeReadAnswer, key: PartitionKey): NodeReadAnswer {
  if (answer.outcome !== 'done' || answer.version === undefined) return answer;
  const isIt = answer.version.partitionKey === formatPartitionKey(key);
  return isIt ? answer : { ...answer, version: undefined };
}

type RangeAt = (container: ContainerPlace) => PlacedRange;

export interface AskedPage {
  /** Effective partition keys: from this one on, up to but without the other. */
  readonly from: string;
  readonly to: string;
  /** Goes on behind this document. */
  readonly after?: DocumentKey | undefined;
  readonly limit: number;
  readonly maxBytes: number;
}

export function scanRequest(
  asked: AskedRead & { readonly rangeAt: RangeAt; readonly page: AskedPage },
): Request<NodeScanAnswer> {
  const { rangeAt, page, seenIn, ...rest } = asked;
  const { level } = rest;
  const { after, ...bounds } = page;
  return {
    ...rest,
    kind: 'read',
    route: rangeAt,
    method: METHODS.scan,
    encode: (partitionSet, timeoutMs) => {
      const session = seenIn(partitionSet);
      return encodeScan({
        partitionSet,
        timeoutMs,
        ...bounds,
        level,
        ...(after !== undefined && { after }),
        ...(session !== undefined && { session }),
      });
    },
    decode: decodeScanAnswer,
  };
}

/** Nodes hold it for `waitMs` while there is nothing new. */
export function feedRequest(
  asked: Asked & {
    readonly rangeAt: RangeAt;
    readonly after: FeedPosition;
    readonly maxBytes: number;
    readonly waitMs: number;
    readonly preferred?: string | undefined;
  },
): Request<NodeFeedAnswer> {
  const { rangeAt, after, maxBytes, waitMs, ...rest } = asked;
  return {
    ...rest,
    kind: 'read',
    route: rangeAt,
    method: METHODS.feed,
    encode: (partitionSet) => encodeFeed({ partitionSet, after, maxBytes, waitMs }),
    decode: decodeFeedAnswer,
    heldMs: waitMs,
  };
}
