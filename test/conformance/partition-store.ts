/**
 * What every store of a partition must do: the obligations of `engine/core/store.ts` one by one, and at the end random writes,
 * syncs and crashes against a model that keeps everything.
 */
import { DamagedEntry, glanceAt, NEW_NOTES, type PartitionStore } from 'baton/engine';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bodyText, entryOf, epkOf, put, remove } from './partition-entries.ts';
import { partitionStoreDamage } from './partition-store-damage.ts';
import { partitionStoreProperty } from './partition-store-property.ts';

/** A node's store that is open at some place. */
export interface OpenNode {
  partition(partitionSet: string): PartitionStore;
  /** Loses what is not durable, some of it at least; the place can be opened again. */
  crash(): Promise<void>;
  /** Until everything is durable and nothing is left to be taken away. */
  settled(): Promise<void>;
  close(): Promise<void>;
  /** From now on the disk takes nothing; undefined: it does again. */
  fail(error: Error | undefined): void;
}

export interface StoreUnderTest {
  open(place: string): Promise<OpenNode>;
  /** The entry on the disk of a place that is closed becomes unreadable. */
  damage(place: string, partitionSet: string, lsn: number): Promise<void>;
}

export const ALL = { from: '', to: 'FF', limit: 1000 };

export function synced(store: PartitionStore): Promise<void> {
  return new Promise((resolve, reject) => {
    store.sync((error) => (error === undefined ? resolve() : reject(error)));
  });
}

let places = 0;

export function partitionStoreConformance(name: string, stores: StoreUnderTest): void {
  const newPlace = (): string => `${name}-${(places += 1)}`;

  async function opened(
    place = newPlace(),
  ): Promise<{ node: OpenNode; store: PartitionStore; place: string }> {
    const node = await stores.open(place);
    onTestFinished(() => node.close());
    return { node, store: node.partition('p'), place };
  }

  /** Closes it and opens it again. */
  async function reopened({ node, place }: { node: OpenNode; place: string }) {
    await node.settled();
    await node.close();
    return opened(place);
  }

  describe(`partition store ${name}: log and documents`, () => {
    test('an empty one', async () => {
      const { store } = await opened();
      expect(store).toMatchObject({ notes: NEW_NOTES, tail: { epoch: 0, lsn: 0 }, base: 1, logBytes: 0 });
      expect(store.newest({ epk: epkOf('a'), id: 'a' })).toBeUndefined();
      expect([store.entry(0), store.entry(1), store.operation('o')]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      expect([store.entriesAfter(0, 1000), store.scan(ALL), [...store.undone()]]).toEqual([[], [], []]);
    });

    test('what was appended is read at once, after a sync, and after a restart', async () => {
      let open = await opened();
      const entry = entryOf(1, 1, [put('a', 'first'), put('b', 'second', { ttl: 10 })], { operation: 'o-1' });
      open.store.append([entry]);
      for (let round = 0; round < 3; round += 1) {
        const { store } = open;
        expect(store.tail).toEqual({ epoch: 1, lsn: 1 });
        expect(bodyText(store.newest(put('a')))).toBe('"first"');
        expect(store.newest(put('b'))).toMatchObject({
          epoch: 1,
          lsn: 1,
          at: entry.at,
          ttl: 10,
          createdLsn: 1,
        });
        expect(bodyText(store.version(put('b'), 1))).toBe('"second"');
        expect(store.version(put('c'), 1)).toBeUndefined();
        expect(store.operation('o-1')).toMatchObject({ epoch: 1, lsn: 1, statuses: [201, 201] });
        expect(store.operation('o-2')).toBeUndefined();
        expect(store.entry(1)?.changes).toHaveLength(2);
        expect(store.entriesAfter(0, 1).map(({ lsn }) => lsn)).toEqual([1]);
        expect(store.logBytes).toBeGreaterThan(100);
        if (round === 0) await synced(store);
        else open = await reopened(open);
      }
    });

    test.each([10, 200, 1500])(
      'a glance shows a partition key of %i characters, also after a restart',
      async (length) => {
        const epk = 'ü'.repeat(length);
        let open = await opened();
        const key = put('a', 'first', { epk });
        open.store.append([
          entryOf(1, 1, [key]),
          entryOf(1, 2, [put('a', 'second', { epk, ttl: 7, previous: 1 })]),
        ]);
        for (let round = 0; round < 3; round += 1) {
          const version = open.store.newest(key)!;
          expect(open.store.glance(key)).toMatchObject(glanceAt(version));
          expect(open.store.glance(key)).toMatchObject({
            lsn: 2,
            partitionKey: JSON.stringify([epk]),
            isDeleted: false,
          });
          if (round === 0) await synced(open.store);
          else open = await reopened(open);
        }
      },
    );

    test('a newer version takes the place of an older one, and a deletion is one', async () => {
      const open = await opened();
      open.store.append([
        entryOf(1, 1, [put('a', 'one')]),
        entryOf(1, 2, [put('a', 'two', { previous: 1 })]),
      ]);
      expect(bodyText(open.store.newest(put('a')))).toBe('"two"');
      expect(bodyText(open.store.version(put('a'), 1))).toBe('"one"');
      open.store.append([entryOf(1, 3, [remove('a', 2)])]);
      expect(open.store.newest(put('a'))).toMatchObject({ lsn: 3, previous: 2 });
      expect(open.store.newest(put('a'))?.body).toBeUndefined();
      expect(open.store.scan(ALL)).toEqual([]);
      const { store } = await reopened(open);
      expect(store.newest(put('a'))).toMatchObject({ lsn: 3 });
      expect(store.scan(ALL)).toEqual([]);
    });

    test('entries come in order, as many as fit, and at least one', async () => {
      const { store } = await opened();
      const lsns = Array.from({ length: 50 }, (_, index) => index + 1);
      store.append(lsns.map((lsn) => entryOf(1, lsn, [put(`d${lsn}`, 'x'.repeat(100))])));
      await synced(store);
      store.append([entryOf(2, 51, [put('last')])]);
      expect(store.entriesAfter(0, 1e6).map(({ lsn }) => lsn)).toEqual([...lsns, 51]);
      expect(store.entriesAfter(49, 1e6).map(({ epoch }) => epoch)).toEqual([1, 2]);
      expect(store.entriesAfter(10, 1).map(({ lsn }) => lsn)).toEqual([11]);
      expect(store.entriesAfter(51, 1)).toEqual([]);
      const some = store.entriesAfter(20, 1000).map(({ lsn }) => lsn);
      expect(some.length).toBeGreaterThan(1);
      expect(some.length).toBeLessThan(20);
    });

    test('only what follows the tail is appended', async () => {
      const { store } = await opened();
      store.append([entryOf(2, 1, [])]);
      expect(() => store.append([entryOf(2, 3, [])])).toThrow();
      expect(() => store.append([entryOf(1, 2, [])])).toThrow();
      expect(store.tail).toEqual({ epoch: 2, lsn: 1 });
    });

    test('partitions do not see each other', async () => {
      const { node, store } = await opened();
      const other = node.partition('q');
      store.append([entryOf(1, 1, [put('a', 'p')], { operation: 'o' })]);
      other.append([entryOf(3, 1, [put('a', 'q')])]);
      store.note({ fence: 7 });
      await Promise.all([synced(store), synced(other)]);
      expect(bodyText(store.newest(put('a')))).toBe('"p"');
      expect(bodyText(other.newest(put('a')))).toBe('"q"');
      expect(other.operation('o')).toBeUndefined();
      expect(other.notes.fence).toBe(0);
      expect(node.partition('q')).toBe(other);
    });
  });

  describe(`partition store ${name}: scan and expiry`, () => {
    test('documents come by effective partition key and then by the bytes of their id', async () => {
      let open = await opened();
      const ids = ['', 'a', 'a/b', 'é', 'z', '\u{fffd}', '\u{1f600}', '中'];
      const changes = ids.flatMap((id) => [put(id, 'x', { epk: 'k' }), put(id, 'x', { epk: 'm' })]);
      changes.slice(0, 7).forEach((change, index) => open.store.append([entryOf(1, index + 1, [change])]));
      open = await reopened(open);
      changes.slice(7).forEach((change, index) => open.store.append([entryOf(1, index + 8, [change])]));
      const sorted = changes
        .map(({ epk, id }) => ({ epk, id }))
        .sort((a, b) => Buffer.compare(Buffer.from(a.epk + a.id), Buffer.from(b.epk + b.id)));
      for (let round = 0; round < 2; round += 1) {
        const { store } = open;
        const keysOf = (options: object) =>
          store.scan({ ...ALL, ...options }).map(({ epk, id }) => ({ epk, id }));
        expect(keysOf({})).toEqual(sorted);
        expect(keysOf({ limit: 3 })).toEqual(sorted.slice(0, 3));
        expect(keysOf({ limit: 0 })).toEqual([]);
        expect(keysOf({ after: sorted[9] })).toEqual(sorted.slice(10));
        expect(keysOf({ from: sorted[8]!.epk })).toEqual(sorted.slice(8));
        expect(keysOf({ to: sorted[8]!.epk })).toEqual(sorted.slice(0, 8));
        expect(keysOf({ from: sorted[8]!.epk, after: sorted[3] })).toEqual(sorted.slice(8));
        open = await reopened(open);
      }
    });

    test('documents whose time is over, until they are written again', async () => {
      let open = await opened();
      const at = 1_000_000;
      open.store.append([
        entryOf(1, 1, [put('a', 'x', { ttl: 10 }), put('b', 'x', { ttl: 20 }), put('c')], { at }),
        entryOf(1, 2, [put('d', 'x', { ttl: 1 })], { at }),
        entryOf(1, 3, [put('d', 'x', { previous: 2 })], { at }),
      ]);
      const ids = (moment: number, limit = 100): readonly string[] =>
        open.store
          .expired(moment, limit)
          .map(({ id }) => id)
          .sort();
      for (let round = 0; round < 2; round += 1) {
        expect(ids(at + 9_999)).toEqual([]);
        expect(ids(at + 10_000)).toEqual(['a']);
        expect(ids(at + 1e9)).toEqual(['a', 'b']);
        expect(ids(at + 1e9, 1)).toHaveLength(1);
        open = await reopened(open);
      }
      open.store.append([entryOf(1, 4, [put('a', 'y', { previous: 1, ttl: 100 })], { at })]);
      expect(ids(at + 30_000)).toEqual(['b']);
      open.store.append([entryOf(1, 5, [remove('b', 1)], { at })]);
      open = await reopened(open);
      expect(ids(at + 1e9)).toEqual(['a']);
      open.store.truncate(3, 1);
      expect(ids(at + 30_000)).toEqual(['a', 'b']);
      open = await reopened(open);
      expect(ids(at + 30_000)).toEqual(['a', 'b']);
    });
  });

  describe(`partition store ${name}: undoing`, () => {
    test('documents go back to what they were, and what was undone is kept', async () => {
      for (const isFlushed of [false, true]) {
        let open = await opened();
        open.store.append([
          entryOf(1, 1, [put('a', 'one'), put('b', 'one')]),
          entryOf(1, 2, [put('a', 'two', { previous: 1 })], { operation: 'two' }),
          entryOf(2, 3, [put('a', 'three', { previous: 2 }), put('new', 'x')], { operation: 'three' }),
          entryOf(2, 4, [remove('b', 1), put('new', 'y', { previous: 3 })]),
        ]);
        if (isFlushed) open = await reopened(open);
        const bytes = open.store.logBytes;
        open.store.truncate(1, 777);
        for (let round = 0; round < 3; round += 1) {
          const { store } = open;
          expect(store.tail).toEqual({ epoch: 1, lsn: 1 });
          expect(bodyText(store.newest(put('a')))).toBe('"one"');
          expect(bodyText(store.newest(put('b')))).toBe('"one"');
          expect(store.newest(put('new'))).toBeUndefined();
          expect([store.operation('two'), store.operation('three'), store.entry(2)]).toEqual([
            undefined,
            undefined,
            undefined,
          ]);
          expect(
            store
              .scan(ALL)
              .map(({ id }) => id)
              .sort(),
          ).toEqual(['a', 'b']);
          const undone = [...store.undone()];
          expect(undone.map(({ entry: { epoch, lsn }, undoneAt }) => [epoch, lsn, undoneAt])).toEqual([
            [1, 2, 777],
            [2, 3, 777],
            [2, 4, 777],
          ]);
          expect(bodyText(undone[1]!.entry.changes[0])).toBe('"three"');
          expect(store.logBytes).toBeLessThan(bytes);
          if (round === 0) await synced(store);
          else open = await reopened(open);
        }
        open.store.append([entryOf(3, 2, [put('a', 'other', { previous: 1 })])]);
        expect(bodyText(open.store.newest(put('a')))).toBe('"other"');
        expect(bodyText((await reopened(open)).store.newest(put('a')))).toBe('"other"');
      }
    });

    test('an undone write is closed, and stays so', async () => {
      let open = await opened();
      open.store.append([entryOf(1, 1, [put('a')]), entryOf(1, 2, [put('b')])]);
      open.store.truncate(0, 5);
      expect(open.store.tail).toEqual({ epoch: 0, lsn: 0 });
      open.store.closeUndone({ epoch: 1, lsn: 2 }, 'reapplied');
      open.store.closeUndone({ epoch: 9, lsn: 9 }, 'dismissed');
      for (let round = 0; round < 2; round += 1) {
        expect([...open.store.undone()].map(({ closed }) => closed)).toEqual([undefined, 'reapplied']);
        open = await reopened(open);
      }
      open.store.append([entryOf(1, 1, [put('a')])]);
      open.store.truncate(0, 6);
      expect([...open.store.undone()].map(({ undoneAt }) => undoneAt)).toEqual([6, 5]);
    });

    test('what a trim has passed cannot be undone', async () => {
      const { store } = await opened();
      store.append([1, 2, 3].map((lsn) => entryOf(1, lsn, [put('a', lsn, { previous: lsn - 1 })])));
      store.trim(2);
      expect(() => store.truncate(1, 0)).toThrow();
      store.truncate(2, 0);
      expect(store.tail).toEqual({ epoch: 1, lsn: 2 });
      expect(bodyText(store.newest(put('a')))).toBe('2');
    });
  });

  describe(`partition store ${name}: trimming and copying`, () => {
    test('entries that no document needs go; the others stay', async () => {
      let open = await opened();
      open.store.append([
        entryOf(1, 1, [put('a', 'one')], { operation: 'o1' }),
        entryOf(1, 2, [put('b', 'one'), put('c', 'one')]),
        entryOf(1, 3, [put('a', 'two', { previous: 1 })], { operation: 'o3' }),
        entryOf(1, 4, [put('b', 'two', { previous: 2 })]),
        entryOf(1, 5, [put('gone')]),
        entryOf(1, 6, [remove('gone', 5)]),
        entryOf(1, 7, [put('a', 'three', { previous: 3 })], { operation: 'o7' }),
      ]);
      const bytes = open.store.logBytes;
      open.store.trim(6);
      open.store.trim(3);
      for (let round = 0; round < 2; round += 1) {
        const { store } = open;
        expect(store.base).toBe(7);
        expect(store.logBytes).toBeLessThan(bytes / 2);
        expect(store.tail).toEqual({ epoch: 1, lsn: 7 });
        expect(
          store
            .scan(ALL)
            .map(({ id, lsn }) => `${id} ${lsn}`)
            .sort(),
        ).toEqual(['a 7', 'b 4', 'c 2']);
        expect(store.newest(put('gone'))).toBeUndefined();
        expect([store.operation('o1'), store.operation('o3')]).toEqual([undefined, undefined]);
        expect(store.operation('o7')?.lsn).toBe(7);
        open = await reopened(open);
      }
      // A newer version of `a` may still be undone: entry 3 is what it then goes back to.
      expect(open.store.entriesAfter(0, 1e6).map(({ lsn }) => lsn)).toEqual([2, 3, 4, 7]);
      open.store.truncate(6, 0);
      expect(bodyText(open.store.newest(put('a')))).toBe('"two"');
      open.store.append([entryOf(2, 7, [put('a', 'x', { previous: 3 }), remove('c', 2)])]);
      open.store.trim(7);
      open = await reopened(open);
      expect(open.store.tail).toEqual({ epoch: 2, lsn: 7 });
      expect(open.store.entriesAfter(0, 1e6).map(({ lsn }) => lsn)).toEqual([4, 7]);
      expect(open.store.newest(put('c'))).toBeUndefined();
    });

    test('a log of which nothing is left still knows where it ended', async () => {
      let open = await opened();
      open.store.append([entryOf(3, 1, [put('a')]), entryOf(3, 2, [remove('a', 1)])]);
      open.store.trim(2);
      open = await reopened(open);
      expect(open.store.entriesAfter(0, 1e6)).toEqual([]);
      expect([open.store.tail, open.store.base]).toEqual([{ epoch: 3, lsn: 2 }, 3]);
      open.store.append([entryOf(3, 3, [put('a', 'again')])]);
      open = await reopened(open);
      expect(open.store.entriesAfter(0, 1e6).map(({ lsn }) => lsn)).toEqual([3]);
    });

    test('a full copy: everything is forgotten but notes and undone writes, and gaps below the log are right', async () => {
      let open = await opened();
      open.store.append(
        [1, 2, 3].map((lsn) => entryOf(1, lsn, [put(`old${lsn}`)], { operation: `o${lsn}` })),
      );
      open.store.truncate(2, 4);
      open.store.note({ fence: 3, building: true });
      await synced(open.store);
      open.store.clear(10);
      expect(open.store).toMatchObject({ tail: { epoch: 0, lsn: 0 }, base: 10, logBytes: 0 });
      expect([open.store.scan(ALL), open.store.entriesAfter(0, 1e6)]).toEqual([[], []]);
      expect([open.store.operation('o1'), open.store.newest(put('old1'))]).toEqual([undefined, undefined]);
      open.store.append([
        entryOf(2, 4, [put('a', 'one'), put('b', 'one')]),
        entryOf(2, 7, [put('a', 'two', { previous: 5 }), remove('x', 1)]),
        entryOf(2, 10, [put('b', 'two', { previous: 4 })], { operation: 'n' }),
      ]);
      for (let round = 0; round < 2; round += 1) {
        const { store } = open;
        expect([...store.undone()].map(({ entry }) => entry.lsn)).toEqual([3]);
        expect(store.notes.fence).toBe(3);
        expect(
          store
            .scan(ALL)
            .map(({ id, lsn }) => `${id} ${lsn}`)
            .sort(),
        ).toEqual(['a 7', 'b 10']);
        expect(store.newest(put('x'))).toBeUndefined();
        expect(store.entriesAfter(0, 1e6).map(({ lsn }) => lsn)).toEqual([4, 7, 10]);
        expect(store.tail).toEqual({ epoch: 2, lsn: 10 });
        open = await reopened(open);
      }
      open.store.note({ building: false });
      open.store.trim(10);
      open = await reopened(open);
      expect(open.store.entriesAfter(0, 1e6).map(({ lsn }) => lsn)).toEqual([7, 10]);
      expect(open.store.operation('n')).toBeUndefined();
    });
  });

  describe(`partition store ${name}: durability`, () => {
    test('syncs come back in their order, later ones too', async () => {
      const { node, store } = await opened();
      const order: number[] = [];
      const other = node.partition('q');
      await new Promise<void>((resolve) => {
        store.append([entryOf(1, 1, [put('a')])]);
        store.sync(() => {
          order.push(1);
          store.append([entryOf(1, 2, [put('b')])]);
          store.sync(() => {
            order.push(3);
            resolve();
          });
        });
        other.sync(() => order.push(2));
        expect(order).toEqual([]);
      });
      expect(order).toEqual([1, 2, 3]);
    });

    test('a crash takes nothing that was synced', async () => {
      const { node, store, place } = await opened();
      store.append([entryOf(1, 1, [put('a', 'one')])]);
      store.note({ incarnation: 4, table: [{ epoch: 1, lsn: 1 }] });
      await synced(store);
      store.append([entryOf(1, 2, [put('a', 'two', { previous: 1 })])]);
      await node.crash();
      const again = (await opened(place)).store;
      expect(again.notes).toEqual({ ...NEW_NOTES, incarnation: 4, table: [{ epoch: 1, lsn: 1 }] });
      expect(bodyText(again.version(put('a'), 1))).toBe('"one"');
      expect([1, 2]).toContain(again.tail.lsn);
      expect(again.newest(put('a'))?.lsn).toBe(again.tail.lsn);
    });

    test('a full disk is told, nothing is lost, and it goes on when there is room', async () => {
      const { node, store, place } = await opened();
      store.append([entryOf(1, 1, [put('a', 'one')])]);
      await synced(store);
      node.fail(new Error('full'));
      store.append([entryOf(1, 2, [put('a', 'two', { previous: 1 })])]);
      store.note({ fence: 2 });
      await expect(synced(store)).rejects.toThrow();
      store.append([entryOf(1, 3, [put('b')])]);
      await expect(synced(store)).rejects.toThrow();
      expect(bodyText(store.newest(put('a')))).toBe('"two"');
      expect(store.entriesAfter(0, 1e6)).toHaveLength(3);
      node.fail(undefined);
      await synced(store);
      await node.crash();
      const again = (await opened(place)).store;
      expect(again.entriesAfter(0, 1e6)).toHaveLength(3);
      expect(again.notes.fence).toBe(2);
    });

    test('a damaged entry is never served, and can be replaced', async () => {
      let open = await opened();
      const entries = [1, 2, 3].map((lsn) =>
        entryOf(1, lsn, [put(`d${lsn}`, lsn)], { operation: `o${lsn}` }),
      );
      open.store.append(entries);
      await open.node.close();
      await stores.damage(open.place, 'p', 2);
      open = await opened(open.place);
      const { store } = open;
      const damaged = new DamagedEntry(2);
      expect(() => store.newest(put('d2'))).toThrow(damaged);
      expect(() => store.version(put('d2'), 2)).toThrow(damaged);
      expect(() => store.entry(2)).toThrow(damaged);
      expect(() => store.entriesAfter(0, 1e6)).toThrow(damaged);
      expect(() => store.operation('o2')).toThrow(damaged);
      expect(() => store.scan(ALL)).toThrow(damaged);
      expect(bodyText(store.newest(put('d3')))).toBe('3');
      store.replace(entries[1]!);
      expect(bodyText(store.newest(put('d2')))).toBe('2');
      open = await reopened(open);
      expect(open.store.entriesAfter(0, 1e6)).toHaveLength(3);
      expect(open.store.scan(ALL)).toHaveLength(3);
    });
  });

  partitionStoreDamage(name, stores, newPlace);
  partitionStoreProperty(name, stores, newPlace);
}
