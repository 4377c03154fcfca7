import { describe, expect, test } from 'vitest';
import {
  handling,
  increment,
  memoryUrls,
  nameOf,
  openFor,
  storeOf,
} from '../../../test/caspaxos/clusters.ts';
import { randomFrom } from '../../../test/caspaxos/lines.ts';
import type { Cluster } from '../cluster.ts';
import { delaying, refusing } from '../stores/faults.ts';
import { MemoryStore } from '../stores/memory.ts';
import type { AcceptorStore } from '../stores/store.ts';
import { StoreAcceptor } from '../stores/store-acceptor.ts';

/** Every call to a store takes a number of turns that the seed decides, before and after; now and then one fails. */
function disturbed(random: () => number, failures: number): (store: AcceptorStore) => AcceptorStore {
  const turns = async (): Promise<void> => {
    for (let left = Math.floor(random() ** 3 * 12); left > 0; left -= 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return (store) =>
    refusing(delaying(store, turns), ({ keys }) => !keys.includes('identity') && random() < failures);
}

/** Creates registers and changes the same few again and again, until told to stop; returns what must be there. */
async function work(cluster: Cluster, name: string, isOver: () => boolean): Promise<Map<string, number>> {
  const expected = new Map<string, number>();
  for (let at = 0; !isOver() || at < 10; at += 1) {
    const key = at % 3 === 0 ? `${name} again` : `${name} ${at}`;
    const outcome = await cluster.change(key, increment, { timeoutMs: 20_000 });
    expect(outcome.outcome).toBe('committed');
    expect(outcome).toMatchObject({ value: (expected.get(key) ?? 0) + 1 });
    expected.set(key, (expected.get(key) ?? 0) + 1);
  }
  return expected;
}

/** Again and again until it has worked: each call finishes what the one before left undone. */
async function changeAcceptors(cluster: Cluster, urls: readonly string[]): Promise<void> {
  for (let left = 50; ; left -= 1) {
    try {
      return await cluster.changeAcceptors(urls);
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

async function runWith(seed: number, failures: number): Promise<number> {
  const random = randomFrom(seed);
  const disturb = disturbed(random, failures);
  const openAcceptor = (url: string): StoreAcceptor => new StoreAcceptor(disturb(storeOf(url)));
  const old = memoryUrls();
  const next = [old[seed % 3]!, ...memoryUrls(2)];
  const last = memoryUrls(seed % 2 === 0 ? 3 : 5);
  await openFor({ acceptors: old });
  const workers = await Promise.all([0, 1, 2].map(() => openFor({ acceptors: old, openAcceptor })));
  const coordinator = await openFor({ acceptors: old, openAcceptor, timeoutMs: 20_000 });
  let isOver = false;
  const working = workers.map((cluster, at) => work(cluster, `worker ${at}`, () => isOver));
  await changeAcceptors(coordinator, next);
  await changeAcceptors(coordinator, last);
  isOver = true;
  const expected = new Map((await Promise.all(working)).flatMap((done) => [...done]));
  // Nothing may be left behind on those that are no longer in the set.
  for (const url of [...old, ...next]) MemoryStore.clear(nameOf(url));
  const reader = await openFor({ acceptors: last });
  const missing: string[] = [];
  for (const [key, value] of expected) {
    const read = await reader.read<number>(key);
    if (read.value !== value) missing.push(`${key}: ${read.value} instead of ${value}`);
  }
  expect(missing).toEqual([]);
  return expected.size;
}

describe('rule 9: a register created after the registers were listed', () => {
  test('is not left behind: by then the old set is refused', async () => {
    const old = memoryUrls();
    const next = memoryUrls();
    const worker = await openFor({ acceptors: old });
    const created: string[] = [];
    const coordinator = await openFor({
      acceptors: old,
      openAcceptor: (url) => {
        const acceptor = new StoreAcceptor(storeOf(url));
        return {
          ...handling(acceptor, (requests, index) => acceptor.handle(requests, index)),
          // No list that is made can have the last of these in it.
          list: async (after, limit) => {
            const page = await acceptor.list(after, limit);
            const key = `created after list ${created.length}`;
            created.push(key);
            expect(await worker.change(key, increment)).toMatchObject({ outcome: 'committed' });
            return page;
          },
        };
      },
    });
    await coordinator.changeAcceptors(next);
    expect(created.length).toBeGreaterThanOrEqual(2);
    for (const url of old) MemoryStore.clear(nameOf(url));
    const reader = await openFor({ acceptors: next });
    for (const key of created) expect(await reader.read(key)).toEqual({ value: 1, version: 1 });
  });
});

describe('rule 9: registers created and changed while the set changes, in any order of events', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('are all there afterwards: seed %i', async (seed) => {
    expect(await runWith(seed, 0)).toBeGreaterThan(20);
  });

  test.each([11, 12, 13, 14])('with stores that fail now and then as well: seed %i', async (seed) => {
    expect(await runWith(seed, 0.03)).toBeGreaterThan(20);
  });
});
