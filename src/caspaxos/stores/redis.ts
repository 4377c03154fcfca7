/**
 * `redis://USER:PASSWORD@HOST:6379/DATABASE?prefix=NAME`: a Redis server that writes everything to disk before it answers.
 * A batch is one script (`redis-scripts.ts`), so it is one request and one sync, and nobody gets in between.
 *
 * What an acceptor needs of Redis, and what is looked at when the connection is made, every few seconds, and in part with every
 * answer (`redis-safety.ts`): version 7 or newer, `appendonly yes`, `appendfsync always`, no eviction of these keys, and a master.
 * With these settings Redis sends the answers of one turn of its event loop after the sync of that turn. So even a read never shows
 * what a crash could take back. A service that does not allow CONFIG GET is refused until its user vouches for it with `durability=unchecked`. Nothing is looked at then;
 * most managed services lose the last writes when they fail over, and do not belong here.
 *
 * Copies are the trap. Redis replicates after it has answered. When Sentinel, a Redis Cluster or a service promotes a replica,
 * the writes that had not reached it are gone, and the new master has the same identity document. It tells that it was promoted as long
 * as it runs (`redis-line.ts`); after that, only a process notices it that had seen a register further on. So give each acceptor a server
 * of its own that comes back with its own disk, and let the other acceptors bear its outage: that is what they are for. A URL
 * that names a server, and not whoever is master now, is all it takes.
 */
import type { ConnectionOptions } from 'node:tls';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';
import { chunksOf } from './in-parallel.ts';
import { KeyListing } from './listing.ts';
import { Lineage } from './lineage.ts';
import { continuesRedis } from './redis-line.ts';
import { RedisConnection } from './redis-connection.ts';
import { SafetyWatch } from './safety-watch.ts';
import {
  HOLDS,
  keysOf,
  LIST,
  MOST_READS,
  MOST_WRITES,
  MOVE,
  READ,
  type RedisScript,
  WRITE,
} from './redis-scripts.ts';
import type { AcceptorStore, ConditionalWrite, StoredDocument, StoreOptions, WriteResult } from './store.ts';
import { StoreCalls } from './store-calls.ts';
import { StoreUrl, type StoreUrlForm } from './store-url.ts';
import { drawVersion } from './versions.ts';

export const REDIS_FORM: StoreUrlForm = {
  scheme: 'redis',
  form: 'redis://USER:PASSWORD@HOST:6379/DATABASE?prefix=NAME',
  defaultPort: 6379,
  options: ['prefix', 'durability'],
};

const DEFAULT_PREFIX = 'baton';
/** After a failed connection, calls fail at once for this long instead of each trying again. */
const RECONNECT_AFTER_MS = 100;

export class RedisStore implements AcceptorStore {
  readonly url: string;
  /** Redis works on one script at a time; the next batch is on its way meanwhile. */
  readonly concurrency = 2;
  readonly lineage = new Lineage(continuesRedis);
  readonly #url: StoreUrl;
  readonly #options: StoreOptions;
  readonly #keys: readonly string[];
  readonly #database: number;
  readonly #listing = new KeyListing(this, () => this.#walk());
  readonly #calls: StoreCalls;
  readonly #watch: SafetyWatch;
  #connecting: Promise<RedisConnection> | undefined;
  #connection: RedisConnection | undefined;
  #failure: CasPaxosError | undefined;
  #failedAt = -Infinity;
  #earlierRequests = 0;
  #isClosed = false;

  constructor(url: string, options: StoreOptions) {
    this.#url = new StoreUrl(url, REDIS_FORM);
    this.url = this.#url.place;
    this.#options = options;
    this.#calls = new StoreCalls(this.url, options.timeoutMs);
    this.#watch = new SafetyWatch(this.lineage);
    this.#database = databaseOf(this.#url);
    this.#keys = keysOf(prefixOf(this.#url));
    if (![undefined, 'unchecked'].includes(this.#url.option('durability')))
      throw invalid('durability is unchecked, or not there');
  }

  get requests(): number {
    return this.#earlierRequests + (this.#connection?.requests ?? 0);
  }

  get life(): string | undefined {
    return this.#watch.life;
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    const documents: (StoredDocument | undefined)[] = [];
    for (const some of chunksOf(keys, MOST_READS)) {
      const values = (await this.#run(READ, some)) as (string | null)[];
      documents.push(...values.map(documentIn));
    }
    return documents;
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    const results: WriteResult[] = [];
    for (const some of chunksOf(writes, MOST_WRITES)) {
      const versions = some.map(() => drawVersion());
      const args = some.flatMap(({ key, text, expected }, at) => [
        key,
        expected === undefined ? '' : String(expected),
        `${versions[at]!}\n${text}`,
      ]);
      const written = (await this.#run(WRITE, args)) as number[];
      for (const [at, isWritten] of written.entries())
        results.push(
          isWritten === 1 ? { result: 'written', version: versions[at]! } : { result: 'conflict' },
        );
    }
    return results;
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    return this.#listing.list(after, limit);
  }

  async holdsAny(prefix: string): Promise<boolean> {
    return (await this.#run(HOLDS, [prefix])) === 1;
  }

  async lookAgain(): Promise<void> {
    await this.#withConnection((connection) => connection.look());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    connection?.end(this.#closed());
  }

  /** A hash has no order. For a set of 100,000 registers, which is looked through when it changes, the server is busy for some 50 ms. */
  async *#walk(): AsyncIterable<string> {
    yield* (await this.#run(LIST, [])) as string[];
  }

  #run(script: RedisScript, args: readonly string[]): Promise<unknown> {
    return this.#withConnection((connection) => connection.run(script, this.#keys, args));
  }

  #withConnection<T>(work: (connection: RedisConnection) => Promise<T>): Promise<T> {
    return this.#calls.limited(async (signal) => {
      const connection = await this.#connect();
      // Whoever asked has been told that it was late: nothing must happen after that.
      signal.throwIfAborted();
      const giveUp = (): void => connection.end(signal.reason as CasPaxosError);
      signal.addEventListener('abort', giveUp);
      try {
        return await work(connection);
      } finally {
        signal.removeEventListener('abort', giveUp);
      }
    });
  }

  async #connect(): Promise<RedisConnection> {
    if (this.#isClosed) throw this.#closed();
    if (this.#connection?.isOver === false) return this.#connection;
    if (performance.now() - this.#failedAt < RECONNECT_AFTER_MS) throw this.#failure!;
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<RedisConnection> {
    const { timeoutMs } = this.#options;
    try {
      const connection = await RedisConnection.open({
        url: this.url,
        host: this.#url.hosts[0]!,
        database: this.#database,
        user: this.#url.user,
        password: this.#url.password ?? process.env['REDIS_PASSWORD'],
        tls: this.#tls(),
        timeoutMs,
        calls: this.#calls,
        watch: this.#url.option('durability') === undefined ? this.#watch : undefined,
      });
      await this.#moveEarlier(connection);
      this.#earlierRequests = this.requests;
      this.#connection = connection;
      return connection;
    } catch (error) {
      this.#failure = asCasPaxosError(error, 'STORE_FAILED', `Acceptor ${this.url}`);
      this.#failedAt = performance.now();
      throw this.#failure;
    }
  }

  /** Each step is good by itself: whoever connects next goes on where this one was interrupted. */
  async #moveEarlier(connection: RedisConnection): Promise<void> {
    try {
      while ((await this.#calls.limited(() => connection.run(MOVE, this.#keys, []))) !== 1);
    } catch (error) {
      connection.end(error as CasPaxosError);
      throw error;
    }
  }

  #tls(): ConnectionOptions | undefined {
    const tls = this.#url.tls;
    const { ca } = this.#options;
    return tls && { ...(ca !== undefined && { ca }), ...tls };
  }

  #closed(): CasPaxosError {
    return new CasPaxosError('CLOSED', `The connection to ${this.url} is closed.`);
  }
}

function documentIn(value: string | null): StoredDocument | undefined {
  if (value === null) return undefined;
  const lineEnd = value.indexOf('\n');
  // Without a first line it is somebody else's work: no text of ours is empty, so nobody takes it for one.
  if (lineEnd === -1) return { text: '', version: value };
  return { text: value.slice(lineEnd + 1), version: value.slice(0, lineEnd) };
}

function databaseOf(url: StoreUrl): number {
  const [database = '0', ...more] = url.path;
  if (more.length > 0 || !/^\d{1,5}$/.test(database)) throw invalid('the path is the number of a database');
  return Number(database);
}

function prefixOf(url: StoreUrl): string {
  const prefix = url.option('prefix') ?? DEFAULT_PREFIX;
  if (/[{}]/.test(prefix)) throw invalid('the prefix has no braces');
  return prefix;
}

function invalid(what: string): CasPaxosError {
  return new CasPaxosError('URL_INVALID', `In a redis URL, ${what}; it has the form ${REDIS_FORM.form}.`);
}
