import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { increment, memoryUrls, nameOf, openFor, storeOf } from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { promise } from '../../../test/conformance/messages.ts';
import { until } from '../../../test/support/until.ts';
import type { Cluster } from '../cluster.ts';
import type { AcceptorStatus } from '../membership.ts';
import { type ExchangeableStore, exchangeable } from '../stores/faults.ts';
import { LmdbStore } from '../stores/lmdb.ts';
import { MemoryStore } from '../stores/memory.ts';
import { StoreAcceptor } from '../stores/store-acceptor.ts';

type Trouble = 'empty' | 'foreign' | 'behind';

/** A cluster of three whose first acceptor can come back as another one. */
interface Scene {
  readonly cluster: Cluster;
  /** Opens the same cluster as a process that has no memory of it. */
  readonly openAnother: () => Promise<Cluster>;
  /** Takes a copy now; `return` puts something else in the first acceptor's place. */
  readonly remember: () => Promise<void>;
  readonly comeBack: (as: Trouble) => Promise<void>;
}

async function inMemory(): Promise<Scene> {
  const acceptors = memoryUrls();
  const name = nameOf(acceptors[0]!);
  let copy: { key: string; text: string; expected: undefined }[] = [];
  const remember = async (): Promise<void> => {
    const store = new MemoryStore(name);
    const keys = await store.list('', 1000);
    const documents = await store.read(keys);
    copy = keys.map((key, at) => ({ key, text: documents[at]!.text, expected: undefined }));
  };
  const comeBack = async (as: Trouble): Promise<void> => {
    MemoryStore.clear(name);
    if (as === 'foreign') await new StoreAcceptor(storeOf(acceptors[0]!)).describe();
    if (as === 'behind') await storeOf(acceptors[0]!).write(copy);
  };
  const open = (): Promise<Cluster> => openFor({ acceptors });
  return { cluster: await open(), openAnother: open, remember, comeBack };
}

async function inLmdb(): Promise<Scene> {
  const root = temporaryDirectory();
  const acceptors = ['a', 'b', 'c'].map((name) => `lmdb:${join(root, name)}`);
  const first = join(root, 'a');
  const stores: ExchangeableStore[] = [];
  const open = (): Promise<Cluster> =>
    openFor({
      acceptors,
      openAcceptor: (url) => {
        if (url !== acceptors[0]) return undefined;
        const store = exchangeable(new LmdbStore(first));
        stores.push(store);
        return new StoreAcceptor(store);
      },
    });
  /** While nobody has the first acceptor's file open. */
  const exchange = async (work: () => Promise<void>): Promise<void> => {
    for (const store of stores) await store.close();
    await work();
    for (const store of stores) store.exchange(new LmdbStore(first));
  };
  const remember = (): Promise<void> => exchange(() => cp(first, join(root, 'copy'), { recursive: true }));
  const comeBack = (as: Trouble): Promise<void> =>
    exchange(async () => {
      await rm(first, { recursive: true });
      if (as === 'behind') await cp(join(root, 'copy'), first, { recursive: true });
      if (as !== 'foreign') return;
      const store = new LmdbStore(first);
      await new StoreAcceptor(store).describe();
      await store.close();
    });
  return { cluster: await open(), openAnother: open, remember, comeBack };
}

async function overServices(): Promise<Scene> {
  const services = await TestService.startThree();
  const stranger = await TestService.start();
  await stranger.disk.handle([promise('theirs', 1)], 0);
  const acceptors = services.map(({ url }) => url);
  const [first] = services;
  const copy = `${first!.directory}.copy`;
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  const open = (): Promise<Cluster> => openFor({ acceptors });
  const exchange = async (work: () => Promise<void>): Promise<void> => {
    await first!.stop();
    await work();
    await first!.start();
  };
  const remember = (): Promise<void> => exchange(() => cp(first!.directory, copy, { recursive: true }));
  const comeBack = (as: Trouble): Promise<void> =>
    exchange(async () => {
      await rm(first!.directory, { recursive: true });
      if (as === 'behind') await cp(copy, first!.directory, { recursive: true });
      if (as !== 'foreign') return;
      await stranger.stop();
      await cp(stranger.directory, first!.directory, { recursive: true });
    });
  return { cluster: await open(), openAnother: open, remember, comeBack };
}

const scenes = { 'memory:': inMemory, 'lmdb:': inLmdb, 'the acceptor service': overServices };

const codes: Record<Trouble, string> = {
  empty: 'ACCEPTOR_EMPTY',
  foreign: 'ACCEPTOR_FOREIGN',
  behind: 'ACCEPTOR_BEHIND',
};

describe.each(Object.keys(scenes) as (keyof typeof scenes)[])('rule 8: an acceptor of %s', (kind) => {
  test.each(['empty', 'foreign', 'behind'] as const)(
    'that comes back %s counts as down, and is reported',
    async (as) => {
      const { cluster, remember, comeBack } = await scenes[kind]();
      const events: AcceptorStatus[] = [];
      await cluster.change('k', increment);
      await remember();
      for (let at = 0; at < 3; at += 1) await cluster.change('k', increment);
      await until('all acceptors are up', () => cluster.acceptors.every(({ state }) => state === 'up'));
      cluster.on('acceptor', (status) => events.push(status));
      await comeBack(as);
      // The work goes on with the others, from the right value.
      expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 5 });
      const isReported = (status: AcceptorStatus | undefined): boolean => status?.error?.code === codes[as];
      await until('the acceptor is reported', async () => {
        await cluster.change('k', (value) => value);
        return isReported(cluster.acceptors[0]);
      });
      await until('the others are up', async () => {
        await cluster.change('k', (value) => value);
        expect(cluster.acceptors.map(({ state }) => state)).toEqual(['down', 'up', 'up']);
        return true;
      });
      expect(events.some((status) => status.state === 'down' && isReported(status))).toBe(true);
      // And it stays so.
      for (let at = 0; at < 3; at += 1) await cluster.change('k', increment);
      await cluster.read('k');
      expect(isReported(cluster.acceptors[0])).toBe(true);
    },
  );

  test.each(['empty', 'foreign'] as const)(
    'that comes back %s is not taken by a new process either',
    async (as) => {
      const { cluster, openAnother, comeBack } = await scenes[kind]();
      await cluster.change('k', increment);
      await comeBack(as);
      const another = await openAnother();
      expect(another.configuration).toEqual(cluster.configuration);
      expect(another.acceptors.map(({ state }) => state)).toEqual(['down', 'up', 'up']);
      expect(another.acceptors[0]?.error?.code).toMatch(/^ACCEPTOR_(EMPTY|FOREIGN)$/);
      expect(await another.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    },
  );

  test('that one process has found behind is not taken by one that starts later', async () => {
    const { cluster, openAnother, remember, comeBack } = await scenes[kind]();
    await cluster.change('k', increment);
    await remember();
    for (let at = 0; at < 3; at += 1) await cluster.change('k', increment);
    await until('all acceptors are up', () => cluster.acceptors.every(({ state }) => state === 'up'));
    await comeBack('behind');
    const isFound = (): boolean => cluster.acceptors[0]?.error?.code === 'ACCEPTOR_BEHIND';
    await until('it is found out', async () => {
      await cluster.change('k', (value) => value);
      return isFound();
    });
    const another = await openAnother();
    expect(await another.change('k', increment)).toMatchObject({ outcome: 'committed', value: 5 });
    expect(another.acceptors.map(({ error }) => error?.code)).toEqual([
      'ACCEPTOR_BEHIND',
      undefined,
      undefined,
    ]);
  });
});

describe('rule 8: an acceptor that forgot', () => {
  test('is never part of a quorum again: without another one nothing is answered', async () => {
    const acceptors = memoryUrls();
    const cluster = await openFor({ acceptors });
    await cluster.change('k', increment);
    for (const url of acceptors.slice(0, 2)) MemoryStore.clear(nameOf(url));
    const outcome = await cluster.change('k', increment, { timeoutMs: 100 });
    expect(outcome).not.toMatchObject({ outcome: 'committed' });
    await expect(cluster.read('k', { timeoutMs: 100 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    const isEmpty = ({ error }: AcceptorStatus): boolean => error?.code === 'ACCEPTOR_EMPTY';
    await until('both are reported', () => cluster.acceptors.filter(isEmpty).length === 2);
  });

  test('and all others with it are a new cluster only if all of them are empty', async () => {
    const acceptors = memoryUrls();
    const cluster = await openFor({ acceptors });
    await cluster.change('k', increment);
    await cluster.close();
    for (const url of acceptors.slice(0, 2)) MemoryStore.clear(nameOf(url));
    const survivor = await openFor({ acceptors });
    expect(survivor.configuration).toEqual(cluster.configuration);
    expect(await survivor.change('k', increment, { timeoutMs: 100 })).toMatchObject({ outcome: 'rejected' });
  });

  test('its newest set of acceptors is behind', async () => {
    const [url] = memoryUrls(1);
    const acceptor = new StoreAcceptor(storeOf(url!));
    const { id } = await acceptor.describe();
    const configuration = { cluster: 'c', number: 1, acceptors: [{ id, url: url! }] };
    await acceptor.install(configuration);
    const store = storeOf(url!);
    const [old] = await store.read(['identity']);
    await acceptor.install({ ...configuration, number: 2 });
    await acceptor.install({ ...configuration, number: 2 });
    const [present] = await store.read(['identity']);
    await store.write([{ key: 'identity', text: old!.text, expected: present!.version }]);
    await expect(acceptor.install({ ...configuration, number: 2 })).rejects.toMatchObject({
      code: 'ACCEPTOR_BEHIND',
    });
  });
});

test('rule 8: a store that was emptied is recognised before anything is written to it', async () => {
  const [url] = memoryUrls(1);
  const acceptor = new StoreAcceptor(storeOf(url!));
  await acceptor.describe();
  await acceptor.handle([promise('known', 1)], 0);
  MemoryStore.clear(nameOf(url!));
  await expect(acceptor.handle([promise('new', 1)], 0)).rejects.toMatchObject({ code: 'ACCEPTOR_EMPTY' });
  expect(await storeOf(url!).list('', 10)).toEqual([]);
});
