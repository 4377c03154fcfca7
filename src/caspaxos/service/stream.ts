/** The server's end of one proposer's stream: reads calls, answers them, and pushes back on who sends too much. */
import type { Duplex } from 'node:stream';
import { parseConfiguration } from '../core/index.ts';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';
import { flattenReplies, pack, unflattenRequests, unpack } from './codec.ts';
import type { DiskAcceptor } from './disk-acceptor.ts';
import { frame, FrameSplitter } from './frames.ts';
import type { AnswerFrame, CallFrame } from './wire.ts';

/** More calls than this under way, and the stream is not read until some are answered. */
const MAX_UNDER_WAY = 64;
const MAX_LIST = 1000;
/** A client that reads none of its answers for this long is cut off. */
const STALLED_MS = 30_000;

export class AcceptorStream {
  readonly #socket: Duplex;
  readonly #acceptor: DiskAcceptor;
  readonly #splitter: FrameSplitter;
  #underWay = 0;
  #blocked: NodeJS.Timeout | undefined;
  #onIdle: (() => void) | undefined;

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
    this.#send([0, acceptor.sequence, { id: acceptor.id }]);
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
    this.#socket.end();
  }

  #onData(chunk: Buffer): void {
    try {
      this.#splitter.push(chunk, (payload) => this.#onCall(payload));
    } catch (error) {
      const { code, message } = asCasPaxosError(error, 'PROTOCOL_MISMATCH', 'A call that cannot be read');
      this.#send([0, this.#acceptor.sequence, null, code, message]);
      this.#socket.end();
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
      const { code, message } = asCasPaxosError(error, 'PROTOCOL_MISMATCH', `The call ${name} failed`);
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
      case 'handle':
        return flattenReplies(await this.#acceptor.handle(unflattenRequests(argument), 0));
      case 'describe':
        return this.#acceptor.describe();
      case 'install':
        await this.#acceptor.install(parseConfiguration(String(argument)));
        return true;
      case 'list': {
        const [after, limit] = argument as readonly unknown[];
        return this.#acceptor.list(String(after), Math.min(Number(limit), MAX_LIST));
      }
      default:
        throw new CasPaxosError('PROTOCOL_MISMATCH', `There is no call ${name}.`);
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
