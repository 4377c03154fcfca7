/**
 * A client as the sentinels' manual wants it: it asks them who the primary is, asks that one for its role, comes back to them
 * when its connection breaks, and follows their announcement of another primary, because the old one may go on taking writes
 * for many seconds. With `copies`, a write counts when so many replicas have it (WAIT).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PeerClient } from './peer.ts';
import { connect, type Connection, drop } from './redis-ask.ts';
import { within } from './waiting.ts';

const TRY_MS = 1000;
const PAUSE_MS = 20;
const LOOK_AGAIN_MS = 50;
/** WAIT holds up everything behind it on its connection. */
const WAIT_MS = 50;
const LISTEN_AGAIN_MS = 500;
const CHUNK = 500;

export class SentinelClient implements PeerClient {
  readonly #sentinels: readonly number[];
  readonly #group: string;
  readonly #copies: number;
  readonly #closing = new AbortController();
  readonly #listening: readonly Promise<void>[];
  readonly #asking = new Map<number, Promise<Connection>>();
  #primary: Promise<Primary> | undefined;

  constructor(sentinels: readonly number[], group: string, copies: number) {
    this.#sentinels = sentinels;
    this.#group = group;
    this.#copies = copies;
    this.#listening = sentinels.map((port) => this.#listen(port));
  }

  async write(id: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      this.#primary ??= this.#find();
      const primary = this.#primary;
      try {
        await this.#set((await primary).connection, id);
        return;
      } catch (error) {
        if (signal.aborted) throw error;
        if (!(error instanceof TooFewCopies)) this.#leave(primary);
        await sleep(PAUSE_MS);
      }
    }
  }

  async countMissing(ids: readonly string[]): Promise<number> {
    const { connection } = await this.#find();
    let missing = 0;
    for (let at = 0; at < ids.length; at += CHUNK) {
      const values = await connection.mGet(ids.slice(at, at + CHUNK));
      missing += values.filter((value) => value === null).length;
    }
    drop(connection);
    return missing;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#primary !== undefined) this.#leave(this.#primary);
    for (const kept of this.#asking.values()) kept.then(drop, () => {});
    await Promise.all(this.#listening);
  }

  async #set(connection: Connection, id: string): Promise<void> {
    const set = connection.set(id, id);
    const wait = this.#copies > 0 ? connection.wait(this.#copies, WAIT_MS) : undefined;
    wait?.catch(() => {});
    await within(TRY_MS, 'SET', set);
    const copies = wait === undefined ? 0 : await within(TRY_MS, 'WAIT', wait);
    if (copies < this.#copies) throw new TooFewCopies();
  }

  /** The first that is a primary by the word of a sentinel and by its own. */
  async #find(): Promise<Primary> {
    for (const sentinel of this.#sentinels) {
      const primary = await this.#primaryOf(sentinel).catch(() => undefined);
      if (primary !== undefined) return primary;
    }
    await sleep(LOOK_AGAIN_MS);
    throw new Error('no sentinel knows a primary');
  }

  async #primaryOf(sentinel: number): Promise<Primary | undefined> {
    const port = await this.#askFor(sentinel);
    const connection = await connect(port);
    const [role] = (await within(TRY_MS, 'ROLE', connection.sendCommand(['ROLE']))) as unknown as string[];
    if (role === 'master') return { port, connection };
    drop(connection);
    return undefined;
  }

  /** The primary's port by the word of a sentinel; the connection to that is kept as long as it is good. */
  async #askFor(sentinel: number): Promise<number> {
    const kept = this.#asking.get(sentinel) ?? connect(sentinel);
    this.#asking.set(sentinel, kept);
    try {
      const command = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', this.#group];
      const address = await within(TRY_MS, 'SENTINEL', (await kept).sendCommand(command));
      return Number((address as unknown as readonly string[])[1]);
    } catch (error) {
      this.#asking.delete(sentinel);
      kept.then(drop, () => {});
      throw error;
    }
  }

  #leave(primary: Promise<Primary>): void {
    if (this.#primary === primary) this.#primary = undefined;
    primary.then(
      ({ connection }) => drop(connection),
      () => {},
    );
  }

  /** Until the client is closed; again when the sentinel was away. */
  async #listen(sentinel: number): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const connection = await connect(sentinel).catch(() => undefined);
      if (connection !== undefined) {
        const ended = new Promise<void>((resolve) => {
          connection.once('error', () => resolve());
          connection.once('end', () => resolve());
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
        await connection.subscribe('+switch-master', (said) => void this.#follow(said)).catch(() => {});
        await ended;
        drop(connection);
      }
      await sleep(LISTEN_AGAIN_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** `GROUP OLD-ADDRESS OLD-PORT NEW-ADDRESS NEW-PORT` */
  async #follow(said: string): Promise<void> {
    const current = this.#primary;
    const known = await current?.catch(() => undefined);
    if (current !== undefined && known?.port !== Number(said.split(' ')[4])) this.#leave(current);
  }
}

interface Primary {
  readonly port: number;
  readonly connection: Connection;
}

class TooFewCopies extends Error {}
