/**
 * Every store's real server is started again under load, after it was asked to end and after it was killed: every write that was answered
 * is there, with its text and its version, and of those that were not answered each was carried out or not. A server that does not claim to
 * survive a kill (an emulator) ends in an orderly way in its `kill`.
 */
import { type AcceptorStore, StoreAcceptor, type StoredDocument } from 'baton/caspaxos';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../caspaxos/clusters.ts';
import { promise, query } from '../conformance/messages.ts';
import { newPlace } from '../conformance/store.ts';
import { until } from '../support/until.ts';
import { openStoreAt } from './bad-days.ts';
import type { StoreServer } from './servers/server.ts';

const WRITERS = 4;
const DOCUMENTS_EACH = 5;
const ENOUGH = 40;

export function restarts(name: string, server: () => StoreServer): void {
  describe(`${name} started again under load`, () => {
    afterEach(() => (server() as StoreServer | undefined)?.heal());

    test.each(['stop', 'kill'] as const)(
      'after a %s, it has every write that was answered',
      async (ending) => {
        const load = await WriteLoad.begin(server(), newPlace(name));
        for (let round = 0; round < 2; round += 1) {
          await load.interruptedBy(async () => {
            await server()[ending]();
            await server().start();
          });
          await load.isAllThere();
        }
      },
    );
  });
}

/** It was unsafe while this acceptor used it, and has ended since: nobody uses it any more, not even who comes later. */
export async function isRetired(
  server: StoreServer,
  place: string,
  acceptor: StoreAcceptor,
  what: string,
): Promise<void> {
  const behind = {
    code: 'ACCEPTOR_BEHIND',
    message: expect.stringContaining(`it ended after it was seen that it ${what}`),
  };
  const isJudged = async (): Promise<boolean> =>
    (await errorOf(acceptor.handle([query('k')], 0))).code === 'ACCEPTOR_BEHIND';
  await until('it has been looked at anew', isJudged);
  expect(await errorOf(acceptor.handle([promise('k', 9)], 0))).toMatchObject(behind);
  const later = new StoreAcceptor(openStoreAt(server, place));
  await until(
    'the finding is lasting',
    async () => (await errorOf(later.describe())).code === 'ACCEPTOR_BEHIND',
  );
  expect(await errorOf(later.describe())).toMatchObject(behind);
}

/** Batches of conditional writes without end, from several writers with documents of their own. */
export class WriteLoad {
  readonly #open: () => AcceptorStore;
  readonly #answered = new Map<string, StoredDocument>();
  /** Texts that were written, or not: nobody was told which. */
  readonly #openEnded = new Map<string, string>();
  #count = 0;

  private constructor(open: () => AcceptorStore) {
    this.#open = open;
  }

  static async begin(server: StoreServer, place: string): Promise<WriteLoad> {
    const load = new WriteLoad(() => openStoreAt(server, place));
    await load.#open().prepare?.();
    return load;
  }

  /** Resolves when the interruption is over, which begins when there is enough to lose. */
  async interruptedBy(interruption: () => Promise<void>): Promise<void> {
    const enough = this.#count + ENOUGH;
    let isOver = false;
    // A new one: a connection that broke in an earlier interruption may be noticed only by the call that meets it.
    const store = this.#open();
    await until('the server answers', () => store.read(['register/0/0']));
    const writers = Promise.all(
      Array.from({ length: WRITERS }, (_, writer) => this.#write(store, writer, () => isOver)),
    );
    onTestFinished(() => {
      isOver = true;
    });
    await until('enough writes were answered', () => this.#count >= enough);
    await interruption();
    isOver = true;
    await writers;
  }

  /** Seen by somebody who was not there. `others`: documents of somebody else. */
  async isAllThere(others: readonly string[] = []): Promise<void> {
    const store = this.#open();
    const keys = [...new Set([...this.#answered.keys(), ...this.#openEnded.keys()])].toSorted();
    const documents = await until('the server answers', () => store.read(keys));
    for (const [at, key] of keys.entries()) {
      const document = documents[at];
      const wasCarriedOut = document !== undefined && document.text === this.#openEnded.get(key);
      if (wasCarriedOut) this.#answered.set(key, document);
      else expect({ key, document }).toEqual({ key, document: this.#answered.get(key) });
    }
    this.#openEnded.clear();
    const listed = await store.list('register/', 2 * keys.length);
    expect(listed.toSorted()).toEqual([...this.#answered.keys(), ...others].toSorted());
  }

  /** Until a batch fails, or it is over. */
  async #write(store: AcceptorStore, writer: number, isOver: () => boolean): Promise<void> {
    const keys = Array.from({ length: DOCUMENTS_EACH }, (_, at) => `register/${writer}/${at}`);
    while (!isOver()) {
      const writes = keys.map((key) => {
        this.#count += 1;
        return { key, text: `text ${this.#count}`, expected: this.#answered.get(key)?.version };
      });
      for (const { key, text } of writes) this.#openEnded.set(key, text);
      let results;
      try {
        results = await store.write(writes);
      } catch {
        return;
      }
      for (const [at, { key, text }] of writes.entries()) {
        const result = results[at]!;
        if (result.result === 'failed') return;
        if (result.result === 'conflict') throw new Error(`${key} was written by somebody else`);
        this.#answered.set(key, { text, version: result.version });
        this.#openEnded.delete(key);
      }
    }
  }
}
