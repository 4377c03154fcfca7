/**
 * What every store must do, for memory, LMDB and all that follow. A new store is ready when
 *
 *   storeConformance('postgres', { open, empty, snapshot });
 *   storeAcceptorConformance('postgres', { open, empty, snapshot });
 *
 * pass against its real server. A *place* is where the documents are: a name, a directory, a table.
 */
import type { AcceptorStore, StoreVersion } from 'baton/caspaxos';
import { describe, expect, onTestFinished, test } from 'vitest';

export interface StoreUnderTest {
  /** A new connection to the place. Two of them see each other's writes. */
  open(place: string): Promise<AcceptorStore>;
  /** Takes everything away, as when a disk is swapped for an empty one. Nothing is open on the place. */
  empty(place: string): Promise<void>;
  /** Copies the place as it is now; the result puts that copy back. Nothing is open on the place either time. */
  snapshot(place: string): Promise<() => Promise<void>>;
  /** What the store must say of itself; undefined: it takes everything that Baton writes. */
  readonly largestText?: number;
  /** A large batch: 2,000 documents, as Baton's are at the most. Fewer for stores to which each is a request of its own. */
  readonly largeBatch?: number;
}

let places = 0;

export function newPlace(name: string): string {
  places += 1;
  return `${name}-${process.pid}-${places}`;
}

/** Opened for this test, and closed with it. */
export async function openFor(stores: StoreUnderTest, place: string): Promise<AcceptorStore> {
  const store = await stores.open(place);
  onTestFinished(() => store.close());
  return store;
}

async function create(store: AcceptorStore, key: string, text: string): Promise<StoreVersion> {
  const [result] = await store.write([{ key, text, expected: undefined }]);
  if (result?.result !== 'written') throw new Error(`could not create ${key}`);
  return result.version;
}

async function textOf(store: AcceptorStore, key: string): Promise<string | undefined> {
  const [document] = await store.read([key]);
  return document?.text;
}

export function storeConformance(name: string, stores: StoreUnderTest): void {
  describe(`store ${name}: conditional writes`, () => {
    test('create what is not there, and only that', async () => {
      const store = await openFor(stores, newPlace(name));
      expect(await store.read(['k'])).toEqual([undefined]);
      const version = await create(store, 'k', 'one');
      expect(await store.read(['k'])).toEqual([{ text: 'one', version }]);
      const again = await store.write([{ key: 'k', text: 'two', expected: undefined }]);
      expect(again).toEqual([{ result: 'conflict' }]);
      expect(await textOf(store, 'k')).toBe('one');
    });

    test('replace the version that was read, and no other', async () => {
      const store = await openFor(stores, newPlace(name));
      const first = await create(store, 'k', 'one');
      const [second] = await store.write([{ key: 'k', text: 'two', expected: first }]);
      expect(second?.result).toBe('written');
      const late = await store.write([{ key: 'k', text: 'late', expected: first }]);
      expect(late).toEqual([{ result: 'conflict' }]);
      expect(await textOf(store, 'k')).toBe('two');
    });

    test('of a document that is not there, with a version, are refused', async () => {
      const place = newPlace(name);
      const store = await openFor(stores, place);
      const version = await create(store, 'other', 'x');
      expect(await store.write([{ key: 'k', text: 'x', expected: version }])).toEqual([
        { result: 'conflict' },
      ]);
      expect(await textOf(store, 'k')).toBeUndefined();
    });

    test('never give a version twice, not even for the same text', async () => {
      const store = await openFor(stores, newPlace(name));
      const versions = [await create(store, 'k', 'same')];
      for (let at = 0; at < 20; at += 1) {
        const [result] = await store.write([{ key: 'k', text: 'same', expected: versions.at(-1) }]);
        versions.push((result as { version: StoreVersion }).version);
      }
      expect(new Set(versions).size).toBe(21);
    });

    test('of one batch stand each on its own condition', async () => {
      const store = await openFor(stores, newPlace(name));
      const version = await create(store, 'b', 'old');
      const results = await store.write([
        { key: 'a', text: 'new', expected: undefined },
        { key: 'b', text: 'new', expected: undefined },
        { key: 'c', text: 'new', expected: version },
        { key: 'd', text: 'new', expected: undefined },
      ]);
      expect(results.map(({ result }) => result)).toEqual(['written', 'conflict', 'conflict', 'written']);
      const documents = await store.read(['a', 'b', 'c', 'd']);
      expect(documents.map((document) => document?.text)).toEqual(['new', 'old', undefined, 'new']);
    });

    test('that were answered are there after closing and opening again', async () => {
      const place = newPlace(name);
      const store = await stores.open(place);
      const version = await create(store, 'k', 'kept');
      await store.close();
      const again = await openFor(stores, place);
      expect(await again.read(['k'])).toEqual([{ text: 'kept', version }]);
    });
  });

  describe(`store ${name}: races`, () => {
    test('of two writers on one document, exactly one wins, every time', async () => {
      const place = newPlace(name);
      const writers = [await openFor(stores, place), await openFor(stores, place)];
      let version = await create(writers[0]!, 'k', 'start');
      for (let round = 0; round < 25; round += 1) {
        const results = await Promise.all(
          writers.map((store, at) => store.write([{ key: 'k', text: `${round}/${at}`, expected: version }])),
        );
        const outcomes = results.map(([result]) => result!);
        expect(outcomes.map(({ result }) => result).sort()).toEqual(['conflict', 'written']);
        const winner = outcomes.findIndex(({ result }) => result === 'written');
        for (const store of writers) expect(await textOf(store, 'k')).toBe(`${round}/${winner}`);
        version = (outcomes[winner] as { version: StoreVersion }).version;
      }
    });

    test('of two writers who create one document, exactly one wins', async () => {
      const place = newPlace(name);
      const writers = [await openFor(stores, place), await openFor(stores, place)];
      for (let round = 0; round < 10; round += 1) {
        const key = `new${round}`;
        const results = await Promise.all(
          writers.map((store, at) => store.write([{ key, text: String(at), expected: undefined }])),
        );
        expect(results.map(([result]) => result!.result).sort()).toEqual(['conflict', 'written']);
      }
    });

    test('of many, every increment that was answered is there', async () => {
      const place = newPlace(name);
      const writers = await Promise.all(Array.from({ length: 6 }, () => openFor(stores, place)));
      await create(writers[0]!, 'counter', '0');
      const increments = await Promise.all(writers.map((store) => incrementTimes(store, 10)));
      expect(await textOf(writers[3]!, 'counter')).toBe('60');
      expect(increments.reduce((sum, count) => sum + count, 0)).toBe(60);
    });
  });

  describe(`store ${name}: keys, lists and sizes`, () => {
    const oddKeys = [
      'with space',
      'with/slash//twice/',
      'ünïcödé',
      '鍵',
      'emoji 🔑',
      'line\nbreak',
      'null\u0000byte',
      '"quotes" and \\backslashes\\',
      '%41',
      '*?[a-z]{}',
      '..',
      "'; DROP TABLE registers; --",
      'k'.repeat(512),
      `${'x'.repeat(53)}\u0000`,
      `${'x'.repeat(53)}\u0004\u0000`,
      `${'y'.repeat(60)}\u0000`,
      '\u0001\u0004',
      '鍵'.repeat(170),
    ];

    test('any key of up to 512 bytes is a key like any other', async () => {
      const store = await openFor(stores, newPlace(name));
      const keys = oddKeys.map((key) => `register/${key}`);
      await store.write(keys.map((key) => ({ key, text: `text of ${key}`, expected: undefined })));
      const documents = await store.read(keys);
      expect(documents.map((document) => document?.text)).toEqual(keys.map((key) => `text of ${key}`));
      expect(await textOf(store, 'register/A')).toBeUndefined();
      expect((await store.list('', 100)).toSorted()).toEqual(keys.toSorted());
    });

    test('a list goes through all keys once, page by page', async () => {
      const store = await openFor(stores, newPlace(name));
      const keys = [
        ...Array.from({ length: 40 }, (_, at) => `register/${at}`),
        ...oddKeys.map((key) => `register/${key}`),
      ];
      await store.write(keys.map((key) => ({ key, text: 'x', expected: undefined })));
      for (const limit of [1, 7, 1000]) {
        const found: string[] = [];
        for (let after = ''; ; after = found.at(-1)!) {
          const page = await store.list(after, limit);
          expect(page.length).toBeLessThanOrEqual(limit);
          if (page.length === 0) break;
          found.push(...page);
        }
        expect(found.toSorted()).toEqual(keys.toSorted());
      }
    });

    test('a list begins after a key that need not exist', async () => {
      const store = await openFor(stores, newPlace(name));
      const keys = ['identity', 'register/a', 'register/b', 'register/c'];
      await store.write(keys.map((key) => ({ key, text: 'x', expected: undefined })));
      expect(await store.list('register/', 10)).toEqual(['register/a', 'register/b', 'register/c']);
      expect(await store.list('register/b', 10)).toEqual(['register/c']);
      expect(await store.list('register/c', 10)).toEqual([]);
    });

    const many = stores.largeBatch ?? 2000;

    test(`a batch of ${many} documents is written and read as one`, async () => {
      const store = await openFor(stores, newPlace(name));
      const keys = Array.from({ length: many }, (_, at) => `register/${at}`);
      const results = await store.write(keys.map((key) => ({ key, text: key, expected: undefined })));
      expect(results.every(({ result }) => result === 'written')).toBe(true);
      const documents = await store.read(keys);
      expect(documents.every((document, at) => document?.text === keys[at])).toBe(true);
    });

    test('a document may be as large as the largest value makes it, or as the store says', async () => {
      const store = await openFor(stores, newPlace(name));
      expect(store.largestText).toBe(stores.largestText);
      // One MiB of a value whose every character is escaped in the document.
      const text = '\\"'.repeat(1024 * 1024).slice(0, stores.largestText);
      const version = await create(store, 'k', text);
      expect(await textOf(store, 'k')).toBe(text);
      const [result] = await store.write([{ key: 'k', text: 'small', expected: version }]);
      expect(result?.result).toBe('written');
    });

    if (stores.largestText !== undefined) {
      test('a larger document than the store takes fails alone, and is not there', async () => {
        const store = await openFor(stores, newPlace(name));
        const text = '鍵'.repeat(Math.floor(stores.largestText! / 3) + 1);
        const results = await store.write([
          { key: 'before', text: 'small', expected: undefined },
          { key: 'k', text, expected: undefined },
          { key: 'after', text: 'small', expected: undefined },
        ]);
        expect(results.map(({ result }) => result)).toEqual(['written', 'failed', 'written']);
        expect(results[1]).toMatchObject({ error: { code: 'REQUEST_TOO_LARGE' } });
        expect(await textOf(store, 'k')).toBeUndefined();
      });
    }

    test('text comes back exactly', async () => {
      const store = await openFor(stores, newPlace(name));
      const text = 'null\u0000 line\r\nbreak 鍵🔑 \u2028 "quoted" \\ end ';
      await create(store, 'k', text);
      expect(await textOf(store, 'k')).toBe(text);
    });
  });
}

async function incrementTimes(store: AcceptorStore, times: number): Promise<number> {
  let done = 0;
  while (done < times) {
    const [document] = await store.read(['counter']);
    const text = String(Number(document!.text) + 1);
    const [result] = await store.write([{ key: 'counter', text, expected: document!.version }]);
    if (result?.result === 'written') done += 1;
  }
  return done;
}
