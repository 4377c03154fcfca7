/**
 * Documents in etcd: one key for each, `PREFIX` and the document's key; its value is the version, a line break, the text.
 *
 * etcd's own revisions are counted, and count the same again after a restore, so versions are drawn. Every answer tells the cluster and
 * its revision: one of another cluster, or from before what was known when it was asked for, comes from a restored copy. A write is conditional on
 * the first line of the value: etcd compares whole values only, but it also compares them by order, and the values between
 * `VERSION` and `VERSION` with a character after the line break's are those that begin with that line.
 *
 * A batch is one transaction of transactions, each with its own condition. What etcd takes in one request by default bounds it:
 * 128 operations, where the outermost ones and those of the largest inner transaction count together, and 1.5 MiB. Its quota of
 * space, its alarms and, in older versions, its permissions look at outermost operations only. A put that is never made, in the
 * branch that is never taken, puts the inner ones under all three.
 *
 * Reads are linearizable, and a write is on the disks of most members when it is answered, unless somebody told them not to sync
 * (`etcd-safety.ts`). etcd keeps the history of every key
 * until it is compacted: `--auto-compaction-retention` belongs to every etcd that is written to all day.
 */
import { CasPaxosError } from '../errors.ts';
import { EtcdGateway } from './etcd-gateway.ts';
import { chunksOf, inParallel } from './in-parallel.ts';
import { Lineage } from './lineage.ts';
import { StoreCalls } from './store-calls.ts';
import type { AcceptorStore, ConditionalWrite, StoredDocument, StoreOptions, WriteResult } from './store.ts';
import { StoreUrl, type StoreUrlForm } from './store-url.ts';
import { drawVersion } from './versions.ts';

export const ETCD_FORM: StoreUrlForm = {
  scheme: 'etcd',
  form: 'etcd://USER:PASSWORD@HOST:PORT,HOST:PORT?prefix=PREFIX',
  defaultPort: 2379,
  severalHosts: true,
  options: ['prefix'],
};

const DEFAULT_PREFIX = 'baton/';
const LONGEST_PREFIX = 256;
const MAX_OPERATIONS = 128;
/** The deepest level: two comparisons and a put. */
const INNER_OPERATIONS = 2;
const MAX_REQUEST_BYTES = 1536 * 1024;
/** For what stands around a text: its key, twice, its version, and the fields' own headers. */
const AROUND_A_TEXT = 4 * 1024;
/** Transactions of one batch under way: etcd makes several durable with one sync. */
const PARALLEL = 4;

interface KeyValue {
  readonly key: string;
  readonly value?: string;
}

interface RangeAnswer {
  readonly kvs?: readonly KeyValue[];
}

interface TxnAnswer {
  readonly responses?: readonly {
    readonly response_range?: RangeAnswer;
    readonly response_txn?: { readonly succeeded?: boolean };
  }[];
}

export class EtcdStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency = 4;
  readonly largestText = MAX_REQUEST_BYTES - AROUND_A_TEXT;
  readonly lineage = new Lineage();
  readonly #gateway: EtcdGateway;
  readonly #calls: StoreCalls;
  readonly #prefix: string;

  constructor(url: string, options: StoreOptions) {
    const parsed = new StoreUrl(url, ETCD_FORM);
    this.#prefix = parsed.option('prefix') ?? DEFAULT_PREFIX;
    if (parsed.path.length > 0 || Buffer.byteLength(this.#prefix) > LONGEST_PREFIX) {
      const message = `An acceptor URL with etcd needs the form ${ETCD_FORM.form}, with a prefix of at most ${LONGEST_PREFIX} bytes.`;
      throw new CasPaxosError('URL_INVALID', message);
    }
    this.url = parsed.place;
    this.#calls = new StoreCalls(this.url, options.timeoutMs);
    this.#gateway = new EtcdGateway(parsed, options, { lineage: this.lineage, calls: this.#calls });
  }

  get requests(): number {
    return this.#gateway.requests;
  }

  get life(): string | undefined {
    return this.#gateway.life;
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    return this.#calls.limited(async (signal) => {
      const chunks = chunksOf(keys, MAX_OPERATIONS);
      const documents = await inParallel(chunks, PARALLEL, (chunk) => this.#readTogether(chunk, signal));
      return documents.flat();
    });
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    const results = new Map<ConditionalWrite, WriteResult>();
    for (const write of writes)
      if (Buffer.byteLength(write.text) > this.largestText) results.set(write, this.#tooLarge(write));
    const batches = batchesOf(writes.filter((write) => !results.has(write)));
    await this.#calls.limited(async (signal) => {
      const failures: CasPaxosError[] = [];
      await inParallel(batches, PARALLEL, async (batch) => {
        try {
          const written = await this.#writeTogether(batch, signal);
          for (const [at, write] of batch.entries()) results.set(write, written[at]!);
        } catch (error) {
          if (!(error instanceof CasPaxosError)) throw error;
          failures.push(error);
          for (const write of batch) results.set(write, { result: 'failed', error });
        }
      });
      if (failures.length > 0 && failures.length === batches.length) throw failures[0]!;
    });
    return writes.map((write) => results.get(write)!);
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    return this.#calls.limited(async (signal) => {
      // No order is asked for: etcd gives keys in ascending order anyway, and would read all of them to sort some.
      const request = {
        key: base64(after === '' ? this.#prefix : `${this.#prefix}${after}\u0000`),
        range_end: endOf(this.#prefix),
        limit: String(limit),
        keys_only: true,
      };
      const { kvs = [] } = (await this.#gateway.call('/v3/kv/range', request, signal)) as RangeAnswer;
      return kvs.map(({ key }) => Buffer.from(key, 'base64').toString('utf8').slice(this.#prefix.length));
    });
  }

  async lookAgain(): Promise<void> {
    await this.#calls.limited((signal) => this.#gateway.look(signal));
  }

  async close(): Promise<void> {
    this.#gateway.close();
  }

  async #readTogether(
    keys: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly (StoredDocument | undefined)[]> {
    const success = keys.map((key) => ({ request_range: { key: this.#keyOf(key) } }));
    try {
      const { responses = [] } = (await this.#gateway.call('/v3/kv/txn', { success }, signal)) as TxnAnswer;
      if (responses.length !== keys.length) throw this.#malformed();
      return responses.map((response) => documentIn(response.response_range?.kvs?.[0]));
    } catch (error) {
      // The gateway of some versions takes no more than 4 MiB from the server behind it.
      if (!(error instanceof CasPaxosError) || error.code !== 'REQUEST_TOO_LARGE' || keys.length === 1)
        throw error;
      const half = Math.ceil(keys.length / 2);
      return [
        ...(await this.#readTogether(keys.slice(0, half), signal)),
        ...(await this.#readTogether(keys.slice(half), signal)),
      ];
    }
  }

  async #writeTogether(
    writes: readonly ConditionalWrite[],
    signal: AbortSignal,
  ): Promise<readonly WriteResult[]> {
    const versions = writes.map(() => drawVersion());
    const success = writes.map(({ key, text, expected }, at) => {
      const name = this.#keyOf(key);
      const put = { key: name, value: base64(`${versions[at]!}\n${text}`) };
      return { request_txn: { compare: conditionOf(name, expected), success: [{ request_put: put }] } };
    });
    const failure = [{ request_put: { key: this.#keyOf(writes[0]!.key) } }];
    const request = { success, failure };
    const { responses = [] } = (await this.#gateway.call('/v3/kv/txn', request, signal)) as TxnAnswer;
    if (responses.length !== writes.length) throw this.#malformed();
    return responses.map(({ response_txn }, at) =>
      response_txn?.succeeded === true
        ? { result: 'written', version: versions[at]! }
        : { result: 'conflict' },
    );
  }

  #keyOf(key: string): string {
    return base64(this.#prefix + key);
  }

  #tooLarge({ key, text }: ConditionalWrite): WriteResult {
    const message = `Acceptor ${this.url} takes documents of ${this.largestText} bytes; ${key} has ${Buffer.byteLength(text)}.`;
    return { result: 'failed', error: new CasPaxosError('REQUEST_TOO_LARGE', message) };
  }

  #malformed(): CasPaxosError {
    return new CasPaxosError(
      'STORE_FAILED',
      `Acceptor ${this.url} answered another question than was asked.`,
    );
  }
}

/** Pieces of what one transaction takes, by operations and by bytes. */
function batchesOf(writes: readonly ConditionalWrite[]): readonly (readonly ConditionalWrite[])[] {
  const batches: ConditionalWrite[][] = [];
  let free = 0;
  for (const write of writes) {
    const size = Buffer.byteLength(write.text) + sizeAround(write);
    const last = batches.at(-1);
    if (last === undefined || last.length === MAX_OPERATIONS - INNER_OPERATIONS || size > free) {
      batches.push([write]);
      free = MAX_REQUEST_BYTES - AROUND_A_TEXT / 2 - size;
    } else {
      last.push(write);
      free -= size;
    }
  }
  return batches;
}

/** The key stands in each comparison and in the put, a version in each of them too. */
function sizeAround({ key }: ConditionalWrite): number {
  return 3 * (Buffer.byteLength(key) + LONGEST_PREFIX) + 256;
}

function conditionOf(key: string, expected: ConditionalWrite['expected']): readonly object[] {
  if (expected === undefined) return [{ key, target: 'CREATE', result: 'EQUAL', create_revision: '0' }];
  const line = String(expected);
  return [
    { key, target: 'VALUE', result: 'GREATER', value: base64(line) },
    { key, target: 'VALUE', result: 'LESS', value: base64(`${line}\u000b`) },
  ];
}

function documentIn(found: KeyValue | undefined): StoredDocument | undefined {
  if (found === undefined) return undefined;
  const value = Buffer.from(found.value ?? '', 'base64').toString('utf8');
  const lineEnd = value.indexOf('\n');
  // Without a first line it is somebody else's work: no text of ours is empty, so nobody takes it for one.
  if (lineEnd === -1) return { text: '', version: value };
  return { text: value.slice(lineEnd + 1), version: value.slice(0, lineEnd) };
}

/** The end of the keys that begin with the prefix: its last byte counted up. */
function endOf(prefix: string): string {
  const bytes = Buffer.from(prefix, 'utf8');
  bytes[bytes.length - 1]! += 1;
  return bytes.toString('base64');
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
