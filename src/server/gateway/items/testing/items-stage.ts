/**
 * Handlers of items on top of real partitions: engines in memory behind what a node does with clients' requests, without
 * connections. What a client would make of a refusal is made here in the simplest way.
 */
import { NODE_HOST } from '../../../../caspaxos/index.ts';
import {
  BatonError,
  type BatonErrorCode,
  decodeFeedAnswer,
  decodeReadAnswer,
  decodeScanAnswer,
  decodeWriteAnswer,
  encodeFeed,
  encodeRead,
  encodeScan,
  encodeWrite,
  METHODS,
  type NodeRefusal,
} from '../../../../client/index.ts';
import {
  Engine,
  type EnginePartition,
  epkOf,
  LIMITS,
  MemoryNodeStore,
  nodeJson,
  type PartitionKey,
  rangeContains,
  type ReadLevel,
} from '../../../../engine/index.ts';
import type { Host } from '../../../../protocol/index.ts';
import { addContainer, addDatabase, type Catalog, firstCatalog, placesOf } from '../../../catalog/index.ts';
import { ClientRequests } from '../../../node/client-requests.ts';
import type { GatewayAnswer, GatewayContext, GatewayRequest, Partitions } from '../../context.ts';
import { GatewayError } from '../../errors.ts';
import { resourceOf } from '../../resources.ts';
import { handleItems } from '../index.ts';

export interface StageOptions {
  readonly partitionSets?: number;
  readonly level?: ReadLevel;
  readonly defaultTtl?: number;
  readonly door?: GatewayContext['door'];
  readonly throttle?: GatewayContext['throttle'];
}

/** An answer as a client sees it. */
export interface Seen {
  readonly status: number;
  readonly substatus: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly charge: number | undefined;
  readonly text: string;
  /** Parsed, if there is one. */
  readonly body: unknown;
}

export interface Asked {
  readonly key?: PartitionKey | string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isReadOnlyKey?: boolean;
  readonly container?: string;
}

type Method = 'write' | 'read' | 'scan' | 'feed';

export const REGION = 'west';

export class ItemsStage {
  /** May be changed: it is what the handlers read. */
  catalog: Catalog;
  /** The wall clock goes ahead by this. */
  aheadMs = 0;
  /** Called before each request to the partitions; what it throws is thrown. */
  before: ((method: Method, partitionSet: string) => void | Promise<void>) | undefined;
  readonly asked: { readonly method: Method; readonly partitionSet: string }[] = [];
  readonly context: GatewayContext;
  readonly #engine: Engine;
  readonly #partitions = new Map<string, EnginePartition>();
  readonly #requests: ClientRequests;
  readonly #options: StageOptions;
  readonly #host: Host = { ...NODE_HOST, wallClock: () => NODE_HOST.wallClock() + this.aheadMs };

  private constructor(options: StageOptions) {
    this.#options = options;
    this.catalog = catalogOf(options);
    const store = new MemoryNodeStore({ host: this.#host, syncMs: () => 0 });
    this.#engine = new Engine({
      region: REGION,
      host: this.#host,
      disk: {
        partition: (partitionSet) => store.partition(partitionSet),
        drop: (partitionSet) => store.drop(partitionSet),
        probe: (done) => store.partition(placesOf(this.catalog, 1)[0]!.name).sync(done),
      },
      others: [],
      links: { send: () => {}, canSend: () => false },
    });
    this.#requests = new ClientRequests({
      region: REGION,
      host: this.#host,
      find: (name) => {
        const partition = this.#partitions.get(name);
        return partition && { partition, range: undefined };
      },
      stateOf: () => undefined,
      mayWrite: () => true,
      map: undefined,
      look: undefined,
      onEnd: () => {},
      stopping: new AbortController().signal,
    });
    this.context = this.#contextOf();
  }

  static async open(options: StageOptions = {}): Promise<ItemsStage> {
    const stage = new ItemsStage(options);
    for (const { name, partitionKey } of placesOf(stage.catalog, 1))
      await stage.#openPartition(name, partitionKey);
    return stage;
  }

  close(): void {
    this.#engine.close();
  }

  partition(partitionSet: string): EnginePartition {
    return this.#partitions.get(partitionSet)!;
  }

  /** All copies that there are go on as those of the next writer. */
  async failOver(partitionSet: string, epoch: number): Promise<void> {
    await this.partition(partitionSet).assume({ role: 'fenced', epoch });
    const { level = 'Strong' } = this.#options;
    await this.partition(partitionSet).assume({
      role: 'writer',
      serves: { level },
      keeps: { level },
      epoch,
      accepts: true,
      commitSet: [REGION],
    });
  }

  /** A request for the container `items` of the database `main`, or another one: `docs`, `docs/ID`. */
  async ask(method: string, path: string, asked: Asked = {}): Promise<Seen> {
    const { key, body, headers = {}, isReadOnlyKey = false, container = 'items' } = asked;
    const text = body instanceof Uint8Array ? body : body === undefined ? '' : JSON.stringify(body);
    const request: GatewayRequest = {
      method,
      resource: resourceOf(`/dbs/main/colls/${container}/${path}`),
      headers: { ...headers, ...(key !== undefined && { 'x-ms-documentdb-partitionkey': keyText(key) }) },
      body: Buffer.from(text as string),
      signal: new AbortController().signal,
      isReadOnlyKey,
      activityId: 'activity',
      timeoutMs: 5000,
    };
    try {
      return await seen(await handleItems(request, this.context));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      const { status, substatus, message, headers: given } = error;
      return { status, substatus, headers: given, charge: 0, text: message, body: { message } };
    }
  }

  async #openPartition(partitionSet: string, partitionKeyPaths: readonly string[]): Promise<void> {
    const { level = 'Strong', defaultTtl } = this.#options;
    const partition = this.#engine.open({
      partitionSet,
      region: REGION,
      regions: [REGION],
      consistency: { level },
      settings: { partitionKeyPaths, ...(defaultTtl !== undefined && { defaultTtl }) },
      limits: LIMITS,
      json: nodeJson,
      maxWaiting: 1000,
    });
    this.#partitions.set(partitionSet, partition);
    await partition.incarnation();
    partition.attach({ mayWrite: () => true, grant: () => 0, changed: () => {} });
    await partition.assume({
      role: 'writer',
      serves: { level },
      keeps: { level },
      epoch: 1,
      accepts: true,
      commitSet: [REGION],
    });
  }

  #contextOf(): GatewayContext {
    const { level = 'Strong', door, throttle = { charge: () => undefined } } = this.#options;
    const read = async (): Promise<Catalog> => this.catalog;
    return {
      door,
      account: { name: 'demo', consistency: () => level },
      catalog: { read, known: read, change: () => Promise.reject(new Error('not here')) },
      partitions: this.#asPartitions(),
      host: this.#host,
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      locations: () => [],
      self: () => 'http://127.0.0.1:1/',
      throttle,
    };
  }

  #asPartitions(): Partitions {
    return {
      write: async (call) => {
        const { partitionKey, operations, returning = false } = call;
        const operation = call.operationId ?? this.#host.randomId();
        const partitionSet = this.#placeOf(call.container, partitionKey);
        const request = { partitionKey, operations, operation, ...(returning && { returning }) };
        const payload = encodeWrite({ partitionSet, timeoutMs: 5000, request });
        const answer = good(decodeWriteAnswer(await this.#send('write', partitionSet, payload)));
        return { ...answer, shown: answer.shown, ...ANSWERED, partitionSet };
      },
      read: async (call) => {
        const { partitionKey, id, level, session } = call;
        const partitionSet = this.#placeOf(call.container, partitionKey);
        const read = { partitionSet, timeoutMs: 500, partitionKey, id, level, ...(session && { session }) };
        const answer = good(decodeReadAnswer(await this.#send('read', partitionSet, encodeRead(read))));
        return { ...answer, ...ANSWERED, partitionSet };
      },
      scan: async (call) => {
        const { partitionSet, from, to, after, limit, maxBytes, level, session } = call;
        const more = { ...(after && { after }), ...(session && { session }) };
        const scan = { partitionSet, timeoutMs: 500, from, to, limit, maxBytes, level, ...more };
        const answer = good(decodeScanAnswer(await this.#send('scan', partitionSet, encodeScan(scan))));
        return { ...answer, ...ANSWERED, partitionSet };
      },
      feed: async (call) => {
        const { partitionSet, after, maxBytes, waitMs = 0 } = call;
        const payload = encodeFeed({ partitionSet, after, maxBytes, waitMs });
        const answer = good(decodeFeedAnswer(await this.#send('feed', partitionSet, payload)));
        return { ...answer, ...ANSWERED, partitionSet };
      },
      refreshMap: async () => {},
      look: async () => [],
      get topology(): never {
        throw new Error('not here');
      },
    };
  }

  #placeOf(container: string, key: PartitionKey): string {
    const epk = epkOf(key);
    const place = placesOf(this.catalog, 1).find(
      (one) => one.container === container && rangeContains({ min: one.from, max: one.to }, epk),
    );
    if (place === undefined) throw new BatonError('CONTAINER_UNKNOWN');
    return place.name;
  }

  async #send(
    method: Method,
    partitionSet: string,
    payload: Uint8Array | readonly Uint8Array[],
  ): Promise<Buffer> {
    this.asked.push({ method, partitionSet });
    await this.before?.(method, partitionSet);
    const context = { deadline: Infinity, signal: new AbortController().signal };
    return gathered(await this.#requests.answer(METHODS[method], gathered(payload), context));
  }
}

const ANSWERED = {
  region: REGION,
  diagnostics: { operation: 'test', durationMs: 0, attempts: [] },
} as const;

function catalogOf({ partitionSets = 2 }: StageOptions): Catalog {
  const first = firstCatalog([{ name: 'items', partitionKey: ['/pk'], partitionSets }], 1_700_000_000_000);
  const added = addDatabase(first, { id: 'other', at: 0 });
  if (!('catalog' in added)) throw new Error(added.refusal.message);
  const more = addContainer(added.catalog, 'main', {
    id: 'by id',
    partitionKey: ['/id'],
    partitionSets: 1,
    at: 0,
  });
  if (!('catalog' in more)) throw new Error(more.refusal.message);
  return more.catalog;
}

const CODES: Readonly<Record<string, BatonErrorCode>> = {
  NOT_WRITER: 'NOT_WRITER_HERE',
  UNKNOWN_PARTITION_SET: 'PARTITION_SET_UNKNOWN',
  SESSION_UNDONE: 'SESSION_UNDONE',
  FEED_UNDONE: 'FEED_UNDONE',
  FEED_TRIMMED: 'FEED_TRIMMED',
};

function good<A extends { readonly outcome: string }>(
  answer: A | NodeRefusal | { readonly outcome: 'unknown' },
): Extract<A, { readonly outcome: 'done' }> {
  if (answer.outcome === 'done') return answer as Extract<A, { readonly outcome: 'done' }>;
  if (answer.outcome === 'unknown') throw new BatonError('DEADLINE', { outcome: 'unknown' });
  throw new BatonError(CODES[(answer as NodeRefusal).code] ?? 'DEADLINE');
}

function gathered(payload: Uint8Array | readonly Uint8Array[]): Buffer {
  return Buffer.concat(payload instanceof Uint8Array ? [payload] : payload);
}

function keyText(key: PartitionKey | string): string {
  return typeof key === 'string' ? key : JSON.stringify(key.map((part) => (part === undefined ? {} : part)));
}

async function seen({ status, substatus, headers = {}, charge, body }: GatewayAnswer): Promise<Seen> {
  const text = await textOf(body);
  const parsed: unknown = text === '' ? undefined : JSON.parse(text);
  return { status, substatus, headers, charge, text, body: parsed };
}

async function textOf(body: GatewayAnswer['body']): Promise<string> {
  if (body === undefined) return '';
  if (body instanceof Uint8Array) return Buffer.from(body).toString();
  if (!(Symbol.asyncIterator in body)) return JSON.stringify(body);
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
