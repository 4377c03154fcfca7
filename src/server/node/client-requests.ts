/** What clients ask of a node: it finds the partition, lets it answer, and counts. */
import {
  type ClusterMap,
  decodeFeed,
  decodeLook,
  decodeRead,
  decodeScan,
  decodeWrite,
  encodeFeedAnswer,
  encodeLookAnswer,
  encodeMap,
  encodeReadAnswer,
  encodeScanAnswer,
  encodeWriteAnswer,
  METHODS,
  type NodeFeedAnswer,
  type NodeLook,
  type NodeReadAnswer,
  type NodeRefusal,
  type NodeRefusalCode,
  type NodeScan,
  type NodeScanAnswer,
  type NodeWriteAnswer,
} from '../../client/index.ts';
import {
  type EnginePartition,
  epkOf,
  type EpkRange,
  expiresAt,
  type PartitionKey,
  type RegionName,
  type Position,
  rangeContains,
  type Refused,
  type Version,
} from '../../engine/index.ts';
import type { FailoverState } from '../../failover/index.ts';
import type { Host } from '../../protocol/index.ts';
import { type Payload, type RequestContext, RpcError } from '../../transport/index.ts';

/** A copy that this node has. */
export interface HostedPartition {
  readonly partition: EnginePartition;
  /** Of effective partition keys; without one it holds them all. */
  readonly range: EpkRange | undefined;
}

/** How a request ended: `done`, `unknown`, or the code of a refusal. */
export type RequestEnd = 'done' | 'unknown' | (string & {});

export interface ClientRequestsOptions {
  readonly region: RegionName;
  readonly host: Host;
  readonly find: (partitionSet: string) => HostedPartition | undefined;
  readonly stateOf: (partitionSet: string) => FailoverState | undefined;
  /** Whether the partition-set can be written here at this moment. */
  readonly mayWrite: (partitionSet: string) => boolean;
  /** Without one the node has no map; undefined: it does not know it yet. */
  readonly map: (() => ClusterMap | undefined) | undefined;
  readonly look: ((look: NodeLook) => Promise<number>) | undefined;
  readonly onEnd: (kind: 'write' | 'read' | 'scan' | 'feed', end: RequestEnd, ms: number) => void;
  /** Whoever waits for news is answered then. */
  readonly stopping: AbortSignal;
}

const LONGEST_MS = 60_000;
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_PAGE_DOCUMENTS = 1000;
/** Documents of unknown size that are fetched at once. */
const PIECE = 32;
const FEED_LOOK_MS = 25;
const MAP_SOON_MS = 100;

export class ClientRequests {
  readonly #options: ClientRequestsOptions;

  constructor(options: ClientRequestsOptions) {
    this.#options = options;
  }

  /** Rejects with an RpcError whose outcome is `rejected` when the request makes no sense. */
  async answer(method: number, payload: Buffer, context: RequestContext): Promise<Payload> {
    switch (method) {
      case METHODS.write:
        return encodeWriteAnswer(await this.#counted('write', () => this.#write(payload)));
      case METHODS.read:
        return encodeReadAnswer(await this.#counted('read', () => this.#read(payload)));
      case METHODS.scan:
        return encodeScanAnswer(await this.#counted('scan', () => this.#scan(payload)));
      case METHODS.feed:
        return encodeFeedAnswer(await this.#counted('feed', () => this.#feed(payload, context.signal)));
      case METHODS.map:
        return this.#map();
      case METHODS.look:
        return this.#look(payload);
      default:
        throw new RpcError('METHOD_UNKNOWN', `There is no method ${method}.`);
    }
  }

  async #counted<A extends { readonly outcome: string }>(
    kind: 'write' | 'read' | 'scan' | 'feed',
    ask: () => Promise<A | NodeRefusal>,
  ): Promise<A | NodeRefusal> {
    const { host, onEnd } = this.#options;
    const startedAt = host.now();
    const answer = await ask();
    const end = 'code' in answer ? answer.code : answer.outcome;
    onEnd(kind, end, host.now() - startedAt);
    return answer;
  }

  async #write(payload: Buffer): Promise<NodeWriteAnswer> {
    const { partitionSet, timeoutMs, request } = decodeWrite(payload);
    const found = this.#find(partitionSet, request.partitionKey);
    if ('outcome' in found) return found;
    return this.#withHint(partitionSet, await found.partition.write(request, bounded(timeoutMs)));
  }

  async #read(payload: Buffer): Promise<NodeReadAnswer> {
    const { partitionSet, timeoutMs, partitionKey, id, level, session } = decodeRead(payload);
    const found = this.#find(partitionSet, partitionKey);
    if ('outcome' in found) return found;
    const key = { epk: epkOf(partitionKey), id };
    const answer = await found.partition.read(
      { key, level, ...(session && { session }) },
      bounded(timeoutMs),
    );
    if (answer.outcome !== 'done' || this.#isShown(answer.version)) return answer;
    return { ...answer, version: undefined };
  }

  async #scan(payload: Buffer): Promise<NodeScanAnswer> {
    const scan = decodeScan(payload);
    const found = this.#find(scan.partitionSet);
    if ('outcome' in found) return found;
    return pageOf(found.partition, scan, (version) => this.#isShown(version));
  }

  async #feed(payload: Buffer, cancelled: AbortSignal): Promise<NodeFeedAnswer> {
    const { partitionSet, after, maxBytes, waitMs } = decodeFeed(payload);
    const { host, stopping } = this.#options;
    const until = host.now() + bounded(waitMs);
    for (;;) {
      const found = this.#find(partitionSet);
      if ('outcome' in found) return found;
      const answer = found.partition.feed({ after, maxBytes: Math.min(maxBytes, MAX_PAGE_BYTES) });
      const isNews = answer.outcome !== 'done' || answer.entries.length > 0;
      if (isNews || host.now() >= until || cancelled.aborted || stopping.aborted) return answer;
      await new Promise<void>((resolve) => {
        host.after(FEED_LOOK_MS, resolve);
      });
    }
  }

  #map(): Payload {
    const { map } = this.#options;
    if (map === undefined) throw new RpcError('METHOD_UNKNOWN', 'This node has no map of its cluster.');
    const known = map();
    if (known !== undefined) return encodeMap(known);
    const retryAfterMs = MAP_SOON_MS;
    throw new RpcError('NOT_READY', 'This node has not read the catalogue yet.', { retryAfterMs });
  }

  async #look(payload: Buffer): Promise<Payload> {
    const { look, mayWrite } = this.#options;
    const asked = decodeLook(payload);
    if (look === undefined && asked.version > 0)
      throw new RpcError('METHOD_UNKNOWN', 'This node follows no catalogue.');
    const version = (await look?.({ ...asked, timeoutMs: bounded(asked.timeoutMs) })) ?? 0;
    const canWrite = asked.partitionSets
      .filter(mayWrite)
      .map((partitionSet) => ({ partitionSet, gcn: this.#options.stateOf(partitionSet)?.gcn ?? 0 }));
    return encodeLookAnswer({ version, canWrite });
  }

  #find(partitionSet: string, key?: PartitionKey): HostedPartition | NodeRefusal {
    const found = this.#options.find(partitionSet);
    if (found === undefined) return refused('UNKNOWN_PARTITION_SET');
    if (found.partition.core === undefined) return refused('NOT_READY');
    const isHere = key === undefined || found.range === undefined || rangeContains(found.range, epkOf(key));
    return isHere ? found : refused('WRONG_PARTITION_SET');
  }

  /** What has outlived its time to live is not shown, though it may not be deleted yet. */
  #isShown(version: Version | undefined): boolean {
    return version === undefined || this.#options.host.wallClock() < expiresAt(version);
  }

  /** Who asked the wrong region hears which one it should be. */
  #withHint<A extends { readonly outcome: string }>(
    partitionSet: string,
    answer: A | Refused,
  ): A | NodeRefusal {
    if (!('code' in answer) || answer.code !== 'NOT_WRITER') return answer;
    const state = this.#options.stateOf(partitionSet);
    // While writes are on their way to this region, the one that still has them takes none: nobody is named.
    const isComing = state?.quiesce === true && state.target === this.#options.region;
    if (state === undefined || state.writer === null || isComing) return answer;
    return { ...answer, writer: { region: state.writer, gcn: state.gcn } };
  }
}

function refused(code: NodeRefusalCode): NodeRefusal {
  return { outcome: 'refused', code };
}

function bounded(ms: number): number {
  return Math.min(ms, LONGEST_MS);
}

/**
 * A page, fetched in pieces: so that one of large documents is cut off before all of them are in memory. Who asks goes on behind the
 * last document, so a page that says there is more has one.
 */
async function pageOf(
  partition: EnginePartition,
  scan: NodeScan,
  isShown: (version: Version) => boolean,
): Promise<NodeScanAnswer> {
  const { from, to, level, session } = scan;
  const limit = Math.max(1, Math.min(scan.limit, MAX_PAGE_DOCUMENTS));
  const maxBytes = Math.min(scan.maxBytes, MAX_PAGE_BYTES);
  const versions: Version[] = [];
  let { after } = scan;
  let bytes = 0;
  let position: Position | undefined;
  for (;;) {
    const piece = Math.min(limit - versions.length, PIECE);
    const options = { from, to, limit: piece, ...(after && { after }) };
    const answer = await partition.scan(
      options,
      { level, ...(session && { session }) },
      bounded(scan.timeoutMs),
    );
    if (answer.outcome === 'refused') {
      // What was found so far is good; why there is no more now, the next page is told.
      return versions.length === 0 || position === undefined
        ? answer
        : { outcome: 'done', versions, hasMore: true, position };
    }
    ({ position } = answer);
    for (const [at, version] of answer.versions.entries()) {
      if (!isShown(version)) continue;
      bytes += version.body?.length ?? 0;
      if (bytes > maxBytes && versions.length > 0)
        return { outcome: 'done', versions, hasMore: true, position };
      versions.push(version);
      if (bytes > maxBytes) return { outcome: 'done', versions, hasMore: at + 1 < piece, position };
    }
    const hasMore = answer.versions.length === piece;
    if (!hasMore || versions.length >= limit) return { outcome: 'done', versions, hasMore, position };
    const last = answer.versions.at(-1)!;
    after = { epk: last.epk, id: last.id };
  }
}
