/** What every store of a partition does about damage that trims, undos and full copies meet. */
import { DamagedEntry, type PartitionStore } from 'baton/engine';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bodyText, entryOf, put } from './partition-entries.ts';
import { ALL, type OpenNode, type StoreUnderTest } from './partition-store.ts';

function bodiesIn(store: PartitionStore): readonly string[] {
  return store
    .scan(ALL)
    .map((version) => bodyText(version)!)
    .sort((a, b) => a.localeCompare(b));
}

export function partitionStoreDamage(name: string, stores: StoreUnderTest, newPlace: () => string): void {
  async function opened(place: string) {
    const node = await stores.open(place);
    onTestFinished(() => node.close());
    return { node, store: node.partition('p'), place };
  }

  async function again({ node, place }: { readonly node: OpenNode; readonly place: string }) {
    await node.settled();
    await node.close();
    return opened(place);
  }

  /** An entry for each version of `a`, then one that writes `b` and `c`, then new versions of `a` and `b`. */
  const entries = [
    entryOf(1, 1, [put('a', 1)], { operation: 'o1' }),
    entryOf(1, 2, [put('a', 2, { previous: 1 })]),
    entryOf(1, 3, [put('b', 3), put('c', 3)], { operation: 'o3' }),
    entryOf(1, 4, [put('a', 4, { previous: 2 }), put('b', 4, { previous: 3 })]),
    entryOf(1, 5, [put('d', 5)]),
  ];

  async function damagedAt(lsn: number) {
    const fresh = await opened(newPlace());
    fresh.store.append(entries);
    await fresh.node.settled();
    await fresh.node.close();
    await stores.damage(fresh.place, 'p', lsn);
    return opened(fresh.place);
  }

  describe(`partition store ${name}: damage`, () => {
    test('stops a trim until the entry is replaced, and says so', async () => {
      const open = await damagedAt(2);
      open.store.trim(4);
      await open.node.settled();
      expect(open.store).toMatchObject({ base: 5, unreadable: 2 });
      expect(() => open.store.entriesAfter(0, 1e6)).toThrow(new DamagedEntry(2));
      open.store.replace(entries[1]!);
      await open.node.settled();
      expect(open.store.unreadable).toBeUndefined();
      expect(open.store.entriesAfter(0, 1e6).map(({ lsn }) => lsn)).toEqual([3, 4, 5]);
    });

    test('makes way for the rest of an entry, which may be nothing', async () => {
      let open = await damagedAt(2);
      open.store.trim(4);
      await open.node.settled();
      open.store.replace(entryOf(1, 2, []), 'rest');
      await open.node.settled();
      expect(open.store.entry(2)).toBeUndefined();
      open = await again(open);
      expect(open.store.unreadable).toBeUndefined();
      expect(bodiesIn(open.store)).toEqual(['3', '4', '4', '5']);
    });

    test('makes way for the part of a batch that is still needed, which goes when that is', async () => {
      let open = await damagedAt(3);
      open.store.trim(4);
      await open.node.settled();
      open.store.replace(entryOf(1, 3, [put('c', 3)]), 'rest');
      await open.node.settled();
      expect(bodiesIn(open.store)).toEqual(['3', '4', '4', '5']);
      open = await again(open);
      open.store.append([entryOf(1, 6, [put('c', 6, { previous: 3 })])]);
      open.store.trim(6);
      await open.node.settled();
      expect(open.store.entriesAfter(0, 1e6).map(({ lsn }) => lsn)).toEqual([4, 5, 6]);
    });

    test('keeps nothing from being undone, but what is given up is listed', async () => {
      let open = await damagedAt(3);
      expect(() => open.store.truncate(1, 7)).toThrow(new DamagedEntry(3));
      open.store.giveUp([entries[1]!, entries[3]!], 7);
      open.store.note({ building: true });
      open.store.clear(3);
      open = await again(open);
      const listed = [...open.store.undone()].map(({ entry, undoneAt }) => [entry.lsn, undoneAt]);
      expect(listed).toEqual([
        [2, 7],
        [4, 7],
      ]);
    });
  });
}
