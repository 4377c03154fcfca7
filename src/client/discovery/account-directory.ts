/**
 * Where an account is: what a client knows of the account's record, and keeps knowing. The record comes from memory, or
 * else from disk, or else from DNS; after that DNS is asked again now and then, in the background. Nobody waits for DNS
 * who has a record already, and no failure of DNS takes a record away: not silence, not "there is no such name", not a
 * record that cannot be read. An outdated record costs a client some attempts at the wrong place, none at all stops it.
 *
 * Which record wins. DNS can answer with an older record than the known one, because resolvers between keep answers for
 * longer than they are told to (paper 5.1), and serials tell. But an operator may also have made the account anew, with
 * serials from the start, and a client must not be stuck for ever with what it kept on disk. So:
 *
 *   - the same serial, or a higher one, is taken;
 *   - a lower one is ignored while the known record is *trusted*: DNS has confirmed it (with its serial or a higher one)
 *     within the last `trustMs`, an hour unless told otherwise;
 *   - a record from disk is trusted by the same measure: the file has the time of the last confirmation. One from the
 *     future says nothing, as the clock has been changed; such a record is not trusted.
 *
 * Both mistakes are harmless to data: nodes refuse who does not belong to them, and only leases decide who writes.
 */
import { NODE_HOST } from '../../caspaxos/index.ts';
import type { Consistency } from '../../failover/index.ts';
import type { Host, Timer } from '../../protocol/index.ts';
import {
  type AccountRecord,
  encodeAccountRecord,
  findAccountRecord,
  type RegionEndpoints,
} from './account-record.ts';
import { DiscoveryError } from './errors.ts';
import { dnsLookup, type TxtAnswer, type TxtLookup } from './lookup.ts';
import { defaultCacheDirectory, RecordCache } from './record-cache.ts';

/** An account that DNS knows. */
export interface DnsDiscovery {
  /** The whole name, such as `demo.baton.local`; its first label is the account. */
  readonly name: string;
  /** DNS servers as IP or IP:PORT; the system's otherwise. */
  readonly servers?: readonly string[] | undefined;
  /** Where the last good record is kept; the user's cache otherwise. */
  readonly cacheDirectory?: string | false | undefined;
  /** How long one question to DNS may take. */
  readonly timeoutMs?: number | undefined;
  readonly refreshMs?: number | undefined;
  readonly trustMs?: number | undefined;
  readonly host?: Host | undefined;
  /** Instead of DNS, in tests and in the simulator. */
  readonly lookup?: TxtLookup | undefined;
}

/** An account whose endpoints are known beforehand. */
export interface StaticDiscovery {
  readonly account: string;
  /** In order of priority. */
  readonly endpoints: readonly RegionEndpoints[];
  readonly consistency?: Consistency | undefined;
  readonly host?: Host | undefined;
}

export type Discovery = DnsDiscovery | StaticDiscovery;

export type RecordSource = 'dns' | 'disk' | 'static';

/** What a question to DNS brought. `kept`: nothing that is better than what is known, if anything is. */
export type RefreshOutcome =
  | { readonly kind: 'changed' | 'same' }
  | { readonly kind: 'kept'; readonly problem: DiscoveryError | undefined };

interface Known {
  readonly record: AccountRecord;
  readonly text: string;
  readonly source: RecordSource;
  /** On the host's monotonic clock; before its beginning for what was confirmed in an earlier process. */
  readonly confirmedAt: number;
}

interface Waiter {
  readonly resolve: (record: AccountRecord) => void;
  readonly reject: (error: DiscoveryError) => void;
}

const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
const DEFAULT_TIMEOUT_MS = 5000;
const DEFAULT_REFRESH_MS = 60_000;
const DEFAULT_TRUST_MS = 3_600_000;
const FIRST_RETRY_MS = 250;

export class AccountDirectory {
  readonly #host: Host;
  readonly #source: DnsSource | undefined;
  readonly #listeners = new Set<(record: AccountRecord) => void>();
  readonly #waiters = new Set<Waiter>();
  #known: Known | undefined;
  /** The confirmation that the disk knows of. */
  #savedAt = -Infinity;
  #loading: Promise<void> | undefined;
  #refreshing: Promise<RefreshOutcome> | undefined;
  #timer: Timer | undefined;
  #failures = 0;
  #problem: DiscoveryError | undefined;
  #isClosed = false;

  /** Throws a DiscoveryError about what cannot be used. From here on the background refreshes until `close`. */
  static open(options: Discovery): AccountDirectory {
    const directory = new AccountDirectory(options);
    if (directory.#source !== undefined) directory.#refreshInBackground();
    return directory;
  }

  /** Without a background: it knows what `refresh` brings, and `current` waits for that. */
  static idle(options: Discovery): AccountDirectory {
    return new AccountDirectory(options);
  }

  private constructor(options: Discovery) {
    this.#host = options.host ?? NODE_HOST;
    if ('endpoints' in options) this.#known = fixed(options);
    else this.#source = new DnsSource(options, this.#host);
  }

  /** Without waiting for anything. */
  get known(): AccountRecord | undefined {
    return this.#known?.record;
  }

  get source(): RecordSource | undefined {
    return this.#known?.source;
  }

  /** Why the last question to DNS brought nothing. */
  get problem(): DiscoveryError | undefined {
    return this.#problem;
  }

  /** From memory, else from disk, else from DNS. Rejects when the time is over, with what was wrong last. */
  async current({
    timeoutMs = DEFAULT_TIMEOUT_MS,
  }: { readonly timeoutMs?: number } = {}): Promise<AccountRecord> {
    this.#refuseIfClosed();
    const remembered = this.known;
    if (remembered !== undefined) return remembered;
    await this.#load();
    this.#refuseIfClosed();
    const kept = this.known;
    if (kept !== undefined) return kept;
    return new Promise((resolve, reject) => {
      const timer = this.#host.after(timeoutMs, () => waiter.reject(this.#problem ?? this.#unresolved()));
      const settle = (): void => {
        this.#host.cancel(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        resolve: (record) => {
          settle();
          resolve(record);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
    });
  }

  /** Asks DNS now; whoever calls while a question is under way gets its answer. Rejects only when closed. */
  refresh(): Promise<RefreshOutcome> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /** Called after the known record has changed, also with the first one. Gives back how to stop that. */
  onChange(listener: (record: AccountRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#host.cancel(this.#timer);
    this.#listeners.clear();
    this.#source?.lookup.cancel();
    for (const waiter of this.#waiters) waiter.reject(closed());
    await this.#loading;
    await this.#refreshing?.catch(() => {});
  }

  #refreshInBackground(): void {
    this.refresh().then(
      () => this.#schedule(),
      // Closed while it asked: there is no next time.
      () => {},
    );
  }

  #schedule(): void {
    if (this.#isClosed) return;
    const { refreshMs } = this.#source!;
    const chance = this.#host.random();
    const retryMs = FIRST_RETRY_MS * 2 ** Math.min(this.#failures - 1, 20);
    const delay =
      this.#failures === 0
        ? refreshMs * (0.75 + 0.5 * chance)
        : Math.min(refreshMs, retryMs) * (0.5 + 0.5 * chance);
    this.#timer = this.#host.after(delay, () => this.#refreshInBackground());
  }

  /** Once: after that, memory is at least as good. */
  #load(): Promise<void> {
    this.#loading ??= this.#loadFromDisk();
    return this.#loading;
  }

  async #loadFromDisk(): Promise<void> {
    const kept = await this.#source?.cache?.load();
    if (kept === undefined || this.#isClosed || this.#known !== undefined) return;
    const age = this.#host.wallClock() - kept.confirmedAt;
    const confirmedAt = age < 0 ? -Infinity : this.#host.now() - age;
    this.#savedAt = confirmedAt;
    this.#take({ record: kept.record, text: kept.text, source: 'disk', confirmedAt });
  }

  async #refresh(): Promise<RefreshOutcome> {
    this.#refuseIfClosed();
    const source = this.#source;
    if (source === undefined) return { kind: 'same' };
    await this.#load();
    this.#refuseIfClosed();
    const answer = await source.lookup.ask(source.name);
    this.#refuseIfClosed();
    const found = answer.kind === 'found' ? findAccountRecord(answer.txt, source.account) : undefined;
    if (found?.kind !== 'record') return this.#keep(problemWith(source.name, answer, found));
    if (this.#isOutdated(found.record)) return this.#keep(undefined);
    const isNew = this.#known?.text !== found.text;
    this.#failures = 0;
    this.#problem = undefined;
    this.#take(
      { record: found.record, text: found.text, source: 'dns', confirmedAt: this.#host.now() },
      isNew,
    );
    await this.#save(source, isNew);
    return { kind: isNew ? 'changed' : 'same' };
  }

  #isOutdated(found: AccountRecord): boolean {
    const known = this.#known;
    if (known === undefined || found.serial >= known.record.serial) return false;
    return this.#host.now() - known.confirmedAt <= this.#source!.trustMs;
  }

  #keep(problem: DiscoveryError | undefined): RefreshOutcome {
    this.#failures = problem === undefined ? 0 : this.#failures + 1;
    this.#problem = problem;
    return { kind: 'kept', problem };
  }

  #take(known: Known, isNew = true): void {
    this.#known = known;
    for (const waiter of this.#waiters) waiter.resolve(known.record);
    if (!isNew) return;
    for (const listener of this.#listeners)
      this.#host.soon(() => {
        if (this.#listeners.has(listener)) listener(known.record);
      });
  }

  /** The time of the confirmation alone is not worth a write each time. */
  async #save({ cache, trustMs }: DnsSource, isNew: boolean): Promise<void> {
    const { text, confirmedAt } = this.#known!;
    if (cache === undefined || (!isNew && confirmedAt - this.#savedAt < trustMs / 4)) return;
    if (await cache.save({ text, confirmedAt: this.#host.wallClock() })) this.#savedAt = confirmedAt;
  }

  #refuseIfClosed(): void {
    if (this.#isClosed) throw closed();
  }

  #unresolved(): DiscoveryError {
    return unresolved(this.#source!.name, 'no answer yet');
  }
}

/** What a directory asks, and where it keeps the answer. */
class DnsSource {
  readonly name: string;
  readonly account: string;
  readonly lookup: TxtLookup;
  readonly cache: RecordCache | undefined;
  readonly refreshMs: number;
  readonly trustMs: number;

  constructor(options: DnsDiscovery, host: Host) {
    const { cacheDirectory = defaultCacheDirectory(), servers = [] } = options;
    this.name = options.name.toLowerCase().replace(/\.$/, '');
    if (!NAME.test(this.name))
      throw new DiscoveryError(
        'ACCOUNT_NAME_INVALID',
        `"${options.name.slice(0, 300)}" is not a valid DNS name.`,
      );
    this.account = this.name.split('.')[0]!;
    this.refreshMs = options.refreshMs ?? DEFAULT_REFRESH_MS;
    this.trustMs = options.trustMs ?? DEFAULT_TRUST_MS;
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.lookup = options.lookup ?? dnsLookup({ host, servers, timeoutMs });
    if (cacheDirectory === false) return;
    const { name, account } = this;
    const uniqueId = (): string => host.randomId();
    this.cache = new RecordCache({ directory: cacheDirectory, name, account, servers, uniqueId });
  }
}

function fixed({ account, endpoints, consistency }: StaticDiscovery): Known {
  const level = consistency === undefined ? {} : { consistency };
  const record: AccountRecord = { account, serial: 0, ...level, regions: endpoints };
  return { record, text: encodeAccountRecord(record), source: 'static', confirmedAt: 0 };
}

function problemWith(
  name: string,
  answer: TxtAnswer,
  found: ReturnType<typeof findAccountRecord>,
): DiscoveryError {
  if (answer.kind === 'failed') return unresolved(name, answer.reason);
  if (found?.kind === 'newer') {
    const message = `The record of ${name} is of version ${found.version}: this client is too old for it.`;
    return new DiscoveryError('ACCOUNT_RECORD_NEWER', message);
  }
  if (found?.kind === 'invalid')
    return new DiscoveryError(
      'ACCOUNT_RECORD_INVALID',
      `The record of ${name} is not valid. ${found.reason}`,
    );
  return new DiscoveryError('ACCOUNT_NOT_FOUND', `DNS has no record of an account at ${name}.`);
}

function unresolved(name: string, reason: string): DiscoveryError {
  return new DiscoveryError('ACCOUNT_UNRESOLVED', `DNS does not answer for ${name} (${reason}).`);
}

function closed(): DiscoveryError {
  return new DiscoveryError('DISCOVERY_CLOSED', 'The directory of the account has been closed.');
}
