import { expect, test } from 'vitest';
import {
  handling,
  increment,
  memoryUrls,
  nameOf,
  openAround,
  openFor,
  storeOf,
} from '../../test/caspaxos/clusters.ts';
import { Lines } from '../../test/caspaxos/lines.ts';
import { until } from '../../test/support/until.ts';
import type { Cluster } from './cluster.ts';
import { encodeEnvelope } from './core/index.ts';
import { MemoryStore } from './stores/memory.ts';
import { StoreAcceptor } from './stores/store-acceptor.ts';
import { CONFIGURATION_KEY } from './values.ts';

/** Takes a copy of what an acceptor in memory holds; the function returned puts it back. */
async function copyOf(url: string): Promise<() => Promise<void>> {
  const store = storeOf(url);
  const keys = await store.list('', 1000);
  const documents = await store.read(keys);
  return async () => {
    MemoryStore.clear(nameOf(url));
    await storeOf(url).write(
      keys.map((key, at) => ({ key, text: documents[at]!.text, expected: undefined })),
    );
  };
}

function stateOf(cluster: Cluster, at: number): string {
  const { state, error } = cluster.acceptors[at]!;
  return `${state} ${error?.code ?? ''}`;
}

const BEHIND = 'down ACCEPTOR_BEHIND';

/** The first acceptor is put back from an old copy, and `cluster` finds out. */
async function findBehind(cluster: Cluster, url: string): Promise<void> {
  const holds = async (): Promise<string> => (await storeOf(url).read(['register/k']))[0]?.text ?? '';
  const change = (): Promise<unknown> => cluster.change('k', increment);
  await until('it holds the register', async () => (await change(), (await holds()) !== ''));
  const putBack = await copyOf(url);
  const old = await holds();
  await until('it is further', async () => (await change(), (await holds()) !== old));
  await putBack();
  await until('it is found', async () => (await change(), stateOf(cluster, 0) === BEHIND));
}

test('an acceptor that one process finds behind is used by no process, not even by one that starts later', async () => {
  const acceptors = memoryUrls();
  const [finder, other] = [await openFor({ acceptors }), await openFor({ acceptors })];
  await findBehind(finder, acceptors[0]!);
  await until('it is recorded', () => finder.configuration.number === 2);
  expect(finder.configuration.acceptors[0]!.retired).toMatchObject({ code: 'ACCEPTOR_BEHIND' });
  await until('the other process knows', async () => {
    await other.change('k', increment);
    return stateOf(other, 0) === BEHIND;
  });
  const late = await openFor({ acceptors });
  expect(stateOf(late, 0)).toBe(BEHIND);
  expect(await late.change('k', increment)).toMatchObject({ outcome: 'committed' });
});

test('is replaced as usual, at another address or at its own', async () => {
  const acceptors = memoryUrls();
  const cluster = await openFor({ acceptors });
  await findBehind(cluster, acceptors[0]!);
  await until('it is recorded', () => cluster.configuration.number === 2);
  // As long as it is the same one that stands there, naming it changes nothing.
  await cluster.changeAcceptors(acceptors);
  expect(cluster.configuration.number).toBe(2);
  MemoryStore.clear(nameOf(acceptors[0]!));
  await cluster.changeAcceptors(acceptors);
  expect(cluster.configuration.number).toBe(4);
  expect(cluster.configuration.acceptors.map(({ retired }) => retired)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  await until('all are up', async () => {
    await cluster.change('k', increment);
    return cluster.acceptors.every(({ state }) => state === 'up');
  });
});

test('two processes that find the same at once record it once', async () => {
  const acceptors = memoryUrls();
  const clusters = [await openFor({ acceptors }), await openFor({ acceptors })];
  for (const cluster of clusters) await cluster.change('k', increment);
  const putBack = await copyOf(acceptors[0]!);
  for (let at = 0; at < 4; at += 1) for (const cluster of clusters) await cluster.change('k', increment);
  await putBack();
  await until('both know', async () => {
    for (const cluster of clusters) await cluster.change('k', increment);
    return clusters.every((cluster) => cluster.configuration.number > 1);
  });
  for (let at = 0; at < 3; at += 1) for (const cluster of clusters) await cluster.change('k', increment);
  expect(clusters.map(({ configuration }) => configuration.number)).toEqual([2, 2]);
});

test('what cannot be recorded for want of a quorum is recorded when there is one', async () => {
  const acceptors = memoryUrls();
  const lines = new Lines(3);
  const cluster = await openAround(acceptors, lines.wrap);
  await findBehind(cluster, acceptors[0]!);
  lines.set('open', 'open', 'cut');
  const before = cluster.counters.unavailable;
  await until(
    'it was tried',
    () => cluster.counters.unavailable > before || cluster.configuration.number > 1,
  );
  lines.set('open', 'open', 'open');
  await until('it is recorded', () => cluster.configuration.number === 2);
});

test('what was decided by a process that died before it told enough acceptors is brought into force by others', async () => {
  const acceptors = memoryUrls();
  const cluster = await openFor({ acceptors });
  let told = 0;
  const finder = await openAround(acceptors, (acceptor, index) => ({
    ...handling(acceptor, (requests, asked) => acceptor.handle(requests, asked)),
    install: async (configuration) => {
      if (configuration.number > 1 && index === 2) {
        told += 1;
        throw new Error('the process is dead');
      }
      await acceptor.install(configuration);
    },
  }));
  await findBehind(finder, acceptors[0]!);
  await until('it has told one of them', () => told > 0);
  await finder.close();
  expect(cluster.configuration.number).toBe(1);
  await until('the rest knows', async () => {
    await cluster.change('k', increment);
    return cluster.configuration.number === 2;
  });
  expect(stateOf(cluster, 0)).toBe(BEHIND);
});

test('recording in the middle of a change of the set disturbs neither', async () => {
  const acceptors = memoryUrls(5);
  const next = memoryUrls(3);
  const cluster = await openFor({ acceptors });
  const changer = await openFor({ acceptors });
  for (let at = 0; at < 40; at += 1) await changer.change(`k${at}`, increment);
  await findBehind(cluster, acceptors[0]!);
  await changer.changeAcceptors([acceptors[0]!, ...next]);
  await until('it is recorded', async () => {
    await cluster.change('k', increment);
    return cluster.configuration.acceptors[0]!.retired !== undefined;
  });
  await until('the changer knows', async () => {
    await changer.change('k', increment);
    return changer.configuration.number === cluster.configuration.number;
  });
  expect(changer.configuration.previous).toBeUndefined();
  expect(changer.configuration.acceptors.map(({ url }) => url)).toEqual([acceptors[0], ...next]);
  for (let at = 0; at < 40; at += 1) expect((await changer.read(`k${at}`)).value).toBe(1);
});

test('what was decided and told to few is learned though its users have raised the registers to its number', async () => {
  const acceptors = memoryUrls(5);
  const cluster = await openFor({ acceptors, quorums: { phase1: 2, phase2: 4 } });
  await cluster.change('k', () => 1);
  const { configuration } = cluster;
  const [first, ...others] = configuration.acceptors;
  const retired = { code: 'ACCEPTOR_BEHIND', why: 'It forgot.' };
  const decided = { ...configuration, number: 2, acceptors: [{ ...first!, retired }, ...others] };
  const value = encodeEnvelope({ version: 1, floor: 0, operations: [], json: JSON.stringify(decided) });
  const ballot = { counter: Date.now() + 1000, proposer: 'another', incarnation: 1 };
  for (const [at, { url }] of others.entries()) {
    const acceptor = new StoreAcceptor(storeOf(url));
    if (at < 2) await acceptor.install(decided);
    const replies = await acceptor.handle(
      [
        { key: CONFIGURATION_KEY, set: 2, message: { type: '2a', ballot, value } },
        { key: 'k', set: 2, message: { type: '1a', ballot } },
      ],
      0,
    );
    expect(replies.map(({ type }) => type)).toEqual(['2b', '1b']);
  }
  expect(await cluster.change<number>('k', (known) => known! + 1)).toMatchObject({
    outcome: 'committed',
    value: 2,
  });
  expect(cluster.configuration.number).toBe(2);
});
