/**
 * One connection to a Redis server, from the moment it is made and found safe until it breaks. It is never mended: commands
 * that are under way when it breaks fail, because nobody knows whether they ran, and whoever wants more makes another.
 * The client's own reconnecting, its queue for offline times and its time limits are off (rule 7).
 */
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type * as redis from 'redis';
import { CasPaxosError } from '../errors.ts';
import { loadPeer } from './peer.ts';
import { lineOfRedis } from './redis-line.ts';
import { kindOf, refusal, refusalOfGreeting } from './redis-refusals.ts';
import {
  type Hazard,
  hazardOf,
  hazardOfAnswer,
  hazardOfServer,
  readInfo,
  readSettings,
  SETTINGS,
  TOLD_WITH_ANSWERS,
} from './redis-safety.ts';
import { EARLIER, type RedisScript } from './redis-scripts.ts';
import { CountedConnection, countingSockets } from './redis-socket.ts';
import type { SafetyWatch } from './safety-watch.ts';
import type { StoreCalls } from './store-calls.ts';
import type { StoreHost } from './store-url.ts';

export interface RedisTarget {
  /** Without credentials, for errors. */
  readonly url: string;
  readonly host: StoreHost;
  readonly database: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly tls: ConnectionOptions | undefined;
  readonly timeoutMs: number;
  readonly calls: StoreCalls;
  /** Hears what makes the server unsafe; undefined: nobody looks whether it keeps what it answers. */
  readonly watch: SafetyWatch | undefined;
}

/** What of the client is used; its own type has every command of Redis in it. */
interface Client {
  connect(): Promise<unknown>;
  sendCommand(command: readonly string[]): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  destroy(): void;
}

type Package = Pick<typeof redis, 'createClient' | 'ErrorReply'>;

export class RedisConnection {
  readonly #url: string;
  readonly #client: Client;
  readonly #watch: SafetyWatch | undefined;
  readonly #ErrorReply: Package['ErrorReply'];
  #end: CasPaxosError | undefined;
  #life = '';
  #requests = 0;

  private constructor({ url, watch }: RedisTarget, client: Client, { ErrorReply }: Package) {
    this.#url = url;
    this.#client = client;
    this.#watch = watch;
    this.#ErrorReply = ErrorReply;
    client.on('error', (error) => this.end(unreachable(url, error)));
  }

  static async open(target: RedisTarget): Promise<RedisConnection> {
    const peer: Package = await loadPeer('redis', 'redis', () => import('redis'));
    const connection = new RedisConnection(target, clientFor(target, peer), peer);
    try {
      await target.calls.limited(() => connection.#begin(target));
    } catch (error) {
      connection.end(error as CasPaxosError);
      throw error;
    }
    return connection;
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** How many requests were sent; what is told with an answer travels with it, and is none of its own. */
  get requests(): number {
    return this.#requests;
  }

  /** Runs a script. A server that does not know it says so instead of running it, and is given the text. */
  async run({ text, sha }: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.#askSafely(['EVALSHA', sha, ...rest]);
    } catch (error) {
      if (!this.#isReply(error, 'NOSCRIPT')) throw this.#failure(error);
    }
    try {
      return await this.#askSafely(['EVAL', text, ...rest]);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Whether the server still keeps what it answers. If it does not, the connection ends: the next one begins with a look, too. */
  async look(): Promise<void> {
    await this.#lookAround(false);
  }

  /** Every command under way fails with `error`. */
  end(error: CasPaxosError): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.#client.destroy();
  }

  async #begin({ url, database, tls, calls }: RedisTarget): Promise<void> {
    const connect = (): Promise<unknown> => this.#client.connect();
    const connected = tls === undefined ? countingSockets(calls, connect) : connect();
    // The client cannot end a connection that it is still making: it has to be told again when it has made it.
    const again = (): void => void (this.#end !== undefined && this.#client.destroy());
    connected.then(again, again);
    try {
      await connected;
    } catch (error) {
      if (error instanceof this.#ErrorReply) throw refusalOfGreeting(url, error.message, database);
      throw this.#failure(error);
    }
    await this.#lookAround(true);
  }

  async #lookAround(isFirst: boolean): Promise<void> {
    if (this.#watch === undefined) return;
    const info = readInfo(await this.#ask(['INFO']).catch((error: unknown) => this.#untold(error, 'INFO')));
    this.#life = info.get('run_id') ?? '';
    // Servers before version 7 do not understand the next question.
    this.#refuse(hazardOfServer(info));
    this.#watch.line(lineOfRedis(info));
    const settings = await this.#ask(['CONFIG', 'GET', ...SETTINGS]).catch((error: unknown) =>
      this.#untold(error, 'CONFIG GET'),
    );
    this.#refuse(hazardOf(info, readSettings(settings), isFirst));
    this.#watch.safe(this.#life);
  }

  #refuse(hazard: Hazard | undefined): void {
    if (hazard === undefined) return;
    if (hazard.forgets) this.#watch?.unsafe(this.#life, hazard.what);
    const error = new CasPaxosError(hazard.code, `Acceptor ${this.#url} ${hazard.what}.`);
    this.end(error);
    throw error;
  }

  /** The server does not say how safe it is: somebody has to know. */
  #untold(error: unknown, command: string): never {
    const isForbidden = this.#isReply(error, 'NOPERM');
    if (!isForbidden && !this.#isReply(error, 'ERR')) throw this.#failure(error);
    const message =
      `Acceptor ${this.#url} does not tell whether it keeps what it answers: allow the command ${command}, or add ` +
      `durability=unchecked to the URL if you know that it syncs before it answers and evicts nothing.`;
    throw new CasPaxosError(isForbidden ? 'UNAUTHORIZED' : 'STORE_FAILED', message);
  }

  /**
   * The server carries the second question out right after the first, with nobody in between, and answers both after the sync: what holds
   * then held for the first.
   */
  async #askSafely(command: readonly string[]): Promise<unknown> {
    const asked = this.#ask(command);
    if (this.#watch === undefined) return asked;
    const [answer, settings] = await Promise.all([
      asked,
      this.#client.sendCommand(['CONFIG', 'GET', ...TOLD_WITH_ANSWERS]),
    ]);
    this.#refuse(hazardOfAnswer(readSettings(settings)));
    return answer;
  }

  async #ask(command: readonly string[]): Promise<unknown> {
    if (this.#end !== undefined) throw this.#end;
    this.#requests += 1;
    return this.#client.sendCommand(command);
  }

  #isReply(error: unknown, word: string): boolean {
    return error instanceof this.#ErrorReply && kindOf(error.message) === word;
  }

  #failure(error: unknown): CasPaxosError {
    if (!(error instanceof this.#ErrorReply)) return this.#end ?? unreachable(this.#url, error);
    const refused = refusal(this.#url, error.message);
    // Whoever is a replica now, or has been written to by an earlier version, has to be looked at before anything else is asked.
    if (this.#isReply(error, 'READONLY') || this.#isReply(error, EARLIER)) this.end(refused);
    return refused;
  }
}

const COMMON = {
  RESP: 2,
  disableOfflineQueue: true,
  disableClientInfo: true,
  maintNotifications: 'disabled',
  commandOptions: { timeout: 0 },
} as const;

/** The client makes a class for its options, which takes some ten milliseconds: one is made, never used, and copied. */
let pattern: ReturnType<typeof redis.createClient<{}, {}, {}, 2>> | undefined;

function clientFor(target: RedisTarget, { createClient }: Package): Client {
  const { host, database, user, password, tls, timeoutMs, calls } = target;
  pattern ??= createClient<{}, {}, {}, 2>(COMMON);
  // A connection that is still being made ends by the client's own limit, which comes after ours.
  const socket = { ...host, connectTimeout: 2 * timeoutMs, reconnectStrategy: false as const };
  const named = isIP(host.host) === 0 ? { servername: host.host } : {};
  const credentials = {
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
  };
  return pattern.duplicate({
    socket:
      tls === undefined
        ? socket
        : { ...socket, ...named, ...tls, tls: true as const, socket: new CountedConnection(calls, host) },
    database,
    ...credentials,
  });
}

function unreachable(url: string, error: unknown): CasPaxosError {
  if (error instanceof CasPaxosError) return error;
  // What is tried at several addresses fails with several errors, and a code instead of a message.
  const { message, code } = error as { message?: string; code?: string };
  const reason = message || code || String(error);
  return new CasPaxosError('UNREACHABLE', `Acceptor ${url} cannot be reached: ${reason}.`, { cause: error });
}
