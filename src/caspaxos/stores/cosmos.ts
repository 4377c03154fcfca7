/**
 * Acceptors in a container of Azure Cosmos DB, as in the paper (4.3.1): accounts of one region each, independent of each
 * other. One item for each document, in one of a few logical partitions, read and written one by one, many at a time.
 *
 * An item is replaced by a patch on the condition that it still has the version that was read; versions are drawn here and
 * stored with it. The store's own `_etag` would do with Azure, but not with every server that speaks this API: where it is
 * counted, a server that was put back from an old copy gives the same ones again, for other contents.
 */
import type { Container, CosmosClient, CosmosClientOptions, ItemResponse } from '@azure/cosmos';
import { createHash } from 'node:crypto';
import { CasPaxosError } from '../errors.ts';
import { defaultAzureCredential } from './azure-identity.ts';
import { Connecting } from './connecting.ts';
import {
  concernsOneWrite,
  cosmosFailure,
  type CosmosPlace,
  NO_SUCH_PLACE,
  STATUS,
  statusOf,
} from './cosmos-errors.ts';
import { CosmosHttp } from './cosmos-http.ts';
import { demandAccount, demandContainer, makeContainer } from './cosmos-place.ts';
import { inParallel } from './in-parallel.ts';
import { KeyListing } from './listing.ts';
import { nameOf } from './names.ts';
import { loadPeer } from './peer.ts';
import { shardOf, shardsOf } from './shards.ts';
import type { AcceptorStore, ConditionalWrite, StoredDocument, StoreOptions, WriteResult } from './store.ts';
import { StoreCalls } from './store-calls.ts';
import { StoreUrl, type StoreUrlForm } from './store-url.ts';
import { drawVersion } from './versions.ts';

export const COSMOS_FORM: StoreUrlForm = {
  scheme: 'cosmos',
  form: 'cosmos://:KEY@HOST:PORT/DATABASE/CONTAINER?prefix=NAME',
  defaultPort: 443,
  options: ['prefix'],
};

interface Content {
  readonly version: string;
  readonly text: string;
  /** Base64 for a text that its escapes would make too large; `none` for all others, which people can read. */
  readonly encoding: 'none' | 'base64';
}

interface Item extends Content {
  readonly id: string;
  readonly shard: string;
  readonly key: string;
}

interface Connection {
  readonly container: Container;
}

/** Each takes a thousand writes a second, and the whole of an acceptor is looked through one by one. */
const SHARDS = 4;
const AT_A_TIME = 48;
const LOOKS_AT_A_TIME = 4;
const ITEMS_IN_A_PAGE = 500;
const LONGEST_NAME = 255;
/** Logical partitions have names of at most 101 bytes. */
const LONGEST_PREFIX = 90;
/** An item has 2 MB as JSON, with what Cosmos DB adds to it. */
const LARGEST_JSON = 1_990_000;
const LARGEST_TEXT = (LARGEST_JSON / 4) * 3 - 4;

export class CosmosStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency = 2;
  readonly largestText = LARGEST_TEXT;
  readonly #target: StoreUrl;
  readonly #place: CosmosPlace;
  readonly #prefix: string;
  readonly #calls: StoreCalls;
  readonly #http: CosmosHttp;
  readonly #connecting = new Connecting<Connection>(() => this.#open());
  readonly #listing = new KeyListing(this, () => this.#walk());
  #client: Promise<CosmosClient> | undefined;
  #isClosed = false;

  constructor(url: string, { timeoutMs }: StoreOptions) {
    const target = new StoreUrl(url, COSMOS_FORM);
    const [database, container] = target.path;
    this.#prefix = target.option('prefix') ?? 'baton';
    if (container === undefined || target.path.length !== 2 || target.user !== undefined)
      throw new CasPaxosError('URL_INVALID', `A cosmos URL needs the form ${COSMOS_FORM.form}.`);
    if (Buffer.byteLength(this.#prefix) > LONGEST_PREFIX)
      throw new CasPaxosError(
        'URL_INVALID',
        `The prefix in a cosmos URL has at most ${LONGEST_PREFIX} bytes.`,
      );
    this.#target = target;
    this.url = target.place;
    this.#place = { url: this.url, database: database!, container, timeoutMs };
    this.#calls = new StoreCalls(this.url, timeoutMs);
    this.#http = new CosmosHttp(target.tls, this.#calls);
  }

  get requests(): number {
    return this.#http.requests;
  }

  async prepare(): Promise<void> {
    await this.#calls.limited(async (signal) => {
      try {
        const client = await this.#clientOfAccount();
        await demandAccount(client, this.#place, signal);
        await makeContainer(client, this.#place, signal);
      } catch (error) {
        throw cosmosFailure(this.#place, error);
      }
    });
    this.#connecting.reset();
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    return this.#call(async ({ container }, signal) => {
      const found = await inParallel(keys, AT_A_TIME, (key) =>
        this.#itemOf(container, key).read<Item>({ abortSignal: signal }),
      );
      if (found.some(isNoAnswer))
        throw new CasPaxosError('STORE_FAILED', `Acceptor ${this.url} could not read at Strong.`);
      if (found.some(leavesDoubt)) await demandContainer(container, this.#place, signal);
      return found.map(({ resource }) => resource && documentIn(resource));
    });
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    return this.#call(({ container }, signal) =>
      inParallel(writes, AT_A_TIME, (write) => this.#put(container, write, signal)),
    );
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    return this.#listing.list(after, limit);
  }

  async holdsAny(prefix: string): Promise<boolean> {
    let isFound = false;
    await inParallel(shardsOf(this.#prefix, SHARDS), LOOKS_AT_A_TIME, async (shard) => {
      if (isFound) return;
      for await (const keys of this.#pages(shard)) {
        isFound ||= keys.some((key) => key.startsWith(prefix));
        if (isFound) return;
      }
    });
    return isFound;
  }

  /** An account can be weakened, and a container made to forget, at any time. */
  async lookAgain(): Promise<void> {
    this.#demandOpen();
    await this.#open();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => undefined);
    client?.dispose();
    this.#http.close();
  }

  async #call<T>(work: (connection: Connection, signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#calls.limited(async (signal) => {
      this.#demandOpen();
      const connection = await this.#connecting.get();
      try {
        return await work(connection, signal);
      } catch (error) {
        const failure = cosmosFailure(this.#place, error);
        if (failure.code === 'UNREACHABLE' || failure.code === 'TIMED_OUT')
          this.#connecting.drop(connection, failure);
        throw failure;
      }
    });
  }

  async #put(
    container: Container,
    { key, text, expected }: ConditionalWrite,
    abortSignal: AbortSignal,
  ): Promise<WriteResult> {
    if (Buffer.byteLength(text) > LARGEST_TEXT) return this.#tooLarge(key);
    const version = drawVersion();
    const content = contentOf(text, version);
    try {
      if (expected === undefined) {
        const item: Item = { id: idOf(key), shard: shardOf(this.#prefix, SHARDS, key), key, ...content };
        demandDone(await container.items.create(item, { abortSignal }), DONE.create);
      } else {
        const operations = Object.entries(content).map(
          ([name, value]) => ({ op: 'set', path: `/${name}`, value: String(value) }) as const,
        );
        const patched = await this.#itemOf(container, key).patch(
          { condition: `from c where c.version = ${JSON.stringify(expected)}`, operations },
          { abortSignal, initialHeaders: { prefer: 'return=minimal' } },
        );
        demandDone(patched, DONE.patch);
      }
      return { result: 'written', version };
    } catch (error) {
      return this.#refused(container, error, abortSignal);
    }
  }

  async #refused(container: Container, error: unknown, signal: AbortSignal): Promise<WriteResult> {
    const status = statusOf(error);
    if (status === STATUS.notFound) await demandContainer(container, this.#place, signal);
    const isConflict =
      status === STATUS.conflict || status === STATUS.preconditionFailed || status === STATUS.notFound;
    if (isConflict) return { result: 'conflict' };
    const failure = cosmosFailure(this.#place, error);
    if (concernsOneWrite(error)) return { result: 'failed', error: failure };
    throw failure;
  }

  #tooLarge(key: string): WriteResult {
    const message = `Acceptor ${this.url} takes ${LARGEST_TEXT} bytes in a document; that of ${key} is larger.`;
    return { result: 'failed', error: new CasPaxosError('REQUEST_TOO_LARGE', message) };
  }

  /** Every page has the time of a call: all of them together may take longer. */
  async *#walk(): AsyncGenerator<string> {
    for (const shard of shardsOf(this.#prefix, SHARDS))
      for await (const keys of this.#pages(shard)) yield* keys;
  }

  async *#pages(shard: string): AsyncGenerator<readonly string[]> {
    let next: string | undefined;
    do {
      const options = {
        partitionKey: shard,
        maxItemCount: ITEMS_IN_A_PAGE,
        ...(next !== undefined && { continuationToken: next }),
      };
      const { resources, continuationToken } = await this.#call(({ container }, abortSignal) =>
        container.items.readAll<Item>({ ...options, abortSignal }).fetchNext(),
      );
      yield (resources ?? []).map(({ key }) => key);
      next = continuationToken;
    } while (next !== undefined && next !== '');
  }

  #itemOf(container: Container, key: string): ReturnType<Container['item']> {
    return container.item(idOf(key), shardOf(this.#prefix, SHARDS, key));
  }

  async #open(): Promise<Connection> {
    const { database, container: id } = this.#place;
    return this.#calls.limited(async (signal) => {
      try {
        const client = await this.#clientOfAccount();
        await demandAccount(client, this.#place, signal);
        const container = client.database(database).container(id);
        await demandContainer(container, this.#place, signal);
        return { container };
      } catch (error) {
        throw cosmosFailure(this.#place, error);
      }
    });
  }

  #demandOpen(): void {
    if (this.#isClosed) throw new CasPaxosError('CLOSED', `The connection to ${this.url} is closed.`);
  }

  #clientOfAccount(): Promise<CosmosClient> {
    this.#demandOpen();
    this.#client ??= this.#load().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #load(): Promise<CosmosClient> {
    const { hosts, isSecure } = this.#target;
    const { host, port } = hosts[0]!;
    const { CosmosClient: Client } = await loadPeer('cosmos', '@azure/cosmos', () => import('@azure/cosmos'));
    return new Client({
      // Said with every read: an account that was made weaker since refuses it.
      consistencyLevel: 'Strong',
      endpoint: `${isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/`,
      ...(await this.#credentials()),
      httpClient: this.#http,
      connectionPolicy: {
        requestTimeout: this.#place.timeoutMs,
        enableEndpointDiscovery: false,
        enableBackgroundEndpointRefreshing: false,
        retryOptions: {
          maxRetryAttemptCount: 0,
          fixedRetryIntervalInMilliseconds: 0,
          maxWaitTimeInSeconds: 0,
        },
      },
    });
  }

  async #credentials(): Promise<Pick<CosmosClientOptions, 'key' | 'aadCredentials'>> {
    const key = this.#target.password ?? process.env['COSMOS_KEY'];
    if (key !== undefined && key !== '') return { key };
    return { aadCredentials: await defaultAzureCredential('cosmos') };
  }
}

/** Readable where that is short enough. The key itself is in the item. */
function idOf(key: string): string {
  const name = nameOf(key, LONGEST_NAME);
  return name.startsWith('==') ? `==${createHash('sha256').update(key).digest('base64url')}` : name;
}

function contentOf(text: string, version: string): Content {
  const isReadable = Buffer.byteLength(JSON.stringify(text)) <= LARGEST_JSON;
  return isReadable
    ? { version, text, encoding: 'none' }
    : { version, text: Buffer.from(text).toString('base64'), encoding: 'base64' };
}

function documentIn({ text, version, encoding }: Item): StoredDocument {
  return { text: encoding === 'base64' ? Buffer.from(text, 'base64').toString() : text, version };
}

/** With what Cosmos DB says that it has done it. */
const DONE = { create: 201, patch: 200 } as const;

/** The package takes every answer below 400 for a yes. */
function demandDone({ statusCode }: { readonly statusCode: number }, expected: number): void {
  if (statusCode !== expected)
    throw new Error(`a write was answered with ${statusCode} instead of ${expected}`);
}

/** Neither an item nor that there is none: a 404 of a replica that could not tell, for one. */
function isNoAnswer({ statusCode, substatus, resource }: ItemResponse<Item>): boolean {
  if (statusCode === STATUS.notFound) return (substatus ?? 0) !== 0 && substatus !== NO_SUCH_PLACE;
  return typeof resource?.version !== 'string' || typeof resource.text !== 'string';
}

/** Whether the container is gone, and not only the item: an answer from a container comes with a session token. */
function leavesDoubt({ statusCode, substatus, headers }: ItemResponse<Item>): boolean {
  if (statusCode !== STATUS.notFound) return false;
  return substatus === NO_SUCH_PLACE || headers['x-ms-session-token'] === undefined;
}
