/** What an acceptor over a store makes of the store's bad days (rules 7 and 8). Run for every store: see `store.ts`. */
import { type AcceptorStore, LOOK_AGAIN_MS, StoreAcceptor, storeFaults } from 'baton/caspaxos';
import type { Host } from 'baton/protocol';
import { describe, expect, onTestFinished, test } from 'vitest';
import { leapingHost } from '../caspaxos/leaping-host.ts';
import { accept, ballot, promise, query, typesOf, valueIn } from './messages.ts';
import { newPlace, openFor, type StoreUnderTest } from './store.ts';

const {
  delaying,
  disappearing,
  doubting,
  exchangeable,
  losingAnswers,
  once,
  onKey,
  reads,
  refusing,
  sendingAgain,
  writes,
} = storeFaults;

async function acceptorOver(store: AcceptorStore, host?: Host): Promise<StoreAcceptor> {
  const acceptor = new StoreAcceptor(store, host);
  const { id } = await acceptor.describe();
  acceptor.expect(id);
  return acceptor;
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: { code?: string }) => error.code ?? 'no code',
  );
}

export function storeAcceptorConformance(name: string, stores: StoreUnderTest): void {
  describe(`rule 7 on ${name}: a conditional write whose answer is lost`, () => {
    test('and is sent again is refused because of its own success, and acknowledged all the same', async () => {
      const store = await openFor(stores, newPlace(name));
      const acceptor = await acceptorOver(sendingAgain(store, onKey('register/k')));
      expect(typesOf(await acceptor.handle([promise('k', 1)], 0))).toEqual(['1b']);
      expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
      expect(valueIn((await acceptor.handle([query('k')], 0))[0])).toBe('v');
    });

    test('has an unknown fate; asking again finds it done, without doing it twice', async () => {
      const store = await openFor(stores, newPlace(name));
      const acceptor = await acceptorOver(losingAnswers(store, once(onKey('register/k'))));
      expect(await codeOf(acceptor.handle([accept('k', 1, 'v')], 0))).toBe('STORE_FAILED');
      const before = await store.read(['register/k']);
      expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
      expect(await store.read(['register/k'])).toEqual(before);
    });

    test('and that somebody has built on since is refused, not repeated', async () => {
      const place = newPlace(name);
      const store = await openFor(stores, place);
      const other = await acceptorOver(await openFor(stores, place));
      const acceptor = await acceptorOver(losingAnswers(store, once(onKey('register/k'))));
      await codeOf(acceptor.handle([accept('k', 1, 'v')], 0));
      await other.handle([promise('k', 5), accept('k', 5, 'w')], 0);
      const [reply] = await acceptor.handle([accept('k', 1, 'v')], 0);
      expect(reply).toMatchObject({ type: 'nak', promised: ballot(5) });
      expect(valueIn((await acceptor.handle([query('k')], 0))[0])).toBe('w');
    });

    test('fails alone in its batch: the others are answered', async () => {
      const store = await openFor(stores, newPlace(name));
      const acceptor = await acceptorOver(doubting(store, (key) => key === 'register/b'));
      const replies = await acceptor.handle(
        [accept('a', 1, 'v'), accept('b', 1, 'v'), accept('c', 1, 'v')],
        0,
      );
      expect(typesOf(replies)).toEqual(['2b', 'failed', '2b']);
      expect(replies[1]).toMatchObject({ code: 'STORE_FAILED' });
      expect(valueIn((await acceptor.handle([query('b')], 0))[0])).toBe('v');
    });
  });

  describe(`acceptors over ${name} in several processes`, () => {
    test('race on one register as one acceptor would', async () => {
      const place = newPlace(name);
      const acceptors = await Promise.all(
        Array.from({ length: 4 }, async () => acceptorOver(await openFor(stores, place))),
      );
      const replies = await Promise.all(
        acceptors.flatMap((acceptor, at) =>
          [1, 2, 3].map((round) => acceptor.handle([accept('k', round * 10 + at, `${round}/${at}`)], at)),
        ),
      );
      const accepted = replies.flat().filter((reply) => reply.type === '2b');
      const [highest] = accepted.toSorted((a, b) => b.ballot.counter - a.ballot.counter);
      const states = await Promise.all(acceptors.map((acceptor) => acceptor.handle([query('k')], 0)));
      for (const [state] of states) {
        expect(state).toMatchObject({ type: 'state', accepted: highest!.ballot, value: highest!.value });
      }
    });

    test('a promise to one holds against another, whatever it remembers', async () => {
      const place = newPlace(name);
      const one = await acceptorOver(await openFor(stores, place));
      const other = await acceptorOver(await openFor(stores, place));
      await one.handle([promise('k', 1), accept('k', 1, 'v')], 0);
      await other.handle([promise('k', 9)], 0);
      expect(await one.handle([accept('k', 2, 'w')], 0)).toMatchObject([
        { type: 'nak', promised: ballot(9) },
      ]);
    });
  });

  describe(`rule 8 on ${name}: a store that comes back`, () => {
    async function withSomething(): Promise<{
      place: string;
      acceptor: StoreAcceptor;
      exchange: (change: () => Promise<void>) => Promise<void>;
    }> {
      const place = newPlace(name);
      const store = exchangeable(await stores.open(place));
      onTestFinished(() => store.close());
      const acceptor = await acceptorOver(store);
      await acceptor.handle([promise('k', 1), accept('k', 1, 'v')], 0);
      const exchange = async (change: () => Promise<void>): Promise<void> => {
        await store.close();
        await change();
        store.exchange(await stores.open(place));
      };
      return { place, acceptor, exchange };
    }

    async function refusesEverything(acceptor: StoreAcceptor, code: string): Promise<void> {
      expect(await codeOf(acceptor.handle([promise('k', 9)], 0))).toBe(code);
      expect(await codeOf(acceptor.handle([query('k')], 0))).toBe(code);
      expect(await codeOf(acceptor.handle([promise('another', 9)], 0))).toBe(code);
      expect(await codeOf(acceptor.describe())).toBe(code);
      expect(await codeOf(acceptor.list('', 10))).toBe(code);
      const configuration = { cluster: 'c', number: 1, acceptors: [{ id: 'x', url: 'x' }] };
      expect(await codeOf(acceptor.install(configuration))).toBe(code);
    }

    test('empty is not a fresh acceptor, and is left empty', async () => {
      const { place, acceptor, exchange } = await withSomething();
      await exchange(() => stores.empty(place));
      await refusesEverything(acceptor, 'ACCEPTOR_EMPTY');
      const store = await openFor(stores, place);
      expect(await store.list('', 10)).toEqual([]);
    });

    test('as somebody else is not this acceptor', async () => {
      const { place, acceptor, exchange } = await withSomething();
      await exchange(async () => {
        await stores.empty(place);
        const store = await stores.open(place);
        await new StoreAcceptor(store).describe();
        await store.close();
      });
      await refusesEverything(acceptor, 'ACCEPTOR_FOREIGN');
    });

    test('as itself, after somebody else was there for a while, is used again', async () => {
      const { place, acceptor, exchange } = await withSomething();
      let restore = async (): Promise<void> => {};
      await exchange(async () => {
        restore = await stores.snapshot(place);
        await stores.empty(place);
      });
      await refusesEverything(acceptor, 'ACCEPTOR_EMPTY');
      await exchange(async () => {
        const store = await stores.open(place);
        await new StoreAcceptor(store).describe();
        await store.close();
      });
      await refusesEverything(acceptor, 'ACCEPTOR_FOREIGN');
      await exchange(() => restore());
      expect(await acceptor.handle([query('k')], 0)).toMatchObject([{ type: 'state', value: 'v' }]);
      expect(await codeOf(acceptor.handle([promise('k', 2), accept('k', 2, 'w')], 0))).toBe('none');
    });

    test('from an old copy is behind', async () => {
      const { place, acceptor, exchange } = await withSomething();
      let restore = async (): Promise<void> => {};
      await exchange(async () => {
        restore = await stores.snapshot(place);
      });
      await acceptor.handle([promise('k', 2), accept('k', 2, 'w')], 0);
      await exchange(() => restore());
      await refusesEverything(acceptor, 'ACCEPTOR_BEHIND');
    });

    test('from an old copy is refused by every process once one has found it out, and by those that start later', async () => {
      const place = newPlace(name);
      const host = leapingHost();
      const shown = await Promise.all(
        [1, 2].map(async () => {
          const store = exchangeable(await stores.open(place));
          onTestFinished(() => store.close());
          return store;
        }),
      );
      const [finder, user] = await Promise.all(shown.map((store) => acceptorOver(store, host)));
      await user!.handle([promise('unchanged', 1)], 0);
      await finder!.handle([promise('k', 1), accept('k', 1, 'v')], 0);
      for (const store of shown) await store.close();
      const restore = await stores.snapshot(place);
      for (const store of shown) store.exchange(await stores.open(place));
      await finder!.handle([promise('k', 2), accept('k', 2, 'w')], 0);
      for (const store of shown) await store.close();
      await restore();
      for (const store of shown) store.exchange(await stores.open(place));

      // What has not changed is what it was: the one process cannot know, the other does.
      expect(typesOf(await user!.handle([promise('unchanged', 2)], 0))).toEqual(['1b']);
      expect(await codeOf(finder!.handle([query('k')], 0))).toBe('ACCEPTOR_BEHIND');
      host.leap(LOOK_AGAIN_MS);
      expect(await codeOf(user!.handle([promise('unchanged', 2)], 0))).toBe('ACCEPTOR_BEHIND');
      await refusesEverything(user!, 'ACCEPTOR_BEHIND');
      const later = await openFor(stores, place);
      const error = await new StoreAcceptor(later).describe().catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: 'ACCEPTOR_BEHIND',
        message: expect.stringContaining('register k went back to an earlier state, as from an old copy'),
      });
      await refusesEverything(new StoreAcceptor(later), 'ACCEPTOR_BEHIND');
    });

    test('as it was is the same acceptor', async () => {
      const { acceptor, exchange } = await withSomething();
      await exchange(async () => {});
      expect(valueIn((await acceptor.handle([query('k')], 0))[0])).toBe('v');
      expect(typesOf(await acceptor.handle([promise('k', 2), accept('k', 2, 'w')], 0))).toEqual(['1b', '2b']);
    });

    test('with registers but without an identity is not taken for new', async () => {
      const place = newPlace(name);
      const store = await openFor(stores, place);
      await store.write([{ key: 'register/k', text: 'something', expected: undefined }]);
      expect(await codeOf(new StoreAcceptor(store).describe())).toBe('ACCEPTOR_EMPTY');
      expect(await store.list('', 10)).toEqual(['register/k']);
    });
  });

  describe(`${name}: a document with garbage in it`, () => {
    const garbage = ['', 'garbage', '{}', 'baton1 00000000 {"set":1}', 'baton1 99999999 not json'];

    test.each(garbage)('fails alone, and is left as it is: %j', async (text) => {
      const store = await openFor(stores, newPlace(name));
      const acceptor = await acceptorOver(store);
      await store.write([{ key: 'register/bad', text, expected: undefined }]);
      const replies = await acceptor.handle([accept('good', 1, 'v'), accept('bad', 1, 'v')], 0);
      expect(typesOf(replies)).toEqual(['2b', 'failed']);
      expect(replies[1]).toMatchObject({ code: 'CORRUPT_RECORD' });
      const [document] = await store.read(['register/bad']);
      expect(document?.text).toBe(text);
    });

    test('of a newer version of Baton says so', async () => {
      const store = await openFor(stores, newPlace(name));
      const acceptor = await acceptorOver(store);
      await store.write([{ key: 'register/new', text: 'baton2 00000000 {}', expected: undefined }]);
      expect(await acceptor.handle([promise('new', 1)], 0)).toMatchObject([
        { type: 'failed', code: 'FORMAT_NEWER' },
      ]);
    });

    test('as its identity makes it unusable', async () => {
      const store = await openFor(stores, newPlace(name));
      await store.write([{ key: 'identity', text: 'garbage', expected: undefined }]);
      expect(await codeOf(new StoreAcceptor(store).describe())).toBe('CORRUPT_RECORD');
      expect(await codeOf(new StoreAcceptor(store).handle([promise('k', 1)], 0))).toBe('CORRUPT_RECORD');
      const [document] = await store.read(['identity']);
      expect(document?.text).toBe('garbage');
    });
  });

  describe(`${name}: a store that is slow, refuses, or disappears`, () => {
    test('and refuses changes nothing, and works again afterwards', async () => {
      const store = await openFor(stores, newPlace(name));
      const acceptor = await acceptorOver(refusing(store, once(onKey('register/k'))));
      expect(await codeOf(acceptor.handle([accept('k', 1, 'v')], 0))).toBe('STORE_FAILED');
      expect(await store.read(['register/k'])).toEqual([undefined]);
      expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
    });

    test('in the middle of a batch answers nothing of it; asked again, it completes it', async () => {
      const store = await openFor(stores, newPlace(name));
      const acceptor = await acceptorOver(disappearing(store, once(onKey('register/a'))));
      const batch = ['a', 'b', 'c', 'd'].map((key) => accept(key, 1, key));
      expect(await codeOf(acceptor.handle(batch, 0))).toBe('STORE_FAILED');
      expect(typesOf(await acceptor.handle(batch, 0))).toEqual(['2b', '2b', '2b', '2b']);
      const states = await acceptor.handle(
        ['a', 'b', 'c', 'd'].map((key) => query(key)),
        0,
      );
      expect(states.map((state) => valueIn(state))).toEqual(['a', 'b', 'c', 'd']);
    });

    test('so slowly that others overtake: an answer from before is not taken for an old copy', async () => {
      const place = newPlace(name);
      const store = await openFor(stores, place);
      let release = (): void => {};
      let hold = (): void => {};
      const held = new Promise<void>((resolve) => {
        hold = resolve;
      });
      const slow = once(onKey('register/k', reads));
      let isArmed = false;
      const acceptor = await acceptorOver(
        delaying(store, (call, at) => {
          if (!isArmed || at === 'before' || !slow(call)) return undefined;
          hold();
          return new Promise((resolve) => {
            release = resolve;
          });
        }),
      );
      await acceptor.handle([promise('k', 1)], 0);
      isArmed = true;
      const question = acceptor.handle([query('k')], 0);
      await held;
      expect(typesOf(await acceptor.handle([accept('k', 1, 'v')], 0))).toEqual(['2b']);
      release();
      await question;
      expect(valueIn((await acceptor.handle([query('k')], 0))[0])).toBe('v');
    });

    test('with every second write: nothing answered is lost', async () => {
      const store = await openFor(stores, newPlace(name));
      let count = 0;
      const everySecond = (call: storeFaults.StoreCall): boolean => writes(call) && (count += 1) % 2 === 0;
      const acceptor = await acceptorOver(losingAnswers(store, everySecond));
      let answered = 0;
      for (let counter = 1; counter <= 20; counter += 1) {
        const code = await codeOf(acceptor.handle([accept('k', counter, String(counter))], 0));
        if (code === 'none') answered = counter;
        const [state] = await acceptor.handle([query('k')], 0);
        expect(Number(valueIn(state))).toBeGreaterThanOrEqual(answered);
      }
    });
  });
}
