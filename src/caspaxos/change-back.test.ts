import { describe, expect, test } from 'vitest';
import { errorOf, increment, memoryUrls, openFor, storeOf } from '../../test/caspaxos/clusters.ts';
import { Ground } from '../../test/caspaxos/ground.ts';
import { until } from '../../test/support/until.ts';
import type { Acceptor } from './acceptors.ts';
import type { Cluster } from './cluster.ts';
import { decodeRecord } from './stores/documents.ts';
import { registerKey } from './stores/keys.ts';
import { StoreAcceptor } from './stores/store-acceptor.ts';
import { CONFIGURATION_KEY } from './values.ts';

const KEYS = ['k', 'l', 'm'];

/** For what cannot succeed, however long it takes. */
const SHORT = { timeoutMs: 300 };

async function begun(): Promise<{ ground: Ground; old: string[]; next: string[]; worker: Cluster }> {
  const ground = new Ground();
  const [old, next] = [memoryUrls(), memoryUrls()];
  const worker = await ground.open(old);
  for (const key of KEYS) await worker.change(key, increment);
  return { ground, old, next, worker };
}

/** The number of the set under which an acceptor was last asked for that register. */
async function setOf(key: string, url: string): Promise<number> {
  const [document] = await storeOf(url).read([registerKey(key)]);
  return document === undefined ? 0 : decodeRecord(document.text, key).set;
}

async function works(cluster: Cluster, value: number): Promise<void> {
  for (const key of KEYS)
    expect(await cluster.change(key, increment)).toMatchObject({
      outcome: 'committed',
      value,
    });
}

describe('the new acceptors are lost', () => {
  test('before any old one was told: the work goes on with the old ones, and the change can be taken back', async () => {
    const { ground, old, next, worker } = await begun();
    // Decided, and nobody told: the moment in which the first new acceptor would be.
    ground.onInstall = (url) => {
      if (next.includes(url)) ground.lose(next.slice(1));
    };
    const changer = await ground.open(old);
    expect(await errorOf(changer.changeAcceptors(next))).toMatchObject({ code: 'SET_CHANGE_FAILED' });
    for (const url of old)
      expect((await new StoreAcceptor(storeOf(url)).describe()).configuration?.number).toBe(1);
    await works(worker, 2);
    await works(changer, 3);
    await changer.changeAcceptors(old);
    expect(changer.configuration.previous).toBeUndefined();
    expect(changer.configuration.acceptors.map(({ url }) => url)).toEqual(old);
    await works(changer, 4);
    await works(worker, 5);
  });

  test('before any old one was told: a process that starts with the new ones tells no old one either', async () => {
    const { ground, old, next, worker } = await begun();
    // The first of the new ones knows, and nobody else ever will.
    ground.onInstall = (url) => {
      if (next.includes(url)) ground.lose(next.slice(1));
    };
    const changer = await ground.open(old);
    expect(await errorOf(changer.changeAcceptors(next))).toMatchObject({ code: 'SET_CHANGE_FAILED' });
    const numberOf = async (url: string): Promise<number | undefined> =>
      (await new StoreAcceptor(storeOf(url)).describe()).configuration?.number;
    expect(await numberOf(next[0]!)).toBe(2);

    const late = await ground.open(next);
    expect(await Promise.all(old.map(numberOf))).toEqual([1, 1, 1]);
    await works(late, 2);
    await works(worker, 3);
    await late.changeAcceptors(old);
    await works(worker, 4);

    // Nor does one that reaches too few of the old ones to know.
    const again = await ground.open(old);
    const others = memoryUrls();
    ground.onInstall = (url) => {
      if (others.includes(url)) ground.lose(others.slice(1));
    };
    expect(await errorOf(again.changeAcceptors(others))).toMatchObject({ code: 'SET_CHANGE_FAILED' });
    ground.lose(old.slice(1));
    expect(await errorOf(ground.open(others, SHORT))).toMatchObject({ code: 'SET_CHANGE_FAILED' });
    expect(await numberOf(old[0]!)).toBe(await numberOf(old[1]!));
    expect(await numberOf(old[0]!)).toBeLessThan((await numberOf(others[0]!))!);
  });

  test('and whoever opens the new ones, with success or without, leaves no connection open', async () => {
    const { ground, old, next } = await begun();
    const open = new Set<Acceptor>();
    const begin = (): Promise<Cluster> =>
      openFor({
        ...SHORT,
        acceptors: next,
        openAcceptor: (url) => {
          const acceptor = ground.acceptor(url);
          const close = async (): Promise<void> => {
            open.delete(counted);
            await acceptor.close();
          };
          const counted: Acceptor = { ...acceptor, close };
          open.add(counted);
          return counted;
        },
      });
    // All of the new ones know, and no old one does: all of these are cut off when the first is to be told.
    let isTold = false;
    ground.onInstall = (url, number) => {
      if (number === 1 || !old.includes(url)) return;
      isTold = true;
      ground.lose(old);
    };
    const changer = await ground.open(old, SHORT);
    void errorOf(changer.changeAcceptors(next));
    await until('the old ones are to be told', () => isTold);
    await changer.close();
    expect(await errorOf(begin())).toMatchObject({ code: 'SET_CHANGE_FAILED' });
    await until('everything is closed', () => open.size === 0);

    ground.onInstall = () => {};
    ground.bringBack();
    const late = await begin();
    expect(await late.change('k', increment, { timeoutMs: 60_000 })).toMatchObject({
      outcome: 'committed',
      value: 2,
    });
    await late.close();
    await until('everything is closed', () => open.size === 0);
  });

  test.each([
    ['the process that began it', (changer: Cluster) => Promise.resolve(changer)],
    ['one that worked all the time', (_: Cluster, worker: Cluster) => Promise.resolve(worker)],
    ['one that starts then', (_c: Cluster, _w: Cluster, open: () => Promise<Cluster>) => open()],
  ] as const)('after the old ones were told: %s takes it back', async (_, choose) => {
    const { ground, old, next, worker } = await begun();
    // By whomever: a process that hears of the change from one of them tells the others, too.
    const told = new Set<string>();
    ground.onInstall = (url, number) => {
      if (number === 2 && old.includes(url)) told.add(url);
      if (told.size === old.length) ground.lose(next.slice(1));
    };
    const changer = await ground.open(old);
    const first = errorOf(changer.changeAcceptors(next));
    await until('all old ones are told', () => told.size === old.length);
    await until('the first knows', () => changer.configuration.number === 2);
    ground.onInstall = () => {};
    // Nobody is in the way of a process that knows of nothing before the registers are raised to set 2.
    await until('a quorum has raised the register', async () => {
      const sets = await Promise.all(old.map((url) => setOf('k', url)));
      return sets.filter((set) => set === 2).length > 1;
    });
    // Nothing else works.
    expect(await worker.change('k', increment, SHORT)).not.toMatchObject({ outcome: 'committed' });
    const hasty = await ground.open(old, SHORT);
    expect(await errorOf(hasty.changeAcceptors(next))).toMatchObject({ code: 'SET_CHANGE_FAILED' });
    const replaced = hasty.replaceAcceptor(next[1]!, memoryUrls(1)[0]!);
    const { code, message } = await errorOf(replaced);
    expect(code).toBe('SET_CHANGE_FAILED');
    expect(message).toContain('takes the change back');

    const chosen = await choose(changer, worker, () => ground.open(old));
    await chosen.changeAcceptors(old);
    const { previous, acceptors } = chosen.configuration;
    expect(previous).toBeUndefined();
    expect(acceptors.map(({ url }) => url)).toEqual(old);
    const values = await Promise.all(KEYS.map(async (key) => (await chosen.read<number>(key)).value));
    for (const cluster of [chosen, changer, worker, await ground.open(old)])
      for (const [at, key] of KEYS.entries())
        expect(await cluster.change(key, increment)).toMatchObject({
          outcome: 'committed',
          value: (values[at]! += 1),
        });
    expect(await first).toMatchObject({ code: 'SET_CHANGE_FAILED' });
    // What came back of the others is of no use, and does no harm.
    ground.bringBack();
    const late = await ground.open([...next, ...old]);
    expect(late.configuration).toEqual(chosen.configuration);
    const fresh = memoryUrls();
    await chosen.changeAcceptors(fresh);
    expect(chosen.configuration.acceptors.map(({ url }) => url)).toEqual(fresh);
    expect(await late.read('k')).toMatchObject({ value: values[0] });
  });
});

describe('two who disagree about a change of the set', () => {
  test.each([0, 1, 2, 3, 4, 5])(
    'one finishes it, one takes it back: one of both happens, and nothing is lost (%i)',
    async (moment) => {
      const { ground, old, next, worker } = await begun();
      const changer = await ground.open(old);
      const other = await ground.open(old);
      let back: Promise<unknown> | undefined;
      let seen = 0;
      const begin = (): void => {
        if ((seen += 1) === moment + 1) back ??= other.changeAcceptors(old).catch((error: unknown) => error);
      };
      // Somewhere between the announcement and the last decision.
      ground.onInstall = begin;
      ground.onAccept = (_, key) => {
        if (key === CONFIGURATION_KEY && seen > 0) begin();
      };
      const forth = await changer.changeAcceptors(next).catch((error: unknown) => error);
      const returned = await back;
      for (const outcome of [forth, returned])
        if (outcome !== undefined)
          expect((outcome as { code: string }).code).toMatch(/SET_CHANGE_FAILED|ACCEPTOR_IN_USE/);
      const reader = await ground.open([...old, ...next]);
      expect(reader.configuration.previous).toBeUndefined();
      const urls = reader.configuration.acceptors.map(({ url }) => url);
      expect([old, next]).toContainEqual(urls);
      for (const key of KEYS) expect((await reader.read(key)).value).toBe(1);
      for (const cluster of [worker, changer, other]) await cluster.read('k');
      expect(worker.configuration.acceptors.map(({ url }) => url)).toEqual(urls);
    },
  );
});

test('a changer that was overtaken while it listed registers says so', async () => {
  const { ground, old, next } = await begun();
  const slow = await ground.open(old);
  const quick = await ground.open(old);
  ground.onList = async () => {
    ground.onList = () => Promise.resolve();
    await quick.changeAcceptors(next);
    await until('the slow one knows', async () => {
      await slow.read('k');
      return slow.configuration.number === 3;
    });
  };
  expect(await errorOf(slow.changeAcceptors(next))).toMatchObject({ code: 'SET_CHANGE_FAILED' });
});
