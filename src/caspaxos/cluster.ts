/**
 * The library's front: registers that change atomically and survive the loss of a minority of their acceptors.
 *
 *   const cluster = await openCluster({ acceptors: ['http://a:7400', 'http://b:7400', 'http://c:7400'] });
 *   const outcome = await cluster.change('counter', (n: number | undefined) => (n ?? 0) + 1);
 *
 * A change travels: `change` makes the operation (`core/change.ts`) and hands it to the key's `Register`, which drives
 * the proposer (`core/proposer.ts`); its messages leave through a `Batcher` for each acceptor.
 */
import { EventEmitter } from 'node:events';
import { formatBallot, type Host } from '../protocol/index.ts';
import { type ClusterCounters, type ClusterLatencies, newCounters, newLatencies } from './counters.ts';
import {
  type AcceptorMember,
  BallotSources,
  type Backoff,
  type Configuration,
  type CounterSource,
  type Doubt,
  DEFAULT_PROPOSER_POLICY,
  takeTurns,
  hybrid,
  Pace,
  type JsonEditor,
  parseConfiguration,
  type ProposerIdentity,
  type ProposerPolicy,
  RegisterChange,
  type RegisterReply,
} from './core/index.ts';
import type { Acceptor } from './acceptors.ts';
import { abortedError, ChangeCall, closedError, notBegun } from './change-call.ts';
import { changeSet } from './change-set.ts';
import { Deadlines, type Expiring } from './deadlines.ts';
import { doubted } from './doubts.ts';
import {
  anyJson,
  type Codec,
  decide,
  decodeOutcome,
  type Editor,
  type JsonOutcome,
  keep,
  Rejection,
  within,
} from './editing.ts';
import { asCasPaxosError, CasPaxosError } from './errors.ts';
import { type AcceptorStatus, Membership } from './membership.ts';
import { NODE_HOST } from './node-host.ts';
import {
  type CallOptions,
  type ChangeOptions,
  type ChangeOutcome,
  type Coded,
  committed,
  type ReadResult,
} from './outcomes.ts';
import { readEnvelope, readJson, readQuorum } from './read.ts';
import { Register, type RegisterEnvironment, type View } from './register.ts';
import type { ConfigurationEdit, EditOptions } from './revisions.ts';
import type { ServiceTls } from './service/client.ts';
import {
  checkKey,
  checkOperation,
  CONFIGURATION_KEY,
  DEFAULT_MAX_VALUE_BYTES,
  proposerName,
  sameJson,
} from './values.ts';
import { watchRegister, type WatchOptions } from './watch.ts';

export interface ClusterOptions {
  /** URLs of the acceptors: `http(s)://HOST:PORT` of a service, `lmdb:PATH`, or `memory:NAME`. */
  readonly acceptors: readonly string[];
  /** A name for this process in ballots and logs. Need not be unique: a random incarnation is added. */
  readonly proposer?: string;
  /** The acceptor services' bearer token. */
  readonly token?: string;
  /** PEM certificates to trust for https acceptors instead of the system's. */
  readonly ca?: string;
  /** Instead of `ca`, and the certificate that acceptors are shown which want one. Asked anew for every connection. */
  readonly tls?: () => ServiceTls | undefined;
  /** Quorum sizes for a cluster that is opened for the first time; a majority by default. */
  readonly quorums?: { readonly phase1: number; readonly phase2: number };
  /** How long a change or read may take when its caller does not say: 5000. */
  readonly timeoutMs?: number;
  /** How long one acceptor may take to answer: 1000. */
  readonly requestTimeoutMs?: number;
  readonly maxValueBytes?: number;
  /** Prepare the next ballot along with each change, so that it needs one round trip: true. */
  readonly oneRoundTrip?: boolean;
  /** Opens acceptors of one's own, before the built-in URL schemes are tried: undefined leaves it to those. */
  readonly openAcceptor?: (url: string) => Acceptor | undefined;
  readonly ballots?: CounterSource;
  readonly backoff?: Backoff;
  /** When a ballot counts as lost; see `core/proposer.ts`. */
  readonly giveUp?: ProposerPolicy['giveUp'];
  /** Clocks, timers and chance: those of the process unless a simulator has its own. */
  readonly host?: Host;
}

export interface ClusterEvents {
  /** Something that an operator should know and that does not stop the work. */
  warning: [error: CasPaxosError];
  /** An acceptor stopped or started answering. */
  acceptor: [status: AcceptorStatus];
  /** The set of acceptors changed. */
  configuration: [configuration: Configuration];
  /** Something is badly wrong: one ballot was used for two values (rule 3), or the work on a register failed. */
  alarm: [error: CasPaxosError];
}

/** Idle registers beyond this many are forgotten; all they held was a prepared ballot. */
const MAX_IDLE_REGISTERS = 100_000;
const REWRITE_TIMEOUT_MS = 30_000;
const MAX_WARNINGS = 1000;

export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const cluster = new Cluster(options);
  await cluster.open();
  return cluster;
}

export class Cluster extends EventEmitter<ClusterEvents> {
  readonly counters: ClusterCounters = newCounters();
  readonly latencies: ClusterLatencies = newLatencies();
  readonly #options: ClusterOptions;
  readonly #origin: string;
  readonly #registers = new Map<string, Register>();
  readonly #busy = new Set<Register>();
  readonly #membership: Membership;
  readonly #environment: RegisterEnvironment;
  readonly #host: Host;
  readonly #deadlines: Deadlines;
  readonly #warned = new Set<string>();
  #lastFailure = { at: -Infinity, message: '' };
  #operations = 0;
  #closed = false;

  constructor(options: ClusterOptions) {
    super();
    this.#options = options;
    const host = options.host ?? NODE_HOST;
    this.#host = host;
    this.#deadlines = new Deadlines(host);
    const identity = this.#newIdentity();
    this.#origin = `${identity.proposer}/${identity.incarnation.toString(36)}`;
    this.#membership = new Membership({
      ...options,
      host,
      requestTimeoutMs: options.requestTimeoutMs ?? 1000,
      counters: this.counters,
      editConfiguration: (edit, settings) => this.#editConfiguration(edit, settings),
      onView: () => this.#onView(),
      onStatus: (status) => this.emit('acceptor', status),
      onWarning: (error) => this.#tell('warning', error),
    });
    this.#environment = {
      host,
      ballots: this.#newBallots(identity),
      policy: {
        prepareAhead: options.oneRoundTrip ?? true,
        giveUp: options.giveUp ?? DEFAULT_PROPOSER_POLICY.giveUp,
      },
      backoff: options.backoff ?? takeTurns,
      counters: this.counters,
      latencies: this.latencies,
      pace: new Pace(),
      view: () => this.#membership.view,
      onReply: (reply) => this.#onUnusualReply(reply),
      onUnavailable: () => this.#lookForNewerSet(),
      onIdle: (register) => this.#onIdle(register),
      onDoubt: (acceptor, key, doubt) => this.#onDoubt(acceptor, key, doubt),
      onError: (key, error) => this.#onError(key, error),
    };
  }

  /** Finds out which acceptors are in force. `openCluster` calls it. */
  async open(): Promise<void> {
    await this.#membership.open();
  }

  get configuration(): Configuration {
    return this.#membership.configuration;
  }

  /** How each acceptor is doing, as seen from this process. */
  get acceptors(): readonly AcceptorStatus[] {
    return this.#membership.statuses;
  }

  /**
   * Applies a pure editor to the register's value, atomically. The editor may run many times. It returns the new value,
   * the value it was given to leave it, `undefined` to delete it, or `reject(reason)`. Throws only what a codec throws at a
   * value that it has written itself: that change is committed.
   */
  async change<T>(
    key: string,
    editor: Editor<T>,
    options: ChangeOptions & Coded<T> = {},
  ): Promise<ChangeOutcome<T>> {
    const problem = checkKey(key) ?? (options.retryOf && checkOperation(options.retryOf));
    if (problem !== undefined) return this.#count({ outcome: 'rejected', error: problem });
    const codec = this.#codec(options);
    const outcome = await this.#run(key, (json) => decide(editor, json, codec), options);
    return decodeOutcome(this.#count(outcome), codec);
  }

  /** The register's value, at least as new as every change that was committed before the call. Throws if it cannot. */
  async read<T>(key: string, options: CallOptions & Coded<T> = {}): Promise<ReadResult<T>> {
    const problem = checkKey(key);
    if (problem !== undefined) throw problem;
    const startedAt = this.#host.now();
    this.counters.reads += 1;
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    if (this.#closed) throw closedError();
    const fast = await this.#inTime(
      readQuorum(key, this.#environment, () => options.backoff?.sent?.()),
      timeoutMs,
      options.signal,
    );
    let result: ReadResult<T>;
    if (fast === undefined) {
      this.counters.slowReads += 1;
      result = await this.#readByChange<T>(key, {
        ...options,
        timeoutMs: timeoutMs - (this.#host.now() - startedAt),
      });
    } else {
      result = readEnvelope(key, fast.value, this.#codec(options));
    }
    this.latencies.read.record(this.#host.now() - startedAt);
    return result;
  }

  /** Replaces `expected` by `replacement`, or is rejected with COMPARISON_FAILED and what was there. */
  compareAndSwap<T>(
    key: string,
    expected: T | undefined,
    replacement: T | undefined,
    options: ChangeOptions = {},
  ): Promise<ChangeOutcome<T>> {
    return this.change<T>(
      key,
      (current) =>
        sameJson(current, expected)
          ? replacement
          : new Rejection('The register holds another value.', 'COMPARISON_FAILED'),
      options,
    );
  }

  /** Leaves a tombstone: the register keeps its place in history and its version goes on. */
  delete(key: string, options: ChangeOptions = {}): Promise<ChangeOutcome<unknown>> {
    return this.change<unknown>(key, () => undefined, options);
  }

  /** The register's values from now on, by polling; values in between two polls are not seen. */
  watch<T>(key: string, options: WatchOptions = {}): AsyncGenerator<ReadResult<T>, void, undefined> {
    return watchRegister<T>(this, key, options);
  }

  /** Replaces the whole set of acceptors while everything runs (rule 9). */
  async changeAcceptors(urls: readonly string[], quorums?: ClusterOptions['quorums']): Promise<void> {
    await this.#changeSet(urls, quorums);
  }

  async #changeSet(
    urls: readonly string[],
    quorums: ClusterOptions['quorums'],
    leaving?: AcceptorMember,
  ): Promise<void> {
    await changeSet({
      membership: this.#membership,
      urls,
      quorums,
      leaving,
      rewrite: (key) => this.#rewrite(key),
      editConfiguration: (edit) => this.#editConfiguration(edit),
      editByOld: (edit) => this.#editConfiguration(edit, { view: () => this.#membership.viewOfOld }),
    });
  }

  /** Puts a new, empty acceptor in the place of one that is gone for good. `old`: its id or URL. */
  async replaceAcceptor(old: string, url: string): Promise<void> {
    const { acceptors, quorums } = this.configuration;
    const place = old.includes(':') ? this.#membership.addressOf(old) : old;
    const isOld = (member: AcceptorMember): boolean => member.id === old || member.url === place;
    if (!acceptors.some(isOld)) {
      throw new CasPaxosError('SET_CHANGE_FAILED', `There is no acceptor ${place} in this cluster.`);
    }
    const urls = acceptors.map((member) => (isOld(member) ? url : member.url));
    await this.#changeSet(urls, quorums, acceptors.find(isOld));
  }

  /** Ends what is under way (with its true outcome) and lets go of the acceptors. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#deadlines.endAll();
    await this.#membership.close();
  }

  get #timeoutMs(): number {
    return this.#options.timeoutMs ?? 5000;
  }

  #codec<T>({ codec }: Coded<T>): Codec<T> {
    const maxBytes = this.#options.maxValueBytes ?? DEFAULT_MAX_VALUE_BYTES;
    return codec === undefined ? anyJson(maxBytes) : within(codec, maxBytes);
  }

  #run(
    key: string,
    editor: JsonEditor,
    options: ChangeOptions,
    force = false,
    register = this.#register(key),
  ): Promise<JsonOutcome> {
    const { signal, retryOf, backoff } = options;
    const early = this.#closed ? closedError() : signal?.aborted ? abortedError() : undefined;
    if (early !== undefined) return Promise.resolve(notBegun(early, retryOf));
    this.#operations += 1;
    const operation = retryOf ?? { origin: this.#origin, sequence: this.#operations };
    this.#busy.add(register);
    return new Promise((resolve) => {
      const call = new ChangeCall(
        {
          change: new RegisterChange(editor, operation, retryOf),
          register,
          force,
          uncertain: retryOf !== undefined,
          backoff,
          timeoutMs: options.timeoutMs ?? this.#timeoutMs,
          signal,
          deadlines: this.#deadlines,
          host: this.#host,
          late: this.#late,
        },
        resolve,
      );
      call.start();
    });
  }

  /** The work's result, or the error of the deadline or the abort that came first. */
  async #inTime<R>(work: Promise<R>, timeoutMs: number, signal: AbortSignal | undefined): Promise<R> {
    let fail: (error: CasPaxosError) => void = () => {};
    const call: Expiring = {
      deadlineAt: this.#host.now() + timeoutMs,
      expire: (why) =>
        fail(why === 'closed' ? closedError() : this.#late(timeoutMs, 'too few acceptors answered')),
    };
    const onAbort = (): void => fail(abortedError());
    try {
      return await new Promise<R>((resolve, reject) => {
        fail = reject;
        this.#deadlines.add(call);
        signal?.addEventListener('abort', onAbort, { once: true });
        if (signal?.aborted) onAbort();
        work.then(resolve, reject);
      });
    } finally {
      this.#deadlines.remove(call);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #register(key: string): Register {
    let register = this.#registers.get(key);
    if (register === undefined) {
      register = new Register(key, this.#environment);
      this.#registers.set(key, register);
    }
    return register;
  }

  #onIdle(register: Register): void {
    this.#busy.delete(register);
    if (register.holdsNothing) this.#forget(register);
    if (this.#registers.size <= MAX_IDLE_REGISTERS) return;
    // Oldest first.
    for (const candidate of this.#registers.values()) if (candidate.isIdle) return this.#forget(candidate);
  }

  #forget(register: Register): void {
    this.#registers.delete(register.key);
    register.giveUp();
  }

  async #readByChange<T>(key: string, options: CallOptions & Coded<T>): Promise<ReadResult<T>> {
    const outcome = await this.#run(key, keep, options);
    if (outcome.outcome !== 'committed') throw new CasPaxosError(outcome.error.code, outcome.error.message);
    return readJson(key, outcome.value, outcome.version, this.#codec(options));
  }

  /** Rule 9: has the register's value accepted by quorums of both sets, unchanged. */
  async #rewrite(key: string): Promise<void> {
    committed(await this.#run(key, keep, { timeoutMs: REWRITE_TIMEOUT_MS }, true));
  }

  /** Of others than those in force: with a register and ballots of its own, as another process would have them. */
  #registerIn(view: () => View): Register {
    const register: Register = new Register(CONFIGURATION_KEY, {
      ...this.#environment,
      ballots: this.#newBallots(),
      view,
      onIdle: () => this.#busy.delete(register),
    });
    return register;
  }

  #newIdentity(): ProposerIdentity {
    const proposer = proposerName(this.#options.proposer ?? 'proposer');
    return { proposer, incarnation: 1 + this.#host.randomInteger(2 ** 48 - 2) };
  }

  #newBallots(identity = this.#newIdentity()): BallotSources {
    const clock = (): number => this.#host.wallClock();
    return new BallotSources(identity, this.#options.ballots ?? hybrid(clock), clock);
  }

  async #editConfiguration(edit: ConfigurationEdit, options: EditOptions = {}): Promise<Configuration> {
    const { view, ...call } = options;
    const editor: JsonEditor = (json) => {
      const known = json === undefined ? undefined : parseConfiguration(json);
      return { type: 'set', json: JSON.stringify(edit(known)) };
    };
    const outcome = await this.#run(CONFIGURATION_KEY, editor, call, false, view && this.#registerIn(view));
    return parseConfiguration(committed(outcome).value!);
  }

  #onView(): void {
    for (const register of this.#busy) register.adopt();
    this.emit('configuration', this.configuration);
  }

  #onUnusualReply(reply: RegisterReply): void {
    if (reply.type === 'stale-set') {
      this.#lookForNewerSet();
    } else if (reply.type === 'alarm') {
      this.counters.alarms += 1;
      const url = this.acceptors[reply.acceptor]?.url ?? 'an acceptor';
      const message = `${url} was asked to accept two values under one ballot, ${formatBallot(reply.ballot)}.`;
      this.emit('alarm', new CasPaxosError('BALLOT_REUSED', message, { outcome: 'unknown' }));
    } else if (reply.type === 'failed') {
      this.#lastFailure = { at: this.#host.now(), message: reply.message };
      if (reply.code === 'CORRUPT_RECORD') this.#warnOnce(new CasPaxosError(reply.code, reply.message));
    }
  }

  /** Counted each time, told once of each acceptor: it may be about every register. */
  #onDoubt(acceptor: number, key: string, doubt: Doubt): void {
    this.counters.doubts += 1;
    const url = this.acceptors[acceptor]?.url ?? 'an acceptor';
    const { error, about } = doubted(url, key, doubt);
    this.#warnOnce(error, about);
  }

  /** An error in the work on one register: its change ends with it, and nothing else does. */
  #onError(key: string, error: unknown): CasPaxosError {
    this.counters.errors += 1;
    const failure = asCasPaxosError(error, 'REGISTER_FAILED', `The work on register ${key} failed`);
    this.#tell('alarm', failure);
    return failure;
  }

  /** Whoever slept through a change of the set finds out from the acceptors that are left. */
  #lookForNewerSet(): void {
    this.#membership.refresh().catch((error: unknown) => {
      this.#warnOnce(asCasPaxosError(error, 'STALE_SET', 'The newer set of acceptors cannot be used'));
    });
  }

  #warnOnce(error: CasPaxosError, what = error.message): void {
    if (this.#warned.size > MAX_WARNINGS || this.#warned.has(what)) return;
    this.#warned.add(what);
    this.#tell('warning', error);
  }

  #tell(event: 'warning' | 'alarm', error: CasPaxosError): void {
    // A listener can only be attached once the cluster is there, so a warning of its opening waits for it.
    this.#host.soon(() => {
      if (!this.emit(event, error)) process.emitWarning(error.message, { code: error.code });
    });
  }

  #count<T>(outcome: ChangeOutcome<T>): ChangeOutcome<T> {
    this.counters[outcome.outcome] += 1;
    return outcome;
  }

  readonly #late = (timeoutMs: number, waitsFor: string): CasPaxosError => {
    const failedLately = this.#host.now() - this.#lastFailure.at < timeoutMs;
    const failure = failedLately ? this.#lastFailure.message.replace(/\.$/, '') : undefined;
    const why = this.#membership.trouble() ?? failure ?? waitsFor;
    return new CasPaxosError('DEADLINE_EXCEEDED', `Not done within ${Math.round(timeoutMs)} ms: ${why}.`);
  };
}
