/**
 * Acceptors in a table of Amazon DynamoDB: one item for each document, replaced by a PutItem on the condition that it still
 * has the version that was read. Reads are consistent ones. There is no batch of conditional writes but a transaction, in
 * which one conflict would refuse all: a batch is many requests at a time instead, each with its own answer.
 *
 * The versions are drawn here and stored with the item. The client tries nothing twice (rule 7), and a request that takes too
 * long is ended together with its connection.
 */
import type { AttributeValue, DynamoDB, DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { Agent as HttpsAgent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { CasPaxosError } from '../errors.ts';
import { Connecting } from './connecting.ts';
import {
  concernsOneWrite,
  type DynamoDbAction,
  dynamoDbFailure,
  type DynamoDbPlace,
  nameOfError,
} from './dynamodb-errors.ts';
import { mergeShards, type ShardPage } from './dynamodb-list.ts';
import { demandTable, makeTable } from './dynamodb-table.ts';
import { chunksOf, inParallel } from './in-parallel.ts';
import { loadPeer } from './peer.ts';
import { shardOf, shardsOf } from './shards.ts';
import type { AcceptorStore, ConditionalWrite, StoredDocument, StoreOptions, WriteResult } from './store.ts';
import { StoreCalls } from './store-calls.ts';
import { isLoopback, StoreUrl, type StoreUrlForm } from './store-url.ts';
import { drawVersion } from './versions.ts';

export const DYNAMODB_FORM: StoreUrlForm = {
  scheme: 'dynamodb',
  form: 'dynamodb://KEYID:SECRET@REGION/TABLE?prefix=NAME&endpoint=URL',
  options: ['endpoint', 'prefix'],
};

type Item = Readonly<Record<string, AttributeValue>>;
type Key = Record<string, AttributeValue>;

/** Each takes a thousand writes a second; a new table takes four thousand. */
const SHARDS = 8;
/** What DynamoDB takes in one BatchGetItem. */
const KEYS_IN_A_READ = 100;
const READS_AT_A_TIME = 8;
const WRITES_AT_A_TIME = 64;
const LOOKS_AT_A_TIME = 4;
const MOST_SOCKETS = 256;
const AGAIN_AFTER_MS = 20;
/** An item has 400 KiB, and the names of its attributes, its keys and its version need some of them. */
const LARGEST_TEXT = 396 * 1024;
const LONGEST_PREFIX = 1024;

export class DynamoDbStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency = 2;
  readonly largestText = LARGEST_TEXT;
  readonly #target: StoreUrl;
  readonly #place: DynamoDbPlace;
  readonly #prefix: string;
  readonly #calls: StoreCalls;
  readonly #connecting = new Connecting(() => this.#open());
  #db: Promise<DynamoDB> | undefined;
  #requests = 0;
  #isClosed = false;

  constructor(url: string, { timeoutMs }: StoreOptions) {
    const target = new StoreUrl(url, DYNAMODB_FORM);
    const [table] = target.path;
    const isWhole =
      target.path.length === 1 && (target.user === undefined) === (target.password === undefined);
    if (table === undefined || !isWhole)
      throw new CasPaxosError('URL_INVALID', `A dynamodb URL needs the form ${DYNAMODB_FORM.form}.`);
    this.#target = target;
    this.#prefix = target.option('prefix') ?? 'baton';
    this.url = target.place;
    this.#place = { url: this.url, table, timeoutMs };
    this.#calls = new StoreCalls(this.url, timeoutMs);
    endpointOf(target);
    if (Buffer.byteLength(this.#prefix) > LONGEST_PREFIX)
      throw new CasPaxosError(
        'URL_INVALID',
        `The prefix in a dynamodb URL has at most ${LONGEST_PREFIX} bytes.`,
      );
  }

  /** As on the bill: each item of a read counts, and looking at the table does not. */
  get requests(): number {
    return this.#requests;
  }

  async prepare(): Promise<void> {
    await this.#calls.limited(async (signal) => {
      const db = await this.#client();
      await makeTable(db, this.#place, signal);
    });
    this.#connecting.reset();
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    const found = new Map<string, StoredDocument>();
    await this.#call(async (db, signal) => {
      const chunks = chunksOf([...new Set(keys)], KEYS_IN_A_READ);
      await inParallel(chunks, READS_AT_A_TIME, async (chunk) => {
        for await (const item of this.#items(db, chunk, signal)) found.set(item['key']!.S!, documentIn(item));
      });
    });
    return keys.map((key) => found.get(key));
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    return this.#call((db, signal) =>
      inParallel(writes, WRITES_AT_A_TIME, (write) => this.#put(db, write, signal)),
    );
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    return this.#call((db, signal) =>
      mergeShards(shardsOf(this.#prefix, SHARDS), after, limit, (shard, from, size) =>
        this.#query(db, shard, from === '' ? undefined : ['#key > :from', from], size, signal),
      ),
    );
  }

  async holdsAny(prefix: string): Promise<boolean> {
    return this.#call(async (db, signal) => {
      let isFound = false;
      await inParallel(shardsOf(this.#prefix, SHARDS), LOOKS_AT_A_TIME, async (shard) => {
        if (isFound) return;
        const { keys } = await this.#query(db, shard, ['begins_with(#key, :from)', prefix], 1, signal);
        isFound ||= keys.length > 0;
      });
      return isFound;
    });
  }

  /** A table can be made a global one at any time. */
  async lookAgain(): Promise<void> {
    await this.#call((db, signal) => demandTable(db, this.#place, signal));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const db = await this.#db?.catch(() => undefined);
    db?.destroy();
  }

  async #call<T>(work: (db: DynamoDB, signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#calls.limited(async (signal) => {
      this.#demandOpen();
      const db = await this.#connecting.get();
      try {
        return await work(db.client, signal);
      } catch (error) {
        const { code } = error as Partial<CasPaxosError>;
        if (code === 'UNREACHABLE' || code === 'TIMED_OUT') this.#connecting.drop(db, error);
        throw error;
      }
    });
  }

  async #ask<T>(action: DynamoDbAction, units: number, request: () => Promise<T>): Promise<T> {
    this.#requests += units;
    try {
      return await request();
    } catch (error) {
      throw dynamoDbFailure(this.#place, action, error);
    }
  }

  async #put(
    db: DynamoDB,
    { key, text, expected }: ConditionalWrite,
    signal: AbortSignal,
  ): Promise<WriteResult> {
    if (Buffer.byteLength(text) > this.largestText) return this.#tooLarge(key);
    const version = drawVersion();
    this.#requests += 1;
    try {
      await db.putItem(
        {
          TableName: this.#place.table,
          // An empty text is not stored: old servers take no empty strings.
          Item: { ...this.#keyOf(key), version: { S: version }, ...(text !== '' && { text: { S: text } }) },
          ...conditionOf(expected),
        },
        { abortSignal: signal },
      );
      return { result: 'written', version };
    } catch (error) {
      if (nameOfError(error) === 'ConditionalCheckFailedException') return { result: 'conflict' };
      const failure = dynamoDbFailure(this.#place, 'PutItem', error);
      if (concernsOneWrite(error)) return { result: 'failed', error: failure };
      throw failure;
    }
  }

  #tooLarge(key: string): WriteResult {
    const message = `Acceptor ${this.url} takes ${this.largestText} bytes in a document; that of ${key} is larger.`;
    return { result: 'failed', error: new CasPaxosError('REQUEST_TOO_LARGE', message) };
  }

  /** What does not fit into one answer, or is too much for the moment, is asked for again. */
  async *#items(db: DynamoDB, keys: readonly string[], signal: AbortSignal): AsyncGenerator<Item> {
    const { table } = this.#place;
    let open: Key[] = keys.map((key) => this.#keyOf(key));
    for (let empty = 0; open.length > 0;) {
      const asked = open.length;
      const { Responses, UnprocessedKeys } = await this.#ask('BatchGetItem', asked, () =>
        db.batchGetItem(
          { RequestItems: { [table]: { Keys: open, ConsistentRead: true } } },
          { abortSignal: signal },
        ),
      );
      yield* Responses?.[table] ?? [];
      open = UnprocessedKeys?.[table]?.Keys ?? [];
      this.#requests -= open.length;
      empty = open.length === asked ? empty + 1 : 0;
      if (empty > 0) await sleep(AGAIN_AFTER_MS * 2 ** Math.min(empty, 6), undefined, { signal });
    }
  }

  async #query(
    db: DynamoDB,
    shard: string,
    condition: readonly [expression: string, from: string] | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<ShardPage> {
    const [expression, from] = condition ?? [];
    const { Items, LastEvaluatedKey } = await this.#ask('Query', 1, () =>
      db.query(
        {
          TableName: this.#place.table,
          ConsistentRead: true,
          KeyConditionExpression: `#shard = :shard${expression === undefined ? '' : ` AND ${expression}`}`,
          ProjectionExpression: '#key',
          ExpressionAttributeNames: { '#shard': 'shard', '#key': 'key' },
          ExpressionAttributeValues: {
            ':shard': { S: shard },
            ...(from !== undefined && { ':from': { S: from } }),
          },
          Limit: limit,
        },
        { abortSignal: signal },
      ),
    );
    return { keys: (Items ?? []).map((item) => item['key']!.S!), next: LastEvaluatedKey?.['key']?.S };
  }

  #keyOf(key: string): Key {
    return { shard: { S: shardOf(this.#prefix, SHARDS, key) }, key: { S: key } };
  }

  async #open(): Promise<{ readonly client: DynamoDB }> {
    return this.#calls.limited(async (signal) => {
      const client = await this.#client();
      await demandTable(client, this.#place, signal);
      return { client };
    });
  }

  #demandOpen(): void {
    if (this.#isClosed) throw new CasPaxosError('CLOSED', `The connection to ${this.url} is closed.`);
  }

  #client(): Promise<DynamoDB> {
    this.#demandOpen();
    this.#db ??= this.#load().catch((error: unknown) => {
      this.#db = undefined;
      throw error;
    });
    return this.#db;
  }

  async #load(): Promise<DynamoDB> {
    const install = '@aws-sdk/client-dynamodb';
    const { DynamoDB: Client } = await loadPeer(
      'dynamodb',
      install,
      () => import('@aws-sdk/client-dynamodb'),
    );
    return new Client(this.#settings());
  }

  #settings(): DynamoDBClientConfig {
    const { user, password, tls, hosts } = this.#target;
    const { timeoutMs } = this.#place;
    const endpoint = endpointOf(this.#target);
    const sockets = { keepAlive: true, maxSockets: MOST_SOCKETS };
    return {
      region: hosts[0]!.host,
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: timeoutMs,
        requestTimeout: timeoutMs,
        throwOnRequestTimeout: true,
        httpAgent: this.#calls.agent(undefined, sockets),
        httpsAgent: this.#calls.agent(tls ?? {}, sockets) as HttpsAgent,
      },
      ...(endpoint !== undefined && { endpoint }),
      ...(user !== undefined &&
        password !== undefined && { credentials: { accessKeyId: user, secretAccessKey: password } }),
    };
  }
}

function conditionOf(expected: ConditionalWrite['expected']): {
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues?: Record<string, AttributeValue>;
} {
  if (expected === undefined) {
    return {
      ConditionExpression: 'attribute_not_exists(#key)',
      ExpressionAttributeNames: { '#key': 'key' },
    };
  }
  return {
    ConditionExpression: '#version = :expected',
    ExpressionAttributeNames: { '#version': 'version' },
    ExpressionAttributeValues: { ':expected': { S: String(expected) } },
  };
}

function documentIn(item: Item): StoredDocument {
  return { text: item['text']?.S ?? '', version: item['version']?.S ?? '' };
}

/** Of a server that is not Amazon's, or not at the region's own address. */
function endpointOf(target: StoreUrl): string | undefined {
  const text = target.option('endpoint');
  if (text === undefined && target.option('tls') !== 'off') return undefined;
  const endpoint = URL.canParse(text ?? '') ? new URL(text!) : undefined;
  const isPlain = endpoint?.protocol === 'http:';
  const isAllowed = isPlain ? target.option('tls') === 'off' || isLoopback(endpoint.hostname) : true;
  const isGood = (isPlain || endpoint?.protocol === 'https:') && endpoint?.username === '' && isAllowed;
  if (isGood) return endpoint.origin;
  const message =
    'The endpoint in a dynamodb URL is https://HOST:PORT, or http://HOST:PORT on this machine or with tls=off, without credentials.';
  throw new CasPaxosError('URL_INVALID', message);
}
