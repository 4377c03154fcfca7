/**
 * Documents in Azure Blob Storage: a block blob for each, named by the prefix and the document's key (`names.ts`). Blobs are
 * replaced on the condition of their ETag, which Azure never gives twice, and which changes with every write.
 *
 * There is no batch: the documents of one are written with that many requests, so many at a time. There is no ordered list
 * that begins anywhere either, so a list walks through all names (`listing.ts`).
 *
 * Blob Storage is consistent within a region and durable when it answers. An account that is replicated to a second region
 * loses the newest writes when it fails over: this acceptor is then behind, and says so (rule 8).
 */
import type { ContainerClient } from '@azure/storage-blob';
import { CasPaxosError } from '../errors.ts';
import { AZURE_BLOB_FORM, AzureBlobAccount } from './azure-blob-account.ts';
import { azureBlobFailure, isConflict, isContainerThere, isNoBlob } from './azure-blob-failures.ts';
import { Connecting } from './connecting.ts';
import { inParallel } from './in-parallel.ts';
import { KeyListing } from './listing.ts';
import { keyOfName, nameOf } from './names.ts';
import type { AcceptorStore, ConditionalWrite, StoredDocument, StoreOptions, WriteResult } from './store.ts';
import { StoreCalls } from './store-calls.ts';
import { StoreUrl } from './store-url.ts';

export { AZURE_BLOB_FORM };

const DEFAULT_PREFIX = 'baton/';
/** Of a blob's name, with its prefix. */
const LONGEST_NAME = 1024;
const LONGEST_PREFIX = 256;
/** Requests of one batch under way. */
const PARALLEL = 64;
const LIST_PAGE = 5000;

type Ask<T> = (container: ContainerClient, abortSignal: AbortSignal) => Promise<T>;

export class AzureBlobStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency = 2;
  readonly #calls: StoreCalls;
  readonly #account: AzureBlobAccount;
  readonly #container: Connecting<ContainerClient>;
  readonly #timeoutMs: number;
  readonly #prefix: string;
  readonly #listing = new KeyListing(this, () => this.#walk());
  #requests = 0;
  #isClosed = false;

  constructor(url: string, options: StoreOptions) {
    const parsed = new StoreUrl(url, AZURE_BLOB_FORM);
    this.url = parsed.place;
    this.#calls = new StoreCalls(this.url, options.timeoutMs);
    this.#account = new AzureBlobAccount(parsed, this.#calls);
    this.#container = new Connecting(() => this.#account.open());
    this.#prefix = parsed.option('prefix') ?? DEFAULT_PREFIX;
    if (this.#prefix.length > LONGEST_PREFIX) {
      const message = `The prefix of an azure-blob URL has at most ${LONGEST_PREFIX} characters.`;
      throw new CasPaxosError('URL_INVALID', message);
    }
    this.#timeoutMs = options.timeoutMs;
  }

  get requests(): number {
    return this.#requests;
  }

  async prepare(): Promise<void> {
    await this.#within(async (ask) => {
      // Whoever may not look at the container may be allowed to use it all the same; reading will tell.
      const isThere = await ask((container, abortSignal) => container.exists({ abortSignal })).catch(
        (error: unknown) => {
          if (error instanceof CasPaxosError && error.code === 'UNAUTHORIZED') return true;
          throw error;
        },
      );
      if (isThere) return;
      await ask(async (container, abortSignal) => {
        await container.create({ abortSignal }).catch((error: unknown) => {
          if (!isContainerThere(error)) throw error;
        });
      });
    });
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    return this.#within((ask) =>
      inParallel(keys, PARALLEL, (key) => ask((container, signal) => this.#download(container, key, signal))),
    );
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    const results = await this.#within((ask) =>
      inParallel(writes, PARALLEL, (write) =>
        ask((container, signal) => this.#upload(container, write, signal)).catch(
          (error: CasPaxosError): WriteResult => ({ result: 'failed', error }),
        ),
      ),
    );
    const [first] = results;
    if (first?.result === 'failed' && results.every(({ result }) => result === 'failed')) throw first.error;
    return results;
  }

  list(after: string, limit: number): Promise<readonly string[]> {
    return this.#listing.list(after, limit);
  }

  /** Two questions, because names that would be too long are spelled in another way. */
  async holdsAny(prefix: string): Promise<boolean> {
    // Three bytes are four characters of base64: as many as are whole.
    const whole = Buffer.from(prefix, 'utf8').subarray(0, Math.floor(Buffer.byteLength(prefix) / 3) * 3);
    for (const start of [nameOf(prefix, LONGEST_NAME), `==${whole.toString('base64url')}`]) {
      for await (const key of this.#walk(start, 1)) if (key.startsWith(prefix)) return true;
    }
    return false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#account.close();
  }

  async #download(
    container: ContainerClient,
    key: string,
    abortSignal: AbortSignal,
  ): Promise<StoredDocument | undefined> {
    try {
      const blob = container.getBlobClient(this.#nameOf(key));
      const { etag, readableStreamBody } = await blob.download(0, undefined, {
        abortSignal,
        maxRetryRequests: 0,
      });
      const parts: Buffer[] = [];
      for await (const part of readableStreamBody!) parts.push(part as Buffer);
      return { text: Buffer.concat(parts).toString('utf8'), version: etag! };
    } catch (error) {
      if (isNoBlob(error)) return undefined;
      throw error;
    }
  }

  async #upload(
    container: ContainerClient,
    { key, text, expected }: ConditionalWrite,
    abortSignal: AbortSignal,
  ): Promise<WriteResult> {
    const bytes = Buffer.from(text, 'utf8');
    try {
      const { etag } = await container.getBlockBlobClient(this.#nameOf(key)).upload(bytes, bytes.length, {
        abortSignal,
        conditions: expected === undefined ? { ifNoneMatch: '*' } : { ifMatch: String(expected) },
        blobHTTPHeaders: { blobContentType: 'text/plain; charset=utf-8' },
      });
      return { result: 'written', version: etag! };
    } catch (error) {
      if (isConflict(error)) return { result: 'conflict' };
      throw error;
    }
  }

  /** All keys whose names begin like this. The time limit is each page's: how many there are is nobody's fault. */
  async *#walk(start = '', pageSize = LIST_PAGE): AsyncIterable<string> {
    let continuationToken: string | undefined;
    do {
      const { names, next } = await this.#within((ask) =>
        ask(async (container, abortSignal) => {
          const pages = container
            .listBlobsFlat({ prefix: this.#prefix + start, abortSignal })
            .byPage({ maxPageSize: pageSize, ...(continuationToken && { continuationToken }) });
          const { value: page } = (await pages.next()) as {
            value: { segment: { blobItems: { name: string }[] }; continuationToken?: string };
          };
          return { names: page.segment.blobItems.map(({ name }) => name), next: page.continuationToken };
        }),
      );
      for (const name of names) {
        const key = keyOfName(name.slice(this.#prefix.length));
        if (key !== undefined) yield key;
      }
      continuationToken = next === '' ? undefined : next;
    } while (continuationToken !== undefined);
  }

  /**
   * One call of the store: any number of requests, all of which end with its time limit. Some of them may be answered and
   * others not, so each fails for itself.
   */
  async #within<T>(work: (ask: <R>(question: Ask<R>) => Promise<R>) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new CasPaxosError('CLOSED', `The connection to ${this.url} is closed.`);
    const endsAt = performance.now() + this.#timeoutMs;
    const ask = async <R>(question: Ask<R>, ended: AbortSignal): Promise<R> => {
      ended.throwIfAborted();
      const leftMs = endsAt - performance.now();
      if (leftMs <= 0) throw this.#calls.late;
      let container: ContainerClient | undefined;
      const asked = async (signal: AbortSignal): Promise<R> => {
        container = await this.#container.get();
        this.#requests += 1;
        return question(container, AbortSignal.any([signal, ended]));
      };
      try {
        return await this.#calls.limited(asked, leftMs);
      } catch (error) {
        const failure = azureBlobFailure(this.url, error);
        if (failure.code === 'TIMED_OUT' || performance.now() >= endsAt) throw this.#calls.late;
        if (container !== undefined && failure.code === 'UNREACHABLE')
          this.#container.drop(container, failure);
        throw failure;
      }
    };
    return this.#calls.bounded((ended) => work((question) => ask(question, ended)));
  }

  #nameOf(key: string): string {
    return this.#prefix + nameOf(key, LONGEST_NAME - this.#prefix.length);
  }
}
