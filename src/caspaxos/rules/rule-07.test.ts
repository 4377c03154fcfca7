import { describe, expect, test } from 'vitest';
import { increment, memoryUrls, openFor, openThrough, storeOf } from '../../../test/caspaxos/clusters.ts';
import { randomFrom } from '../../../test/caspaxos/lines.ts';
import { accept, promise, typesOf } from '../../../test/conformance/messages.ts';
import { decodeEnvelope } from '../core/index.ts';
import { decodeRecord } from '../stores/documents.ts';
import { losingAnswers, onKey, once, sendingAgain, writes } from '../stores/faults.ts';
import { registerKey } from '../stores/keys.ts';
import type { AcceptorStore } from '../stores/store.ts';
import { StoreAcceptor } from '../stores/store-acceptor.ts';

const document = registerKey('k');

/** The first accept that the store carries out is sent again after `between` has run. */
function resending(store: AcceptorStore, between: () => Promise<void>): AcceptorStore {
  let isOver = false;
  return {
    url: store.url,
    concurrency: store.concurrency,
    read: (keys) => store.read(keys),
    list: (after, limit) => store.list(after, limit),
    close: () => store.close(),
    async write(batch) {
      const isAccept = batch.some(({ text }) => text.includes('"value":"'));
      if (isOver || !isAccept) return store.write(batch);
      isOver = true;
      await store.write(batch);
      await between();
      return store.write(batch);
    },
  };
}

describe('rule 7: a conditional write that was sent again', () => {
  test('is refused because of its own success, read again, and acknowledged', async () => {
    const [url] = memoryUrls(1);
    const acceptor = new StoreAcceptor(sendingAgain(storeOf(url!), onKey(document)));
    await acceptor.describe();
    expect(typesOf(await acceptor.handle([promise('k', 1)], 0))).toEqual(['1b']);
    expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
    expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
  });

  test('by every store of a cluster costs nothing but time', async () => {
    const urls = memoryUrls();
    const cluster = await openThrough(urls, (store) => sendingAgain(store, writes));
    for (let at = 1; at <= 10; at += 1) {
      expect(await cluster.change('k', increment)).toMatchObject({
        outcome: 'committed',
        value: at,
        version: at,
      });
    }
  });

  test('after somebody else has built on it is not applied twice', async () => {
    const [url] = memoryUrls(1);
    const other = await openFor({ acceptors: [url!] });
    const cluster = await openThrough([url!], (store) =>
      resending(store, async () => {
        expect(await other.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
      }),
    );
    const outcome = await cluster.change('k', increment);
    expect(outcome).toMatchObject({ outcome: 'committed', version: 1, value: 1 });
    expect((await other.read('k')).value).toBe(2);
  });

  test('by every store, with somebody else in between on every one, is not applied twice', async () => {
    const urls = memoryUrls();
    const other = await openFor({ acceptors: urls });
    let build: Promise<unknown> | undefined;
    const cluster = await openThrough(urls, (store) =>
      resending(store, async () => {
        build ??= other.change('k', increment);
        await build;
      }),
    );
    const outcome = await cluster.change('k', increment);
    expect(outcome.outcome).toBe('committed');
    expect((await other.read('k')).value).toBe(2);
  });
});

describe('rule 7: a conditional write whose answer is lost', () => {
  test('marks what is known as uncertain: the next write reads again first', async () => {
    const [url] = memoryUrls(1);
    const store = storeOf(url!);
    const acceptor = new StoreAcceptor(losingAnswers(store, once(onKey(document))));
    await acceptor.describe();
    await expect(acceptor.handle([accept('k', 1, 'v')], 0)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(typesOf(await acceptor.handle([promise('k', 2), accept('k', 2, 'w')], 0))).toEqual(['1b', '2b']);
    const [stored] = await store.read([document]);
    expect(decodeRecord(stored!.text, 'k').value).toBe('w');
  });

  test.each([4, 5, 6])(
    'at random, in a cluster with three proposers, is neither lost nor doubled: seed %i',
    async (seed) => {
      const random = randomFrom(seed);
      const urls = memoryUrls();
      const isOurs = onKey(document);
      const flaky = (store: AcceptorStore): AcceptorStore =>
        losingAnswers(
          sendingAgain(store, (call) => isOurs(call) && random() < 0.3),
          (call) => isOurs(call) && random() < 0.2,
        );
      const clusters = await Promise.all(
        [0, 1, 2].map(() => openThrough(urls, flaky, { timeoutMs: 20_000 })),
      );
      const outcomes = await Promise.all(
        clusters.flatMap((cluster) => Array.from({ length: 12 }, () => cluster.change('k', increment))),
      );
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(outcomes.map(() => 'committed'));
      const reader = await openFor({ acceptors: urls });
      expect(await reader.read('k')).toEqual({ value: 36, version: 36 });
      const [stored] = await storeOf(urls[0]!).read([document]);
      expect(decodeEnvelope(decodeRecord(stored!.text, 'k').value).operations.length).toBeLessThanOrEqual(3);
    },
  );
});
