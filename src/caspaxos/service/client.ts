/**
 * The proposer's end of a stream to an acceptor service. It connects on first use, shares one stream among all calls,
 * fails every call that is under way when the stream breaks (their fate is unknown), and connects again for the next.
 *
 * It is also where rule 8 is kept for services: who answers must be who it was, with a sequence number that never
 * goes back.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Acceptor, AcceptorDescription } from '../acceptors.ts';
import {
  type Configuration,
  type Life,
  lifeStanding,
  type LifeStanding,
  type RegisterReply,
  type RegisterRequest,
  type ToldLife,
} from '../core/index.ts';
import { asCasPaxosError, CasPaxosError, isErrorCode, notThere } from '../errors.ts';
import { retirementError } from '../retired.ts';
import { answerIn, descriptionIn, type Greeting, greetingIn } from './answers.ts';
import { flattenRequests, pack, unflattenReplies, unpack } from './codec.ts';
import { frame, FrameSplitter } from './frames.ts';
import {
  type AnswerFrame,
  type CallName,
  MAX_ANSWER_BYTES,
  NO_CERTIFICATE,
  noSuchCall,
  type Standing,
  STREAM_PATH,
  STREAM_PROTOCOL,
} from './wire.ts';

export interface ServiceClientOptions {
  readonly token?: string | undefined;
  /** For https. Asked anew for every connection, so that certificates can be renewed. */
  readonly tls?: (() => ServiceTls | undefined) | undefined;
  readonly timeoutMs: number;
}

/** PEM. */
export interface ServiceTls {
  /** Whom to trust instead of the system's authorities. */
  readonly ca?: string | Buffer | undefined;
  /** What is shown to acceptors that want a certificate. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
}

interface PendingCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly expiresAt: number;
}

interface Connection {
  readonly socket: Duplex;
  readonly pending: Map<number, PendingCall>;
  greeting?: Greeting;
  /** What was known when it greeted, and what has become known on this stream. */
  seen?: Standing;
  far?: Standing;
  /** It was compared with what was seen before, and counts for what will be. */
  isKnown?: true;
  /** It is a copy that was superseded, and says so. */
  refusal?: CasPaxosError;
}

/** After a failed connection, calls fail at once for this long instead of each trying again. */
const RECONNECT_AFTER_MS = 100;
const RETIRE_AGAIN_MS = 1000;

export class ServiceAcceptor implements Acceptor {
  readonly url: string;
  /** Batches overlap: while one is on the acceptor's disk, the next is on the wire. */
  readonly concurrency = 4;
  readonly #target: URL;
  readonly #options: ServiceClientOptions;
  #connection: Promise<Connection> | undefined;
  #failedAt = -Infinity;
  #failure: CasPaxosError | undefined;
  #nextCall = 1;
  #expectedId: string | undefined;
  #cluster: string | undefined;
  /** The recorded one: no other is used. */
  #expectedLife: Life | undefined;
  /** In which it was seen at that sequence. */
  #seenLife: ToldLife | undefined;
  #toldLife: ToldLife | undefined;
  #sequence = 0;
  /** The number of the newest set that it is known to know. */
  #set = 0;
  #lost: CasPaxosError | undefined;
  /** What it once told, and tells no more: it has to be retired. */
  #finding: Standing | undefined;
  #retiring: Promise<void> | undefined;
  #retiredAt = -Infinity;
  #closed = false;
  #reaper: NodeJS.Timeout | undefined;

  constructor(target: URL, options: ServiceClientOptions) {
    this.#target = target;
    this.url = target.origin;
    this.#options = options;
  }

  get life(): ToldLife | undefined {
    return this.#toldLife;
  }

  expect(id: string, cluster?: string, life?: Life): void {
    if (this.#expectedId !== id) this.#forget();
    this.#expectedId = id;
    this.#expectLife(life);
    if (cluster === this.#cluster) return;
    this.#cluster = cluster;
    void this.#connection?.then((connection) => this.#nameCluster(connection)).catch(() => undefined);
  }

  async describe(): Promise<AcceptorDescription> {
    return descriptionIn(await this.#call('describe', null));
  }

  async reserve(cluster: string): Promise<void> {
    try {
      await this.#call('reserve', cluster);
    } catch (error) {
      // One of an earlier version knows no reservations; what it is told to install it checks all the same.
      if (!(error instanceof CasPaxosError) || error.message !== noSuchCall('reserve')) throw error;
    }
  }

  async install(configuration: Configuration): Promise<void> {
    const connection = await this.#ready();
    await this.#send(connection, 'install', JSON.stringify(configuration));
    this.#learn(connection, { sequence: 0, set: configuration.number });
  }

  async handle(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]> {
    const answer = await this.#call('handle', flattenRequests(requests), IN_USE);
    return unflattenReplies(answer, requests, index);
  }

  async handleUnrecorded(
    requests: readonly RegisterRequest[],
    index: number,
  ): Promise<readonly RegisterReply[]> {
    const answer = await this.#call('handle', flattenRequests(requests), IN_LINE);
    return unflattenReplies(answer, requests, index);
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    const keys = await this.#call('list', [after, limit], IN_USE);
    if (!Array.isArray(keys) || keys.length > limit || !keys.every((key) => typeof key === 'string'))
      throw new CasPaxosError('PROTOCOL_MISMATCH', `Acceptor ${this.url} answered with a list that is none.`);
    return keys;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#reaper);
    const connection = await this.#connection?.catch(() => undefined);
    connection?.socket.destroy();
  }

  async #call(name: CallName, argument: unknown, lives?: ReadonlySet<LifeStanding>): Promise<unknown> {
    return this.#send(await this.#ready(lives), name, argument);
  }

  /** `lives`: in which it may be. */
  async #ready(lives?: ReadonlySet<LifeStanding>): Promise<Connection> {
    if (this.#lost !== undefined) {
      this.#retireAgain();
      throw this.#lost;
    }
    const connection = await this.#connect();
    // Connecting may have shown who is there; that is made lasting before anybody hears of it.
    await this.#retiring;
    if (this.#lost !== undefined) throw this.#lost;
    this.#demandMeant(connection);
    // It may have broken in the very moment in which it was made: then nobody would ever answer.
    if (connection.socket.destroyed)
      throw new CasPaxosError('UNREACHABLE', `Acceptor ${this.url} closed the stream.`);
    if (lives?.has(lifeStanding(connection.greeting!.life, this.#expectedLife)) === false)
      throw connection.refusal ?? unrecorded(this.url);
    return connection;
  }

  /** Nobody waits for the answer: calls are taken in order, and an acceptor of an earlier version knows no such call. */
  #nameCluster(connection: Connection): void {
    if (this.#cluster !== undefined && !connection.socket.destroyed)
      this.#send(connection, 'cluster', this.#cluster).catch(() => undefined);
  }

  /** It is an old copy: it has to refuse everybody from now on, those too who have nothing to compare with. */
  #retire(connection: Connection): void {
    if (this.#finding === undefined || this.#retiring !== undefined) return;
    this.#retiredAt = performance.now();
    this.#retiring = this.#sayRetired(connection, this.#finding).finally(() => {
      this.#retiring = undefined;
    });
  }

  /** Never rejects. */
  async #sayRetired(connection: Connection, { sequence, set }: Standing): Promise<void> {
    try {
      await this.#send(connection, 'retire', [this.#expectedId, sequence, set]);
    } catch (error) {
      // It knows no such call, or does not believe it: the configuration's register is told all the same. With anything else, such as a disk
      // that failed or has no room, it may refuse in this life only.
      if (!(error instanceof CasPaxosError) || error.code !== 'PROTOCOL_MISMATCH') return;
    }
    this.#finding = undefined;
  }

  /** Nothing says that it is lasting: as long as somebody asks for this acceptor it is told again. */
  #retireAgain(): void {
    if (this.#finding === undefined || this.#closed) return;
    if (performance.now() - this.#retiredAt < RETIRE_AGAIN_MS) return;
    this.#retiredAt = performance.now();
    try {
      void this.#connect().then(
        (connection) => this.#retire(connection),
        () => undefined,
      );
    } catch {
      // It could not be reached a moment ago.
    }
  }

  #send({ socket, pending }: Connection, name: CallName, argument: unknown): Promise<unknown> {
    const id = this.#nextCall;
    this.#nextCall += 1;
    const answered = new Promise((resolve, reject) => {
      pending.set(id, { resolve, reject, expiresAt: performance.now() + this.#options.timeoutMs });
    });
    socket.write(frame(pack([id, name, argument])));
    return answered;
  }

  #connect(): Promise<Connection> {
    if (this.#closed) throw new CasPaxosError('CLOSED', `The connection to ${this.url} is closed.`);
    if (this.#connection === undefined) {
      if (performance.now() - this.#failedAt < RECONNECT_AFTER_MS) throw this.#failure!;
      this.#connection = this.#open().catch((error: unknown) => {
        this.#failure = asCasPaxosError(error, 'UNREACHABLE', `Acceptor ${this.url}`);
        this.#failedAt = performance.now();
        this.#connection = undefined;
        throw this.#failure;
      });
      this.#reaper ??= setInterval(
        () => void this.#reap(),
        Math.max(10, this.#options.timeoutMs / 4),
      ).unref();
    }
    return this.#connection;
  }

  async #open(): Promise<Connection> {
    const socket = await this.#upgrade();
    const connection: Connection = { socket, pending: new Map() };
    const splitter = new FrameSplitter(MAX_ANSWER_BYTES);
    await new Promise<void>((resolve, reject) => {
      let isOver = false;
      const broken = (error?: Error): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        const failure = asCasPaxosError(
          error ?? new Error('the stream ended'),
          'UNREACHABLE',
          `Acceptor ${this.url}`,
        );
        this.#connection = undefined;
        socket.destroy();
        for (const { reject: fail } of connection.pending.values()) fail(failure);
        connection.pending.clear();
        reject(failure);
      };
      const timer = setTimeout(() => broken(new Error('no greeting')), this.#options.timeoutMs);
      socket.on('error', broken);
      socket.on('close', () => broken());
      socket.on('data', (chunk: Buffer) => {
        try {
          splitter.push(chunk, (payload) => {
            const answer = answerIn(unpack(payload));
            if (answer[0] !== 0) return this.#onAnswer(connection, answer);
            clearTimeout(timer);
            this.#onGreeting(connection, answer);
            this.#nameCluster(connection);
            this.#retire(connection);
            return resolve();
          });
        } catch (error) {
          broken(error as Error);
        }
      });
    });
    return connection;
  }

  #upgrade(): Promise<Duplex> {
    const { token, timeoutMs } = this.#options;
    const { ca, cert, key } = this.#options.tls?.() ?? {};
    const tls = {
      ...(ca && { ca }),
      ...(cert && { cert }),
      ...(key && { key }),
      minVersion: 'TLSv1.3',
    } as const;
    const send = this.#target.protocol === 'https:' ? httpsRequest : httpRequest;
    const headers: Record<string, string> = { connection: 'Upgrade', upgrade: STREAM_PROTOCOL };
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
    return new Promise((resolve, reject) => {
      const target = new URL(STREAM_PATH, this.#target.origin);
      const request = send(target, { headers, agent: false, timeout: timeoutMs, ...tls });
      request.on('upgrade', (_response, socket, head) => {
        // What came along with the answer's last bytes belongs to the stream.
        if (head.length > 0) socket.unshift(head);
        socket.setTimeout(0);
        socket.setNoDelay(true);
        resolve(socket);
      });
      request.on('response', (response) => {
        response.resume();
        reject(refusal(this.url, response.statusCode ?? 0, response.statusMessage ?? ''));
      });
      request.on('timeout', () =>
        request.destroy(new CasPaxosError('TIMED_OUT', `Acceptor ${this.url} did not answer.`)),
      );
      request.on('error', (error) => reject(certificateError(this.url, error) ?? error));
      request.end();
    });
  }

  #onGreeting(connection: Connection, [, sequence, greeting, code, message]: AnswerFrame): void {
    if (code !== undefined)
      throw new CasPaxosError(isErrorCode(code) ? code : 'PROTOCOL_MISMATCH', message ?? code);
    connection.greeting = greetingIn(sequence, greeting);
    connection.seen = { sequence: this.#sequence, set: this.#set };
    connection.far = connection.greeting;
    const { life, retired } = connection.greeting;
    this.#expectedId ??= connection.greeting.id;
    this.#demandMeant(connection);
    if (retired?.code === 'ACCEPTOR_SUPERSEDED') connection.refusal = retirementError(retired);
    this.#toldLife = life;
    this.#compare(connection);
  }

  /** What was seen of another acceptor says nothing of the one that is meant. */
  #forget(): void {
    this.#sequence = this.#set = 0;
    this.#seenLife = this.#toldLife = this.#expectedLife = undefined;
    this.#lost = this.#finding = undefined;
  }

  /** Another acceptor, or an empty one, is not used and not compared; the one that is meant is, when it is back at this address. */
  #demandMeant({ greeting, far, socket }: Connection): void {
    const { id } = greeting!;
    if (id === this.#expectedId) return;
    const error =
      far!.sequence === 0
        ? notThere(this.url, 'ACCEPTOR_EMPTY', `it came back empty, as ${id}`)
        : notThere(this.url, 'ACCEPTOR_FOREIGN', `it is ${id}, not ${this.#expectedId}`);
    socket.destroy(error);
    throw error;
  }

  /** With what was seen before, if it is in a life that is used: what was seen of another copy says nothing of this one. */
  #compare(connection: Connection): void {
    const { sequence, set, life, retired } = connection.greeting!;
    const seen = connection.seen!;
    if (connection.isKnown || lifeStanding(life, this.#expectedLife) !== 'in use') return;
    connection.isKnown = true;
    // Since it began another life it may have come further than what it forgot.
    const at = life === undefined || life.id === this.#seenLife?.id ? sequence : life.from;
    if (set < seen.set)
      this.#lose('ACCEPTOR_BEHIND', `it knows set ${set} but knew set ${seen.set}, as from an old copy`);
    if (at < seen.sequence)
      this.#lose('ACCEPTOR_BEHIND', `it is at ${at} but had been at ${seen.sequence}, as from an old copy`);
    if (this.#lost?.code === 'ACCEPTOR_BEHIND') this.#finding = retired === undefined ? seen : undefined;
    else if (retired !== undefined && retired.code !== 'ACCEPTOR_SUPERSEDED')
      this.#lost = retirementError(retired);
    this.#seenLife = life;
    this.#learn(connection, connection.far!);
  }

  /** What a copy told that is not used says nothing of the acceptor. */
  #learn(connection: Connection, { sequence, set }: Standing): void {
    const { far } = connection;
    connection.far = { sequence: Math.max(far!.sequence, sequence), set: Math.max(far!.set, set) };
    if (!connection.isKnown || connection.greeting!.id !== this.#expectedId) return;
    this.#sequence = Math.max(this.#sequence, sequence);
    this.#set = Math.max(this.#set, set);
  }

  #expectLife(life: Life | undefined): void {
    if (life === undefined || life.id === this.#expectedLife?.id) return;
    this.#expectedLife = life;
    const seen = this.#seenLife;
    const isNewer = seen !== undefined && seen.id !== life.id && !seen.after.includes(life.id);
    if (isNewer && life.from < this.#sequence)
      this.#lose(
        'ACCEPTOR_BEHIND',
        `it began at ${life.from} but had been at ${this.#sequence}, as a copy of what was still running`,
      );
    void this.#connection?.then(
      (connection) => this.#compare(connection),
      () => undefined,
    );
  }

  #onAnswer(connection: Connection, [id, sequence, result, code, message]: AnswerFrame): void {
    this.#learn(connection, { sequence, set: 0 });
    const call = connection.pending.get(id);
    if (call === undefined) return;
    connection.pending.delete(id);
    if (code === undefined) return call.resolve(result);
    const error = new CasPaxosError(isErrorCode(code) ? code : 'STORE_FAILED', message ?? code);
    if (error.code === 'ACCEPTOR_SUPERSEDED') connection.refusal = error;
    return call.reject(error);
  }

  /** A call that is not answered in time takes its stream down: whoever is behind it is not well. */
  async #reap(): Promise<void> {
    const connection = await this.#connection?.catch(() => undefined);
    if (connection === undefined) return;
    const now = performance.now();
    for (const { expiresAt } of connection.pending.values()) {
      if (expiresAt > now) continue;
      const message = `Acceptor ${this.url} did not answer within ${this.#options.timeoutMs} ms.`;
      connection.socket.destroy(new CasPaxosError('TIMED_OUT', message));
      return;
    }
  }

  #lose(code: 'ACCEPTOR_BEHIND', what: string): void {
    this.#lost ??= new CasPaxosError(code, `Acceptor ${this.url} is not used any more: ${what}. Replace it.`);
  }
}

const IN_USE: ReadonlySet<LifeStanding> = new Set(['in use']);
const IN_LINE: ReadonlySet<LifeStanding> = new Set(['in use', 'successor']);

function unrecorded(url: string): CasPaxosError {
  return new CasPaxosError(
    'ACCEPTOR_UNRECORDED',
    `Acceptor ${url} is in another life than the configuration records: it was started again, or is a copy.`,
  );
}

/** What OpenSSL says of a certificate that it does not take, from either side. */
const OF_CERTIFICATES =
  /^(?:CERT_|CRL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|INVALID_CA$|ERR_TLS_CERT|ERR_SSL_\w*CERT)/;

/** Undefined: it is about something else. */
function certificateError(url: string, error: Error): CasPaxosError | undefined {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!OF_CERTIFICATES.test(code)) return undefined;
  const message =
    code === 'CERT_HAS_EXPIRED'
      ? `The certificate of acceptor ${url} has expired.`
      : `The certificate of acceptor ${url} is not trusted (${code}).`;
  return new CasPaxosError('CERTIFICATE_REFUSED', message, { cause: error });
}

function refusal(url: string, status: number, reason: string): CasPaxosError {
  if (status === 401) return new CasPaxosError('UNAUTHORIZED', `Acceptor ${url} refused the token.`);
  if (status === 403) {
    const why = /^[A-Z0-9_]{1,60}$/.test(reason) ? reason : 'it does not say why';
    const sentence =
      why === NO_CERTIFICATE
        ? `Acceptor ${url} wants a certificate of its authority, and none was shown.`
        : `Acceptor ${url} refused the certificate that was shown (${why}).`;
    return new CasPaxosError('CERTIFICATE_REFUSED', sentence);
  }
  if (status === 503)
    return new CasPaxosError('UNREACHABLE', `Acceptor ${url} is stopping, or has too many streams.`);
  return new CasPaxosError('PROTOCOL_MISMATCH', `${url} is not an acceptor service (it answered ${status}).`);
}
