import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  errorOf,
  handling,
  increment,
  memoryUrls,
  nameOf,
  openAround,
  openFor,
  storeOf,
} from '../../../test/caspaxos/clusters.ts';
import { Lines } from '../../../test/caspaxos/lines.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { accept, promise, query, typesOf } from '../../../test/conformance/messages.ts';
import { until } from '../../../test/support/until.ts';
import type { Acceptor } from '../acceptors.ts';
import type { Cluster } from '../cluster.ts';
import { MemoryStore } from '../stores/memory.ts';
import { StoreAcceptor } from '../stores/store-acceptor.ts';

const KEYS = Array.from({ length: 12 }, (_, at) => `k${at}`);

async function fill(cluster: Cluster): Promise<void> {
  await Promise.all(KEYS.map((key) => cluster.change(key, increment)));
}

async function valuesIn(cluster: Cluster): Promise<unknown[]> {
  return Promise.all(KEYS.map(async (key) => (await cluster.read(key)).value));
}

function clear(urls: readonly string[]): void {
  for (const url of urls) MemoryStore.clear(nameOf(url));
}

describe('rule 9: changing the set of acceptors', () => {
  test('moves every register: the old acceptors are not needed any more', async () => {
    const old = memoryUrls();
    const next = memoryUrls();
    const cluster = await openFor({ acceptors: old });
    await fill(cluster);
    await cluster.changeAcceptors(next);
    expect(cluster.configuration).toMatchObject({ number: 3, acceptors: next.map((url) => ({ url })) });
    expect(cluster.configuration.previous).toBeUndefined();
    clear(old);
    const other = await openFor({ acceptors: next });
    expect(await valuesIn(other)).toEqual(KEYS.map(() => 1));
    expect(await cluster.change('k0', increment)).toMatchObject({
      outcome: 'committed',
      value: 2,
      version: 2,
    });
  });

  test('goes on while changes run, and loses none of them', async () => {
    const sets = [memoryUrls(), memoryUrls(), memoryUrls(5)];
    const clusters = await Promise.all([0, 1, 2].map(() => openFor({ acceptors: sets[0]! })));
    await fill(clusters[0]!);
    const counts = new Map(KEYS.map((key) => [key, 1]));
    let isOver = false;
    const work = clusters.map(async (cluster) => {
      for (let at = 0; !isOver || at < 60; at += 1) {
        const key = KEYS[at % KEYS.length]!;
        const { outcome } = await cluster.change(key, increment);
        expect(outcome).toBe('committed');
        counts.set(key, counts.get(key)! + 1);
      }
    });
    await clusters[0]!.changeAcceptors([sets[0]![2]!, ...sets[1]!.slice(0, 2)]);
    await clusters[1]!.changeAcceptors(sets[2]!);
    isOver = true;
    await Promise.all(work);
    clear([...sets[0]!, ...sets[1]!]);
    const reader = await openFor({ acceptors: sets[2]! });
    expect(await valuesIn(reader)).toEqual(KEYS.map((key) => counts.get(key)));
    expect(reader.configuration.number).toBe(5);
  });

  test('keeps tombstones, and the version goes on', async () => {
    const old = memoryUrls();
    const next = memoryUrls();
    const cluster = await openFor({ acceptors: old });
    await cluster.change('k', increment);
    await cluster.delete('k');
    await cluster.changeAcceptors(next);
    clear(old);
    const other = await openFor({ acceptors: next });
    expect(await other.read('k')).toEqual({ value: undefined, version: 2 });
    expect(await other.change('k', increment)).toMatchObject({ value: 1, version: 3 });
  });

  test('to the same acceptors with other quorums takes those', async () => {
    const acceptors = memoryUrls(5);
    const cluster = await openFor({ acceptors });
    await fill(cluster);
    await cluster.changeAcceptors(acceptors, { phase1: 4, phase2: 2 });
    expect(cluster.configuration).toMatchObject({ number: 3, quorums: { phase1: 4, phase2: 2 } });
    expect(await valuesIn(cluster)).toEqual(KEYS.map(() => 1));
  });

  test('to what is there already changes nothing', async () => {
    const acceptors = memoryUrls();
    const cluster = await openFor({ acceptors });
    await cluster.changeAcceptors(acceptors.toReversed());
    expect(cluster.configuration.number).toBe(1);
  });

  test('of acceptor services, too', async () => {
    const old = await TestService.startThree();
    const next = await TestService.startThree();
    const cluster = await openFor({ acceptors: old.map(({ url }) => url) });
    const sleeper = await openFor({ acceptors: old.map(({ url }) => url) });
    await fill(cluster);
    await cluster.changeAcceptors([`${next[0]!.url}/`, next[1]!.url, old[0]!.url]);
    expect(await sleeper.change('k0', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    expect(sleeper.configuration.number).toBe(3);
    for (const service of old.slice(1)) await service.stop();
    expect(await valuesIn(sleeper)).toEqual([2, ...KEYS.slice(1).map(() => 1)]);
  });
});

describe('rule 9: a proposer that uses an older set', () => {
  test('is refused, finds out, and carries on', async () => {
    const old = memoryUrls();
    const next = memoryUrls();
    const cluster = await openFor({ acceptors: old });
    const sleeper = await openFor({ acceptors: old });
    await sleeper.change('k0', increment);
    await cluster.changeAcceptors(next);
    const configurations: number[] = [];
    sleeper.on('configuration', ({ number }) => configurations.push(number));
    expect(await sleeper.change('k0', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    expect(sleeper.configuration).toEqual(cluster.configuration);
    expect(configurations.at(-1)).toBe(3);
    expect((await cluster.read('k0')).value).toBe(2);
  });

  test('finds out from a read as well, and does not return what was', async () => {
    const old = memoryUrls();
    const cluster = await openFor({ acceptors: old });
    const sleeper = await openFor({ acceptors: old });
    await cluster.change('k0', increment);
    expect((await sleeper.read('k0')).value).toBe(1);
    await cluster.changeAcceptors(memoryUrls());
    await cluster.change('k0', increment);
    expect((await sleeper.read('k0')).value).toBe(2);
  });

  test('is refused by every old acceptor, for registers of any age', async () => {
    const old = memoryUrls();
    const cluster = await openFor({ acceptors: old });
    await cluster.change('k', increment);
    await cluster.changeAcceptors(memoryUrls());
    for (const url of old) {
      const acceptor = new StoreAcceptor(storeOf(url));
      for (const request of [
        query('k'),
        promise('k', 1e15),
        accept('k', 1e15, 'x'),
        promise('new', 1),
        query('new'),
      ]) {
        expect(typesOf(await acceptor.handle([request], 0))).toEqual(['stale-set']);
      }
    }
  });

  test('can still open the cluster from the old addresses', async () => {
    const old = memoryUrls();
    const cluster = await openFor({ acceptors: old });
    await cluster.change('k', increment);
    await cluster.changeAcceptors(memoryUrls());
    const late = await openFor({ acceptors: old });
    expect(late.configuration).toEqual(cluster.configuration);
    expect(await late.change('k', increment)).toMatchObject({ value: 2 });
  });

  test('with an attempt under way when the set changes applies it once', async () => {
    const old = memoryUrls();
    const next = memoryUrls();
    const coordinator = await openFor({ acceptors: old });
    let change: Promise<void> | undefined;
    // Its first accept is done, but before the answers come back the set is another one.
    const cluster = await openAround(old, (acceptor) =>
      handling(acceptor, async (requests, index) => {
        const replies = await acceptor.handle(requests, index);
        if (requests.some(({ message }) => message.type === '2a')) {
          change ??= coordinator.changeAcceptors(next);
          await change;
        }
        return replies;
      }),
    );
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
    expect((await coordinator.read('k')).value).toBe(1);
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
  });
});

describe('rule 9: replacing an acceptor', () => {
  test('that is gone for good', async () => {
    const urls = memoryUrls();
    const [replacement] = memoryUrls(1);
    const lines = new Lines(3);
    const cluster = await openAround(urls, lines.wrap);
    await fill(cluster);
    lines.set('open', 'open', 'cut');
    await cluster.replaceAcceptor(urls[2]!, replacement!);
    expect(cluster.configuration.acceptors.map(({ url }) => url)).toEqual([urls[0], urls[1], replacement]);
    // The new one holds everything: with it alone beside one of the old ones, all is there.
    lines.set('cut', 'open', 'cut');
    expect(await valuesIn(cluster)).toEqual(KEYS.map(() => 1));
  });

  test('by one that holds every register when the call returns, though a quorum could do without it', async () => {
    const urls = memoryUrls();
    const [replacement] = memoryUrls(1);
    const slowly =
      (acceptor: Acceptor): Acceptor['handle'] =>
      async (requests, index) => {
        await sleep(20);
        return acceptor.handle(requests, index);
      };
    const cluster = await openFor({
      acceptors: urls,
      openAcceptor: (url) => {
        const acceptor = new StoreAcceptor(storeOf(url));
        return url === replacement ? handling(acceptor, slowly(acceptor)) : acceptor;
      },
    });
    await fill(cluster);
    await cluster.replaceAcceptor(urls[2]!, replacement!);
    const held = await storeOf(replacement!).list('register/', 100);
    expect(held).toEqual(expect.arrayContaining(KEYS.map((key) => `register/${key}`)));
  });

  test('by a new one at the same address', async () => {
    const urls = memoryUrls();
    const lines = new Lines(3);
    const cluster = await openAround(urls, lines.wrap);
    await fill(cluster);
    const [, , old] = cluster.configuration.acceptors;
    const third = storeOf(urls[2]!);
    await until(
      'the third holds them all',
      async () => (await third.list('register/', 100)).length === KEYS.length,
    );
    clear([urls[2]!]);
    await cluster.change('k0', increment);
    await cluster.replaceAcceptor(old!.id, urls[2]!);
    expect(cluster.configuration.number).toBe(3);
    expect(cluster.configuration.acceptors[2]).toMatchObject({ url: urls[2] });
    expect(cluster.configuration.acceptors[2]!.id).not.toBe(old!.id);
    // It is an acceptor like the others: with it, one of them may be missing.
    lines.set('cut', 'open', 'open');
    expect(await valuesIn(cluster)).toEqual([2, ...KEYS.slice(1).map(() => 1)]);
    expect(await cluster.change('k0', increment)).toMatchObject({ outcome: 'committed', value: 3 });
  });

  test('that nobody knows is an error, and changes nothing', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    expect(await errorOf(cluster.replaceAcceptor('memory:nobody', memoryUrls(1)[0]!))).toMatchObject({
      code: 'SET_CHANGE_FAILED',
    });
    expect(cluster.configuration.number).toBe(1);
  });

  test('by one that is in use is refused, and changes nothing', async () => {
    const [url] = memoryUrls(1);
    await new StoreAcceptor(storeOf(url!)).describe();
    await new StoreAcceptor(storeOf(url!)).handle([promise('theirs', 1)], 0);
    const urls = memoryUrls();
    const cluster = await openFor({ acceptors: urls });
    expect(await errorOf(cluster.replaceAcceptor(urls[0]!, url!))).toMatchObject({ code: 'ACCEPTOR_IN_USE' });
    const elsewhere = memoryUrls();
    await openFor({ acceptors: elsewhere });
    expect(await errorOf(cluster.changeAcceptors(elsewhere))).toMatchObject({ code: 'ACCEPTOR_IN_USE' });
    expect(cluster.configuration.number).toBe(1);
  });

  test('when too few of the others can be reached fails, and the cluster works again when they can', async () => {
    const urls = memoryUrls();
    const lines = new Lines(3);
    const cluster = await openAround(urls, lines.wrap, { timeoutMs: 100 });
    await cluster.change('k', increment, { timeoutMs: 20_000 });
    lines.set('open', 'cut', 'cut');
    expect(await errorOf(cluster.replaceAcceptor(urls[2]!, memoryUrls(1)[0]!))).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    lines.set('open', 'open', 'open');
    expect(await cluster.change('k', increment, { timeoutMs: 20_000 })).toMatchObject({
      outcome: 'committed',
      value: 2,
    });
  });
});

describe('rule 9: two who change the set at once', () => {
  test('agree on one; nothing is lost, and the other is told', async () => {
    const old = memoryUrls();
    const [one, other] = [memoryUrls(), memoryUrls()];
    const clusters = await Promise.all([0, 1].map(() => openFor({ acceptors: old })));
    await fill(clusters[0]!);
    const results = await Promise.allSettled([
      clusters[0]!.changeAcceptors(one),
      clusters[1]!.changeAcceptors(other),
    ]);
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as { code: string }] : [],
    );
    for (const { code } of failures) expect(code).toBe('SET_CHANGE_FAILED');
    expect(failures.length).toBeLessThan(2);
    const reader = await openFor({ acceptors: old });
    expect(reader.configuration.previous).toBeUndefined();
    const urls = reader.configuration.acceptors.map(({ url }) => url);
    expect([one, other]).toContainEqual(urls);
    clear(old);
    expect(await valuesIn(reader)).toEqual(KEYS.map(() => 1));
  });
});
