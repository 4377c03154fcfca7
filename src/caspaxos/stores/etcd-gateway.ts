/**
 * Conversations with an etcd cluster through its JSON gateway, over connections that are kept.
 *
 * Any member of the cluster will do, so one is used until it fails, and the next one then. A request is sent to a second
 * member only if it never left for the first (rule 7); whatever may have arrived fails, and the call after it goes elsewhere.
 */
import { type Agent, type ClientRequest, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { CasPaxosError } from '../errors.ts';
import type { Lineage } from './lineage.ts';
import { isAuthenticationOff, type Refusal, refusalIn } from './etcd-refusals.ts';
import { defectOf, SyncWatch } from './etcd-safety.ts';
import { SafetyWatch } from './safety-watch.ts';
import type { StoreOptions } from './store.ts';
import type { StoreCalls } from './store-calls.ts';
import type { StoreHost, StoreUrl } from './store-url.ts';

/** Enough for all batches under way; more would only wait at the leader. */
const SOCKETS = 16;
/** Answers that hold all that was answered before; those about users and tokens are each member's own. */
const ABOUT_KEYS = '/v3/kv/';
/** After no member could be reached, calls fail at once for this long instead of each trying again. */
const RECONNECT_AFTER_MS = 100;

/** What a member tells monitoring. */
const METRICS = '/metrics';

/** What is told of the cluster, and of what arrives. */
interface Told {
  readonly lineage: Lineage;
  readonly calls: StoreCalls;
}

interface Question {
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly body: string;
  readonly token: string | undefined;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface AnswerBody {
  /** Numbers of 64 bits, as text. */
  readonly header?: { readonly cluster_id?: string; readonly revision?: string };
  readonly token?: string;
  /** Of a transaction: those in it that are transactions have made their writes, or have not. */
  readonly responses?: readonly { readonly response_txn?: { readonly succeeded?: boolean } }[];
}

class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.error.message);
    this.refusal = refusal;
  }
}

/** The member could not be talked to. */
class LostError extends Error {
  /** Whether the request may have arrived. */
  readonly wasSent: boolean;

  constructor(reason: string, wasSent: boolean) {
    super(reason);
    this.wasSent = wasSent;
  }
}

export class EtcdGateway {
  readonly #url: StoreUrl;
  readonly #password: string | undefined;
  readonly #timeoutMs: number;
  readonly #lineage: Lineage;
  readonly #agent: Agent;
  readonly #request: typeof httpRequest;
  #requests = 0;
  /** Of each member, as the URL names them. */
  readonly #watches: readonly SyncWatch[];
  readonly #safety: readonly SafetyWatch[];
  /** The member in use. */
  #at = 0;
  #token: Promise<string | undefined> | undefined;
  #cluster: string | undefined;
  /** The highest that an answer about keys told. */
  #revision = 0;
  #failure: CasPaxosError | undefined;
  #failedAt = -Infinity;
  #isClosed = false;

  constructor(url: StoreUrl, options: StoreOptions, { lineage, calls }: Told) {
    this.#url = url;
    this.#lineage = lineage;
    this.#watches = url.hosts.map(() => new SyncWatch());
    this.#safety = url.hosts.map(() => new SafetyWatch(lineage));
    this.#password = url.password ?? process.env['ETCD_PASSWORD'];
    this.#timeoutMs = options.timeoutMs;
    const { tls } = url;
    this.#agent = calls.agent(tls, { keepAlive: true, maxSockets: SOCKETS });
    this.#request = tls === undefined ? httpRequest : httpsRequest;
  }

  get requests(): number {
    return this.#requests;
  }

  /** Of a single member; several are one cluster, which does not end with one of them. */
  get life(): string | undefined {
    return this.#watches.length === 1 ? this.#watches[0]!.life : undefined;
  }

  /** Rejects with a `CasPaxosError`; what etcd did with the request is unknown then. */
  async call(path: string, request: object, signal: AbortSignal): Promise<unknown> {
    const body = JSON.stringify(request);
    try {
      const token = this.#authenticate(signal);
      return await this.#ask(path, body, await token, signal).catch((error: unknown) => {
        if (!mayAuthenticate(error) || this.#url.user === undefined) throw error;
        // Refused for its token: it was not carried out. Tokens expire, and are forgotten when etcd restarts.
        if (this.#token === token) this.#token = undefined;
        return this.#authenticate(signal).then((fresh) => this.#ask(path, body, fresh, signal));
      });
    } catch (error) {
      throw this.#failureOf(error);
    }
  }

  /** Whether the member in use keeps what it answers. One that cannot be asked is not judged: whoever needs it finds out. */
  async look(signal: AbortSignal): Promise<void> {
    const at = this.#at;
    const watch = this.#watches[at]!;
    const begun = watch.beginLook();
    const request: Question = { path: METRICS, method: 'GET', body: '', token: undefined };
    const answer = await this.#send(this.#url.hosts[at]!, request, signal).catch(() => undefined);
    if (answer?.status !== 200) return;
    const unsynced = 'answers before its log is on disk: start etcd without --unsafe-no-fsync';
    const what = defectOf(answer.text) ?? (watch.syncs(begun, answer.text) ? undefined : unsynced);
    const { life } = watch;
    if (what === undefined) {
      if (life !== undefined) this.#safety[at]!.safe(life);
      return;
    }
    if (life !== undefined) this.#safety[at]!.unsafe(life, what);
    throw new CasPaxosError('STORE_FAILED', `Acceptor ${this.#url.place} ${what}.`);
  }

  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }

  #authenticate(signal: AbortSignal): Promise<string | undefined> {
    if (this.#url.user === undefined) return Promise.resolve(undefined);
    if (this.#token === undefined) {
      const token = this.#newToken(this.#url.user, signal);
      token.catch(() => {
        if (this.#token === token) this.#token = undefined;
      });
      this.#token = token;
    }
    return this.#token;
  }

  async #newToken(name: string, signal: AbortSignal): Promise<string | undefined> {
    const body = JSON.stringify({ name, password: this.#password ?? '' });
    try {
      const { token } = await this.#ask('/v3/auth/authenticate', body, undefined, signal);
      return token;
    } catch (error) {
      // A cluster that asks nobody for a name takes everybody, as its own clients see it.
      if (error instanceof RefusedError && isAuthenticationOff(error.message)) return undefined;
      throw error;
    }
  }

  /** Asks the member in use; while none could be reached at all, each of the others once. */
  async #ask(
    path: string,
    body: string,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<AnswerBody> {
    if (this.#isClosed) throw new CasPaxosError('CLOSED', `The connection to ${this.#url.place} is closed.`);
    if (performance.now() - this.#failedAt < RECONNECT_AFTER_MS) throw this.#failure!;
    const { hosts, place } = this.#url;
    for (let left = hosts.length; ;) {
      const at = this.#at;
      const revision = this.#revision;
      const begun = this.#watches[at]!.beginWrite();
      try {
        const answer = await this.#send(hosts[at]!, { path, method: 'POST', body, token }, signal);
        const refusal = refusalIn(place, answer.status, answer.text);
        if (refusal !== undefined) throw new RefusedError(refusal);
        const told = this.#checked(JSON.parse(answer.text) as AnswerBody);
        if (hasWritten(told)) this.#watches[at]!.wrote(begun);
        if (path.startsWith(ABOUT_KEYS)) this.#compare(told, revision);
        return told;
      } catch (error) {
        if (!(error instanceof RefusedError) || error.refusal.after === 'another-endpoint') this.#leave(at);
        left -= 1;
        if (!(error instanceof LostError) || error.wasSent || signal.aborted) throw error;
        if (left > 0) continue;
        this.#failure = this.#failureOf(error);
        this.#failedAt = performance.now();
        throw error;
      }
    }
  }

  #leave(at: number): void {
    if (this.#at === at) this.#at = (at + 1) % this.#url.hosts.length;
  }

  #send(
    { host, port }: StoreHost,
    { path, method, body, token }: Question,
    signal: AbortSignal,
  ): Promise<Answer> {
    this.#requests += 1;
    return new Promise((resolve, reject) => {
      let wasSent = false;
      const lost = (error: NodeJS.ErrnoException): void =>
        reject(new LostError(error.message || (error.code ?? 'no reason'), wasSent));
      const request = this.#request({
        host,
        port,
        path,
        method,
        agent: this.#agent,
        signal,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...(token !== undefined && { authorization: token }),
        },
      });
      request.on('error', lost);
      this.#watchConnecting(request, () => {
        wasSent = true;
      });
      request.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', lost);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString('utf8') }),
        );
      });
      request.end(body);
    });
  }

  /** A member that swallows connections must leave time for the others. */
  #watchConnecting(request: ClientRequest, connected: () => void): void {
    request.on('socket', (socket: Socket) => {
      if (!socket.connecting) return connected();
      const limit = setTimeout(
        () => request.destroy(new Error('no connection in time')),
        this.#timeoutMs / this.#url.hosts.length,
      );
      socket.once(this.#agent instanceof HttpsAgent ? 'secureConnect' : 'connect', () => {
        clearTimeout(limit);
        connected();
      });
      socket.once('close', () => clearTimeout(limit));
    });
  }

  /** Several endpoints are one acceptor only if they are one cluster. */
  #checked(body: AnswerBody): AnswerBody {
    const cluster = body.header?.cluster_id;
    this.#cluster ??= cluster;
    if (this.#url.hosts.length > 1 && cluster !== this.#cluster)
      throw new CasPaxosError(
        'STORE_FAILED',
        `Acceptor ${this.#url.place} names members of different etcd clusters, or one that was restored; one acceptor is one cluster.`,
      );
    if (cluster !== undefined) this.#lineage.saw(`etcd cluster ${cluster}`);
    return body;
  }

  /**
   * A cluster that is restored under the same names has the same id, but its revision is the copy's. Whichever member answers,
   * it answers from at least the revision that was `known` when it was asked, and writes make another: that is what linearizable means.
   */
  #compare(told: AnswerBody, known: number): void {
    const revision = Number(told.header?.revision ?? Number.NaN);
    if (!(revision > 0)) return;
    const before = hasWritten(told) ? revision - 1 : revision;
    if (before < known) this.#lineage.wentBack('its revision', `${known}`, `${before}`);
    this.#revision = Math.max(this.#revision, revision);
  }

  #failureOf(error: unknown): CasPaxosError {
    if (error instanceof CasPaxosError) return error;
    if (error instanceof RefusedError) return error.refusal.error;
    const { place } = this.#url;
    if (error instanceof SyntaxError)
      return new CasPaxosError('STORE_FAILED', `Acceptor ${place} gave an answer that is no JSON.`);
    const reason = error instanceof Error ? error.message : String(error);
    return new CasPaxosError('UNREACHABLE', `Acceptor ${place} cannot be reached (${reason}).`);
  }
}

function hasWritten({ responses = [] }: AnswerBody): boolean {
  return responses.some(({ response_txn }) => response_txn?.succeeded === true);
}

function mayAuthenticate(error: unknown): boolean {
  return error instanceof RefusedError && error.refusal.after === 'authenticate';
}
