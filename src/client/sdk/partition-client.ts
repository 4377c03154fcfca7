/**
 * A client for who speaks for others, such as a gateway: bytes in, bytes out. Partition keys, versions and places in the log go through
 * as they are, sessions are the caller's business, and what the writer judged and rejected is an answer with its statuses. It stands
 * on the same connections, map and plans as `BatonClient`.
 */
import type {
  DocumentKey,
  Entry,
  FeedPosition,
  Operation,
  OperationResult,
  PartitionKey,
  Position,
  ReadLevel,
  ShownVersion,
  Version,
} from '../../engine/index.ts';
import type { Door } from '../core/index.ts';
import type { NodeLook } from '../wire/look-wire.ts';
import { Connected } from './connecting.ts';
import type { Diagnostics } from './diagnostics.ts';
import { keyOf } from './documents.ts';
import { BatonError } from './errors.ts';
import type { Looked } from './looking.ts';
import type { ConnectOptions } from './options.ts';
import { feedRequest, readRequest, scanRequest, writeRequest } from './requests.ts';
import type { ContainerPlace, PlacedRange, Topology } from './topology.ts';

export interface PartitionCall {
  readonly container: string;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WriteCall extends PartitionCall {
  readonly partitionKey: PartitionKey;
  readonly operations: readonly Operation[];
  /** One is made up otherwise. */
  readonly operationId?: string | undefined;
  readonly door?: Door | undefined;
  /** The answer shows the items as the operations left them. */
  readonly returning?: boolean | undefined;
}

export interface ReadCall extends PartitionCall {
  readonly partitionKey: PartitionKey;
  readonly id: string;
  readonly level: ReadLevel;
  /** What the answer has to have seen. */
  readonly session?: Position | undefined;
  /** Asked first; the client's own otherwise. */
  readonly preferred?: string | undefined;
}

export interface ScanCall extends PartitionCall {
  readonly partitionSet: string;
  /** Effective partition keys: from this one on, up to but without the other. */
  readonly from: string;
  readonly to: string;
  readonly after?: DocumentKey | undefined;
  readonly limit: number;
  readonly maxBytes: number;
  readonly level: ReadLevel;
  readonly session?: Position | undefined;
  readonly preferred?: string | undefined;
}

export interface FeedCall extends PartitionCall {
  readonly partitionSet: string;
  readonly after: FeedPosition;
  readonly maxBytes: number;
  /** How long a node holds the request while there is nothing new. */
  readonly waitMs?: number | undefined;
}

interface Answered {
  readonly partitionSet: string;
  /** That answered. */
  readonly region: string;
  readonly diagnostics: Diagnostics;
}

export interface PartitionWritten extends Answered {
  /** One for each operation. */
  readonly results: readonly OperationResult[];
  readonly position: Position;
  /** If that was asked for, and the node knows how: one for each operation. Without a body: it is what the operation carried. */
  readonly shown: readonly ShownVersion[] | undefined;
}

export interface PartitionRead extends Answered {
  readonly version: Version | undefined;
  readonly position: Position;
}

export interface PartitionPage extends Answered {
  readonly versions: readonly Version[];
  readonly hasMore: boolean;
  readonly position: Position;
}

export interface PartitionFeed extends Answered {
  readonly entries: readonly Entry[];
  readonly position: FeedPosition;
}

export class PartitionClient {
  readonly #connected: Connected;
  readonly #preferred: string | undefined;

  private constructor(connected: Connected, preferred: string | undefined) {
    this.#connected = connected;
    this.#preferred = preferred;
  }

  /** Resolves when a node has given the map of the account. Rejects with a BatonError. */
  static async connect(options: ConnectOptions): Promise<PartitionClient> {
    return new PartitionClient(await Connected.to(options), options.preferredRegion);
  }

  get topology(): Topology {
    return this.#connected.executor.topology;
  }

  /** Operations under way now. */
  get inFlight(): number {
    return this.#connected.executor.inFlight;
  }

  /** Gets the map anew: one that is at least as new as this call, or has at least this version. Rejects with a BatonError. */
  async refreshMap(atLeastVersion?: number, timeoutMs?: number): Promise<void> {
    const { maps, executor, host } = this.#connected;
    if (executor.isClosed) throw new BatonError('CLIENT_CLOSED');
    const deadlineAt = executor.deadlineOf(timeoutMs);
    if (atLeastVersion === undefined) await maps.refresh(host.now(), deadlineAt);
    else await maps.refreshTo(atLeastVersion, deadlineAt);
  }

  /**
   * Resolves when the writer has judged the write, also when it rejected it: the statuses say so. A rejection beside which another
   * attempt is in doubt rejects with a BatonError, like everything else.
   */
  async write(call: WriteCall): Promise<PartitionWritten> {
    const { executor, host } = this.#connected;
    const { container, operations, door, returning, timeoutMs, signal } = call;
    const partitionKey = keyOf(call.partitionKey);
    const { answer, ...answered } = await executor.execute(
      writeRequest({
        name: 'write',
        container,
        keyAt: () => partitionKey,
        operations,
        operationId: call.operationId ?? host.randomId(),
        door,
        returning,
        takesRejection: true,
        timeoutMs,
        signal,
      }),
    );
    const { results, position } = answer;
    return { results, position, shown: answer.shown, ...shown(answered) };
  }

  async read(call: ReadCall): Promise<PartitionRead> {
    const { container, id, level, session, timeoutMs, signal } = call;
    const partitionKey = keyOf(call.partitionKey);
    const { answer, ...answered } = await this.#connected.executor.execute(
      readRequest({
        name: 'read',
        container,
        keyAt: () => partitionKey,
        id,
        level,
        seenIn: () => session,
        preferred: call.preferred ?? this.#preferred,
        timeoutMs,
        signal,
      }),
    );
    return { version: answer.version, position: answer.position, ...shown(answered) };
  }

  async scan(call: ScanCall): Promise<PartitionPage> {
    const { container, partitionSet, from, to, after, limit, maxBytes } = call;
    const { level, session, timeoutMs, signal } = call;
    const { answer, ...answered } = await this.#connected.executor.execute(
      scanRequest({
        name: 'scan',
        container,
        rangeAt: rangeOf(partitionSet),
        page: { from, to, after, limit, maxBytes },
        level,
        seenIn: () => session,
        preferred: call.preferred ?? this.#preferred,
        timeoutMs,
        signal,
      }),
    );
    const { versions, hasMore, position } = answer;
    return { versions, hasMore, position, ...shown(answered) };
  }

  async feed(call: FeedCall): Promise<PartitionFeed> {
    const { container, partitionSet, after, maxBytes, waitMs = 0, timeoutMs, signal } = call;
    const { answer, ...answered } = await this.#connected.executor.execute(
      feedRequest({
        name: 'feed',
        container,
        rangeAt: rangeOf(partitionSet),
        after,
        maxBytes,
        waitMs,
        preferred: this.#preferred,
        timeoutMs,
        signal,
      }),
    );
    return { entries: answer.entries, position: answer.position, ...shown(answered) };
  }

  /** Has every node look at the catalogue, until it knows this version of it. Who does not answer is left out. */
  look(call: NodeLook): Promise<readonly Looked[]> {
    return this.#connected.executor.look(call);
  }

  /** What is under way ends with CLIENT_CLOSED. Nothing is left: no connection, no timer. */
  close(): Promise<void> {
    return this.#connected.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function shown({ partitionSet, region, diagnostics }: Answered): Answered {
  return { partitionSet, region, diagnostics };
}

function rangeOf(partitionSet: string): (container: ContainerPlace) => PlacedRange {
  return ({ ranges, name }) => {
    const range = ranges.find((one) => one.partitionSet === partitionSet);
    if (range !== undefined) return range;
    const message = `Container "${name}" has no partition-set ${partitionSet}.`;
    throw new BatonError('PARTITION_SET_UNKNOWN', { message });
  };
}
