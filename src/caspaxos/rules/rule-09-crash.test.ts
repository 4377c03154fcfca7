import { describe, expect, test } from 'vitest';
import { increment, memoryUrls, nameOf, openFor, storeOf } from '../../../test/caspaxos/clusters.ts';
import type { Acceptor } from '../acceptors.ts';
import { Cluster } from '../cluster.ts';
import { MemoryStore } from '../stores/memory.ts';
import { StoreAcceptor } from '../stores/store-acceptor.ts';

const KEYS = ['a', 'b', 'c', 'deleted'];

/** Calls `step` before everything that is asked of the acceptor. */
function stepping(acceptor: Acceptor, step: () => void): Acceptor {
  const counted =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      step();
      return work(...args);
    };
  return {
    url: acceptor.url,
    concurrency: acceptor.concurrency,
    expect: (id, cluster) => acceptor.expect(id, cluster),
    describe: counted(() => acceptor.describe()),
    reserve: counted((cluster) => acceptor.reserve!(cluster)),
    install: counted((configuration) => acceptor.install(configuration)),
    handle: counted((requests, index) => acceptor.handle(requests, index)),
    list: counted((after, limit) => acceptor.list(after, limit)),
    close: () => acceptor.close(),
  };
}

/** A coordinator that dies at its n-th step: whatever it was about to do, and all after it, does not happen. */
async function dyingAt(
  n: number,
  old: readonly string[],
  next: readonly string[],
): Promise<'died' | 'finished'> {
  let steps = 0;
  let isArmed = false;
  const cluster = new Cluster({
    acceptors: old,
    openAcceptor: (url) =>
      stepping(new StoreAcceptor(storeOf(url)), () => {
        if (!isArmed) return;
        steps += 1;
        if (steps < n) return;
        void cluster.close();
        throw new Error('the process is dead');
      }),
  });
  await cluster.open();
  isArmed = true;
  const result = await cluster.changeAcceptors(next).then(
    () => 'finished' as const,
    () => 'died' as const,
  );
  await cluster.close();
  return steps < n ? 'finished' : result;
}

async function newCluster(): Promise<{ old: string[]; next: string[]; worker: Cluster }> {
  const old = memoryUrls();
  // One stays, two leave, two come.
  const next = [old[0]!, ...memoryUrls(2)];
  const worker = await openFor({ acceptors: old });
  for (const key of KEYS) await worker.change(key, increment);
  await worker.delete('deleted');
  return { old, next, worker };
}

describe('rule 9: a coordinator that dies in the middle of a change of the set', () => {
  test('at any step stops nobody, and the next one finishes the change', async () => {
    let deaths = 0;
    for (let step = 1; ; step += 1) {
      const { old, next, worker } = await newCluster();
      const result = await dyingAt(step, old, next);
      // Whoever works goes on, under the old set, both, or the new one.
      for (const key of KEYS)
        expect(await worker.change(key, increment)).toMatchObject({ outcome: 'committed' });
      await worker.change(`created after ${step}`, increment);
      const successor = await openFor({ acceptors: old });
      await successor.changeAcceptors(next);
      expect(successor.configuration.previous).toBeUndefined();
      expect(successor.configuration.acceptors.map(({ url }) => url)).toEqual(next);
      // Those that left are not needed; one of the new set may be missing as well.
      for (const url of old.slice(1)) MemoryStore.clear(nameOf(url));
      const reader = await openFor({ acceptors: next });
      expect((await reader.read(`created after ${step}`)).value).toBe(1);
      for (const key of ['a', 'b', 'c']) expect(await reader.read(key)).toEqual({ value: 2, version: 2 });
      expect(await reader.read('deleted')).toEqual({ value: 1, version: 3 });
      expect(await worker.change('a', increment)).toMatchObject({ value: 3 });
      if (result === 'finished') break;
      deaths += 1;
    }
    expect(deaths).toBeGreaterThan(20);
  });

  test('who is asked for another set finishes the old change first', async () => {
    const { old, next } = await newCluster();
    // Late enough for the first step to be decided and announced.
    expect(await dyingAt(25, old, next)).toBe('died');
    const other = memoryUrls();
    const successor = await openFor({ acceptors: old });
    await successor.changeAcceptors(other);
    expect(successor.configuration.acceptors.map(({ url }) => url)).toEqual(other);
    for (const url of [...old, ...next]) MemoryStore.clear(nameOf(url));
    for (const key of ['a', 'b', 'c']) expect((await successor.read(key)).value).toBe(1);
  });
});

describe.each([2, 3])('rule 9: a set of acceptors that nobody could be told of, number %i,', (number) => {
  test('is not used, so that no register gets out of reach of those who do not know it', async () => {
    const old = memoryUrls();
    const next = memoryUrls();
    const cluster = await openFor({
      acceptors: old,
      openAcceptor: (url) => {
        const acceptor = new StoreAcceptor(storeOf(url));
        const install = acceptor.install.bind(acceptor);
        acceptor.install = (configuration) =>
          configuration.number === number ? Promise.reject(new Error('cut off')) : install(configuration);
        return acceptor;
      },
    });
    await cluster.change('k', increment);
    await expect(cluster.changeAcceptors(next)).rejects.toMatchObject({ code: 'SET_CHANGE_FAILED' });
    await cluster.change('k', increment, { timeoutMs: 300 });
    await cluster.close();
    const another = await openFor({ acceptors: old });
    expect(another.configuration.number).toBe(number - 1);
    expect(await another.change('k', increment)).toMatchObject({ outcome: 'committed' });
  });
});
