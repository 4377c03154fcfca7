/** The server's end of one proposer's stream: reads calls, answers them, and pushes back on who sends too much. */
import type { Duplex } from 'node:stream';
import {
  type Configuration,
  parseConfiguration,
  type RegisterReply,
  type RegisterRequest,
} from '../core/index.ts';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';
import { flattenReplies, pack, unflattenRequests, unpack } from './codec.ts';
import type { DiskAcceptor } from './disk-acceptor.ts';
import { frame, FrameSplitter } from './frames.ts';
import { type AnswerFrame, type CallFrame, noSuchCall, type Standing } from './wire.ts';

/** More calls than this under way, and the stream is not read until some are answered. */
const MAX_UNDER_WAY = 64;
const MAX_LIST = 1000;
/** A client that reads none of its answers for this long is cut off. */
const STALLED_MS = 30_000;
const CLOSING_MS = 1000;
const MAX_NAME_LENGTH = 2048;
/** In UTF-16 units; at three bytes each still below what a client reads. */
const MAX_ANSWER_LENGTH = 16 * 1024 * 1024;

export class AcceptorStream {
  readonly #socket: Duplex;
  readonly #acceptor: DiskAcceptor;
  readonly #splitter: FrameSplitter;
  #underWay = 0;
  #blocked: NodeJS.Timeout | undefined;
  #onIdle: (() => void) | undefined;
  /** In the greeting. */
  readonly #told: Standing;
  /** Of the proposer, when it has named it. */
  #cluster: string | undefined;

  constructor(socket: Duplex, acceptor: DiskAcceptor, maxRequestBytes: number, onClose: () => void) {
    this.#socket = socket;
    this.#acceptor = acceptor;
    this.#splitter = new FrameSplitter(maxRequestBytes);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('drain', () => this.#unblock());
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(this.#blocked);
      onClose();
    });
    const { id, sequence, retiredForGood: retired, life } = acceptor;
    this.#told = { sequence, set: acceptor.configuration?.number ?? 0 };
    this.#send([0, sequence, { id, set: this.#told.set, life, ...(retired && { retired }) }]);
  }

  /** Reads no more; resolves when what was begun is answered. */
  async drain(): Promise<void> {
    this.#socket.pause();
    this.#socket.removeAllListeners('data');
    if (this.#underWay > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    // A client that does not close its side in return is not waited for.
    const givenUp = setTimeout(() => this.#socket.destroy(), CLOSING_MS);
    await new Promise<void>((resolve) => {
      this.#socket.once('close', resolve);
      this.#socket.end(() => this.#socket.destroy());
      if (this.#socket.destroyed) resolve();
    });
    clearTimeout(givenUp);
  }

  #onData(chunk: Buffer): void {
    try {
      this.#splitter.push(chunk, (payload) => this.#onCall(payload));
    } catch (error) {
      const { code, message } = asCasPaxosError(error, 'PROTOCOL_MISMATCH', 'A call that cannot be read');
      // Where the next frame begins is anybody's guess now: say so, and drop the rest unread, so that a client that is
      // still writing gets to hear it.
      this.#socket.removeAllListeners('data');
      this.#send([0, this.#acceptor.sequence, null, code, message]);
      this.#socket.end();
      this.#socket.resume();
      setTimeout(() => this.#socket.destroy(), CLOSING_MS).unref();
      return;
    }
    if (this.#underWay >= MAX_UNDER_WAY) this.#socket.pause();
  }

  #onCall(payload: Buffer): void {
    const call = unpack(payload);
    if (!Array.isArray(call) || typeof call[0] !== 'number' || typeof call[1] !== 'string')
      throw new Error('not a call');
    this.#underWay += 1;
    void this.#answer(call as unknown as CallFrame);
  }

  async #answer([id, name, argument]: CallFrame): Promise<void> {
    try {
      const result = await this.#perform(name, argument);
      this.#send([id, this.#acceptor.sequence, result]);
    } catch (error) {
      const { code, message } = asCasPaxosError(error, 'STORE_FAILED', `The call ${name} failed`);
      this.#send([id, this.#acceptor.sequence, null, code, message]);
    }
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#onIdle?.();
    if (this.#blocked === undefined && this.#underWay < MAX_UNDER_WAY && this.#onIdle === undefined) {
      this.#socket.resume();
    }
  }

  async #perform(name: string, argument: unknown): Promise<unknown> {
    switch (name) {
      case 'cluster':
        this.#cluster = clusterIn(argument);
        return true;
      case 'handle':
        this.#acceptor.checkServes(this.#cluster);
        return flattenReplies(withinBounds(await this.#acceptor.handle(requestsIn(argument), 0)));
      case 'describe':
        return this.#acceptor.describe();
      case 'reserve':
        await this.#acceptor.reserve(clusterIn(argument));
        return true;
      case 'install':
        await this.#acceptor.install(configurationIn(argument));
        return true;
      case 'retire': {
        const { id, ...seen } = standingIn(argument);
        await this.#acceptor.retire(id, seen, this.#told);
        return true;
      }
      case 'list': {
        this.#acceptor.checkServes(this.#cluster);
        const [after, limit] = pageIn(argument);
        return this.#acceptor.list(after, limit);
      }
      default:
        throw new CasPaxosError('PROTOCOL_MISMATCH', noSuchCall(name));
    }
  }

  #send(answer: AnswerFrame): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    if (this.#socket.write(frame(pack(answer))) || this.#blocked !== undefined) return;
    this.#socket.pause();
    this.#blocked = setTimeout(() => this.#socket.destroy(), STALLED_MS);
  }

  #unblock(): void {
    clearTimeout(this.#blocked);
    this.#blocked = undefined;
    if (this.#underWay < MAX_UNDER_WAY && this.#onIdle === undefined) this.#socket.resume();
  }
}

function requestsIn(argument: unknown): readonly RegisterRequest[] {
  return understood(() => unflattenRequests(argument));
}

function configurationIn(argument: unknown): Configuration {
  return understood(() => parseConfiguration(String(argument)));
}

/** What an argument says; the caller's fault if it says nothing, and not the disk's. */
function understood<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asCasPaxosError(error, 'PROTOCOL_MISMATCH', 'A call that cannot be read');
  }
}

function pageIn(argument: unknown): readonly [after: string, limit: number] {
  const [after, limit] = Array.isArray(argument) ? (argument as readonly unknown[]) : [];
  if (typeof after === 'string' && isCount(limit)) return [after, Math.min(limit, MAX_LIST)];
  throw new CasPaxosError('PROTOCOL_MISMATCH', 'That is no page of a list.');
}

function clusterIn(argument: unknown): string {
  if (typeof argument === 'string' && argument !== '' && argument.length <= MAX_NAME_LENGTH) return argument;
  throw new CasPaxosError('PROTOCOL_MISMATCH', 'That is not the name of a cluster.');
}

function standingIn(argument: unknown): Standing & { readonly id: string } {
  const [id, sequence, set] = Array.isArray(argument) ? (argument as readonly unknown[]) : [];
  if (typeof id === 'string' && isCount(sequence) && isCount(set)) return { id, sequence, set };
  throw new CasPaxosError('PROTOCOL_MISMATCH', 'That is not what can be seen of an acceptor.');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * An answer may hold many values. Those that would make it larger than a client reads are left out: to their proposers that
 * is an acceptor that did not answer, and they ask again, in smaller company.
 */
function withinBounds(replies: readonly RegisterReply[]): readonly RegisterReply[] {
  let length = 0;
  return replies.map((reply): RegisterReply => {
    if (reply.type !== '1b' && reply.type !== 'state') return reply;
    length += reply.value?.length ?? 0;
    if (length <= MAX_ANSWER_LENGTH) return reply;
    return {
      type: 'failed',
      acceptor: 0,
      code: 'REQUEST_TOO_LARGE',
      message: 'Too many large values were asked for at once.',
    };
  });
}
