/** Whoever changes the set of acceptors, or takes that back, may die after each of its messages: nobody is stuck with what it leaves. */
import { describe, expect, test } from 'vitest';
import { errorOf, increment, memoryUrls, storeOf } from '../../test/caspaxos/clusters.ts';
import { Ground, Life } from '../../test/caspaxos/ground.ts';
import type { Cluster } from './cluster.ts';
import { registerKey } from './stores/keys.ts';
import { CONFIGURATION_KEY } from './values.ts';

interface Scene {
  readonly ground: Ground;
  readonly old: readonly string[];
  readonly next: readonly string[];
  /** It works with the old acceptors all the time. */
  readonly worker: Cluster;
  readonly life: Life;
  readonly dying: Cluster;
}

async function begun(): Promise<Scene> {
  const ground = new Ground();
  const [old, next] = [memoryUrls(), memoryUrls()];
  const worker = await ground.open(old);
  expect(await worker.change('k', increment)).toMatchObject({ value: 1 });
  const life = new Life();
  return { ground, old, next, worker, life, dying: await ground.open(old, {}, life) };
}

type Told = 'none' | 'one new acceptor' | 'all old acceptors';

/** A change of the set that lost two of the three new acceptors when so many were told of it. */
async function stuck(told: Told): Promise<Scene> {
  const scene = await begun();
  const { ground, old, next } = scene;
  const changer = await ground.open(old);
  const kept = told === 'none' ? 0 : 1;
  const awaited = new Set(told === 'all old acceptors' ? old : next.slice(kept, kept + 1));
  const moment = new Promise<void>((resolve) => {
    ground.onInstall = (url) => {
      if (!awaited.delete(url) || awaited.size > 0) return;
      ground.lose(next.slice(kept));
      resolve();
    };
  });
  const change = changer.changeAcceptors(next);
  await moment;
  if (told !== 'all old acceptors')
    expect(await errorOf(change)).toMatchObject({ code: 'SET_CHANGE_FAILED' });
  await changer.close();
  await change.catch(() => undefined);
  ground.onInstall = () => {};
  return scene;
}

/** Whether it died: it may have been done before. */
async function diesAfter(
  messages: number,
  { life, dying }: Scene,
  urls: readonly string[],
): Promise<boolean> {
  life.endAfter(messages);
  await Promise.race([life.ended, dying.changeAcceptors(urls).catch(() => undefined)]);
  await dying.close();
  return life.isOver;
}

/** Somebody else goes there, and everybody goes on; where it is too late for that, to other acceptors. */
async function goesTo(urls: readonly string[], { ground, old, next, worker }: Scene): Promise<void> {
  const other = await ground.open([...old, ...next].filter((url) => !ground.isLost(url)));
  let error = await errorOf(other.changeAcceptors(urls));
  // It finds what is decided already, and brings that into force.
  if (error.code === 'SET_CHANGE_FAILED') error = await errorOf(other.changeAcceptors(urls));
  let wanted = urls;
  if (error.code !== undefined) {
    expect(error.code).toBe('ACCEPTOR_IN_USE');
    ground.bringBack();
    await other.changeAcceptors((wanted = memoryUrls()));
  }
  expect(other.configuration.previous).toBeUndefined();
  expect(other.configuration.acceptors.map(({ url }) => url)).toEqual(wanted);
  for (const cluster of [other, worker])
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed' });
  expect(worker.configuration).toEqual(other.configuration);
}

/** `attempt` returns whether somebody died: it may have been done before that many messages. */
async function afterEachMessage(attempt: (messages: number) => Promise<boolean>): Promise<void> {
  let messages = 1;
  while (await attempt(messages)) messages += 1;
  expect(messages).toBeGreaterThan(5);
}

/** Whether set 3, the new acceptors alone, may have been decided. */
async function maySettle(urls: readonly string[]): Promise<boolean> {
  const key = registerKey(CONFIGURATION_KEY);
  const documents = await Promise.all(urls.map(async (url) => (await storeOf(url).read([key]))[0]));
  return documents.some((document) => /number\W+3\b/.test(document?.text ?? ''));
}

describe('whoever takes a change back may die after each message', () => {
  for (const told of ['none', 'one new acceptor', 'all old acceptors'] as const)
    test.each(['back', 'forth'] as const)(
      `when ${told} knew of it: others work on, and can go %s`,
      async (direction) => {
        await afterEachMessage(async (at) => {
          const scene = await stuck(told);
          const { ground, old, next, worker } = scene;
          const isDead = await diesAfter(at, scene, old);
          if (told !== 'all old acceptors')
            expect(await worker.change('k', increment), `after ${at}`).toMatchObject({ value: 2 });
          if (direction === 'forth') ground.bringBack();
          await goesTo(direction === 'back' ? old : next, scene);
          return isDead;
        });
      },
    );

  test('while somebody else finishes it', async () => {
    await afterEachMessage(async (at) => {
      const scene = await begun();
      const { ground, old, next } = scene;
      const changer = await ground.open(old);
      let back: Promise<boolean> | undefined;
      // At one of the moments between the announcement and the end.
      let left = at % 7;
      ground.onInstall = () => {
        if ((left -= 1) < 0) back ??= diesAfter(at, scene, old);
      };
      const error = await errorOf(changer.changeAcceptors(next));
      if (error.code !== undefined) expect(error.code).toBe('SET_CHANGE_FAILED');
      const isDead = await back!;
      await goesTo(at % 2 === 0 ? old : next, scene);
      return isDead;
    });
  });
});

describe('whoever changes the set may die after each message', () => {
  test.each(['back', 'forth', 'back without the new ones'] as const)(
    'others can go %s',
    async (direction) => {
      await afterEachMessage(async (at) => {
        const scene = await begun();
        const { ground, old, next } = scene;
        const isDead = await diesAfter(at, scene, next);
        if (direction === 'back without the new ones' && !(await maySettle(old))) ground.lose(next.slice(1));
        await goesTo(direction === 'forth' ? next : old, scene);
        return isDead;
      });
    },
  );
});
