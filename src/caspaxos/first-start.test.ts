import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorOf, handling, memoryUrls, openFor, storeOf } from '../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../test/caspaxos/directories.ts';
import { randomFrom } from '../../test/caspaxos/lines.ts';
import { TestService } from '../../test/caspaxos/services.ts';
import { query } from '../../test/conformance/messages.ts';
import { until } from '../../test/support/until.ts';
import type { Acceptor } from './acceptors.ts';
import type { Cluster } from './cluster.ts';
import { openAcceptor } from './open-acceptor.ts';
import { encodeIdentity } from './stores/documents.ts';
import { StoreAcceptor } from './stores/store-acceptor.ts';

const OPTIONS = { timeoutMs: 5000 };

/** Five acceptors of each kind. */
const kinds: Record<string, () => Promise<readonly string[]>> = {
  'memory:': () => Promise.resolve(memoryUrls(5)),
  'lmdb:': () => {
    const root = temporaryDirectory();
    return Promise.resolve(['a', 'b', 'c', 'd', 'e'].map((name) => `lmdb:${join(root, name)}`));
  },
  'the acceptor service': async () => {
    const services = await Promise.all([0, 1, 2, 3, 4].map(() => TestService.start()));
    return services.map(({ url }) => url);
  },
};

/** The order of what two processes ask comes from the seed: each call waits for some turns of the event loop first. */
function inSomeOrder(seed: number): (url: string) => Acceptor {
  const random = randomFrom(seed);
  const wait = async (): Promise<void> => {
    for (let turns = Math.floor(random() * 6); turns > 0; turns -= 1)
      await new Promise((resolve) => setImmediate(resolve));
  };
  return (url) => {
    const acceptor = openAcceptor(url, OPTIONS);
    return {
      ...handling(acceptor, (requests, index) => acceptor.handle(requests, index)),
      reserve: async (cluster) => wait().then(() => acceptor.reserve!(cluster)),
      install: async (configuration) => wait().then(() => acceptor.install(configuration)),
      describe: async () => wait().then(() => acceptor.describe()),
    };
  };
}

/** A first start, and when it does not open, a second one of the same process. */
async function start(acceptors: readonly string[], seed: number): Promise<Cluster | undefined> {
  const open = (): Promise<Cluster> => openFor({ acceptors, openAcceptor: inSomeOrder(seed) });
  return open().catch(() => open().catch(() => undefined));
}

describe.each(Object.keys(kinds))('two first starts that share an acceptor of %s', (kind) => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
    'never use it both, and no value turns up in the other: seed %i',
    async (seed) => {
      const [a, b, c, d, e] = (await kinds[kind]!()) as [string, string, string, string, string];
      const clusters = await Promise.all([start([a, b, c], 2 * seed), start([c, d, e], 2 * seed + 1)]);
      const users = await Promise.all(
        clusters.map(async (cluster) => {
          if (cluster === undefined) return undefined;
          // A second attempt may find the other one's cluster through the shared acceptor, and join it.
          const name = cluster.configuration.cluster;
          const outcomes = await Promise.all(
            ['k', 'l', 'm'].map((key) => cluster.change<string[]>(key, (value) => [...(value ?? []), name])),
          );
          for (const outcome of outcomes)
            expect(new Set((outcome as { value: string[] }).value)).toEqual(new Set([name]));
          await until('it knows of all', () => cluster.acceptors.every(({ state }) => state !== 'unknown'));
          const shared = cluster.acceptors.find(({ url }) => url === c)!;
          if (shared.state === 'down') expect(shared.error?.code).toBe('CONFIGURATION_CONFLICT');
          return shared.state === 'up' ? name : undefined;
        }),
      );
      expect(new Set(users.filter(Boolean)).size).toBeLessThanOrEqual(1);
      expect(clusters.filter(Boolean).length).toBeGreaterThan(0);
    },
  );
});

async function free(): Promise<{ url: string; acceptor: StoreAcceptor; id: string }> {
  const [url] = memoryUrls(1);
  const acceptor = new StoreAcceptor(storeOf(url!));
  const { id } = await acceptor.describe();
  return { url: url!, acceptor, id };
}

describe('a first start that was not finished', () => {
  test('leaves reservations that another one takes over; it cannot install any more', async () => {
    const { url, acceptor, id } = await free();
    await acceptor.reserve('slow');
    const other = new StoreAcceptor(storeOf(url));
    await other.reserve('quick');
    const configuration = { cluster: 'slow', number: 1, acceptors: [{ id, url }] };
    expect(await errorOf(acceptor.install(configuration))).toMatchObject({ code: 'CONFIGURATION_CONFLICT' });
    await other.install({ ...configuration, cluster: 'quick' });
    expect(await errorOf(acceptor.reserve('slow'))).toMatchObject({ code: 'CONFIGURATION_CONFLICT' });
    expect((await other.describe()).configuration?.cluster).toBe('quick');
  });

  test('does not keep the acceptors from another cluster, nor its own later start from opening', async () => {
    const acceptors = memoryUrls();
    for (const url of acceptors) {
      const acceptor = new StoreAcceptor(storeOf(url));
      await acceptor.describe();
      await acceptor.reserve('somebody who never came back');
    }
    const cluster = await openFor({ acceptors });
    expect(await cluster.change('k', () => 1)).toMatchObject({ outcome: 'committed' });
    expect(cluster.acceptors.map(({ state }) => state)).toEqual(['up', 'up', 'up']);
  });

  test('goes on without the acceptor that refused it, though it had reached no more than one other', async () => {
    const [a, b, c, d, e] = memoryUrls(5) as [string, string, string, string, string];
    await openFor({ acceptors: [b, d, e] });
    const own = await Promise.all(
      [a, b, c].map(async (url) => ({ url, id: (await new StoreAcceptor(storeOf(url)).describe()).id })),
    );
    await new StoreAcceptor(storeOf(a)).install({ cluster: 'own', number: 1, acceptors: own });
    for (const acceptors of [
      [a, b, c],
      [b, a, c],
    ]) {
      const cluster = await openFor({ acceptors });
      expect(cluster.configuration.cluster).toBe('own');
      expect(await cluster.change('k', () => 1)).toMatchObject({ outcome: 'committed' });
    }
    // Neither is meant more than the other.
    expect(await errorOf(openFor({ acceptors: [a, d] }))).toMatchObject({ code: 'CONFIGURATION_CONFLICT' });
  });

  test('is not joined by one with other quorums for the same acceptors', async () => {
    const acceptors = memoryUrls();
    const starts = await Promise.allSettled([
      openFor({ acceptors, openAcceptor: inSomeOrder(1) }),
      openFor({ acceptors, openAcceptor: inSomeOrder(2), quorums: { phase1: 3, phase2: 1 } }),
    ]);
    const opened = starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const used = opened.filter((cluster) => cluster.acceptors.every(({ state }) => state !== 'down'));
    expect(new Set(used.map(({ configuration }) => configuration.cluster)).size).toBeLessThanOrEqual(1);
  });
});

describe('requests of another cluster', () => {
  test('are refused by stores, before anything is read or written', async () => {
    const { url, acceptor, id } = await free();
    await acceptor.install({ cluster: 'theirs', number: 1, acceptors: [{ id, url }] });
    const other = new StoreAcceptor(storeOf(url));
    other.expect(id, 'ours');
    const conflict = { code: 'CONFIGURATION_CONFLICT' };
    expect(await errorOf(other.handle([query('k')], 0))).toMatchObject(conflict);
    expect(await errorOf(other.list('', 10))).toMatchObject(conflict);
    acceptor.expect(id, 'theirs');
    expect(await acceptor.handle([query('k')], 0)).toMatchObject([{ type: 'state' }]);
  });

  test('are refused by services and by embedded acceptors', async () => {
    const service = await TestService.start();
    const { id } = await service.disk.describe();
    await service.disk.install({ cluster: 'theirs', number: 1, acceptors: [{ id, url: service.url }] });
    const conflict = { code: 'CONFIGURATION_CONFLICT' };
    const ours = openAcceptor(service.url, OPTIONS);
    // Named on a stream that is open already, and on one that is made later.
    await ours.describe();
    ours.expect(id, 'ours');
    expect(await errorOf(ours.handle([query('k')], 0))).toMatchObject(conflict);
    await service.stop();
    await service.start();
    await until('it is connected again', async () => (await ours.describe()).id === id);
    expect(await errorOf(ours.handle([query('k')], 0))).toMatchObject(conflict);
    expect(await errorOf(ours.list('', 10))).toMatchObject(conflict);
    await ours.close();
    const theirs = openAcceptor(service.url, OPTIONS);
    theirs.expect(id, 'theirs');
    expect(await theirs.handle([query('k')], 0)).toMatchObject([{ type: 'state' }]);
    await theirs.close();
    service.disk.expect(id, 'ours');
    expect(await errorOf(service.disk.handle([query('k')], 0))).toMatchObject(conflict);
  });

  test('are not known from processes of earlier versions, which name none', async () => {
    const { url, acceptor, id } = await free();
    await acceptor.install({ cluster: 'theirs', number: 1, acceptors: [{ id, url }] });
    const old = new StoreAcceptor(storeOf(url));
    old.expect(id);
    expect(await old.handle([query('k')], 0)).toMatchObject([{ type: 'state' }]);
  });
});

test('a document of an earlier version belongs to the cluster of its configuration', async () => {
  const [url] = memoryUrls(1);
  const configuration = { cluster: 'c', number: 1, acceptors: [{ id: 'i', url: url! }] };
  const text = encodeIdentity({ id: 'i', createdAt: 'then', configuration });
  await storeOf(url!).write([{ key: 'identity', text, expected: undefined }]);
  const cluster = await openFor({ acceptors: [url!] });
  expect(await cluster.change('k', () => 1)).toMatchObject({ outcome: 'committed' });
  const other = new StoreAcceptor(storeOf(url!));
  expect(await errorOf(other.reserve('other'))).toMatchObject({ code: 'CONFIGURATION_CONFLICT' });
});

test('a member that was down when it came into the set is told to which it belongs when it is back', async () => {
  const acceptors = memoryUrls();
  const [added] = memoryUrls(1);
  const down = (): Promise<never> => Promise.reject(new Error('it is down'));
  const changer = await openFor({
    acceptors,
    openAcceptor: (url) => {
      const acceptor = new StoreAcceptor(storeOf(url));
      return url === added ? { ...handling(acceptor, down), install: down } : acceptor;
    },
  });
  const worker = await openFor({ acceptors });
  await worker.change('k', () => 1);
  await changer.changeAcceptors([acceptors[0]!, acceptors[1]!, added!]);
  const known = await until('it is told', async () => {
    await worker.change('k', () => 1);
    return (await new StoreAcceptor(storeOf(added!)).describe()).configuration;
  });
  expect(known).toEqual(changer.configuration);
  await until('it is up', async () => {
    await worker.change('k', () => 1);
    return worker.acceptors[2]!.state === 'up';
  });
});
