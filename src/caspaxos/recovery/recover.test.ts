import { describe, expect, test } from 'vitest';
import { errorOf, increment, memoryUrls, openFor, storeOf } from '../../../test/caspaxos/clusters.ts';
import { Ground, Life, PATIENT } from '../../../test/caspaxos/ground.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { until } from '../../../test/support/until.ts';
import type { Ballot } from '../../protocol/index.ts';
import type { Cluster } from '../cluster.ts';
import { decodeRecord } from '../stores/documents.ts';
import { registerKey } from '../stores/keys.ts';
import { StoreAcceptor } from '../stores/store-acceptor.ts';
import { inspectRecovery, recoverAcceptors, type RecoveryOptions } from './recover.ts';

const KEYS = ['k', 'l', 'm'];
/** For what cannot succeed, however long it takes. */
const SHORT = { timeoutMs: 300 };

const ALONE = '1 0 p/1 1 1 1\n"alone"';

interface Scene {
  readonly ground: Ground;
  readonly old: string[];
  readonly next: string[];
  /** A process of the old cluster, which goes on running. */
  readonly worker: Cluster;
}

/** Three acceptors with a few registers, of which the last two are lost. */
async function lost(): Promise<Scene> {
  const ground = new Ground();
  const [old, next] = [memoryUrls(), memoryUrls()];
  const worker = await ground.open(old);
  for (const key of KEYS) await worker.change(key, increment);
  await worker.change('gone', increment);
  await worker.delete('gone');
  // All that was accepted anywhere is on the survivor, too.
  await worker.change('k', increment);
  for (const key of [...KEYS, 'gone']) await reached(old[0]!, key, worker);
  ground.lose(old.slice(1));
  return { ground, old, next, worker };
}

/** A change is done when a quorum has it: asks until that acceptor is part of one. */
async function reached(url: string, key: string, cluster: Cluster): Promise<void> {
  const { version } = await cluster.read(key);
  await until('it has the register', async () => (await textOf(url, key)).startsWith(`${version} `));
}

async function textOf(url: string, key: string): Promise<string> {
  const [document] = await storeOf(url).read([registerKey(key)]);
  return document === undefined ? '' : (decodeRecord(document.text, key).value ?? '');
}

/** A proposal that no other acceptor hears of. */
async function accept(url: string, key: string, counter: number, value: string, set = 1): Promise<void> {
  const ballot: Ballot = { counter, proposer: 'p', incarnation: 1 };
  const request = { key, set, message: { type: '2a', ballot, value } } as const;
  expect(await new StoreAcceptor(storeOf(url)).handle([request], 0)).toMatchObject([{ type: '2b' }]);
}

async function setOf(url: string, key: string): Promise<number> {
  const [document] = await storeOf(url).read([registerKey(key)]);
  return decodeRecord(document!.text, key).set;
}

function optionsFor(
  { ground, old, next }: Pick<Scene, 'ground' | 'old' | 'next'>,
  life = new Life(),
): RecoveryOptions {
  return {
    from: old.slice(0, 1),
    to: next,
    changesMayBeLost: true,
    openAcceptor: (url) => ground.acceptor(url, life),
  };
}

async function expectRecovered(cluster: Cluster): Promise<void> {
  expect((await cluster.read('k')).value).toBe(2);
  expect((await cluster.read('l')).value).toBe(1);
  expect((await cluster.read('gone')).value).toBeUndefined();
  expect((await cluster.read('gone')).version).toBe(2);
  for (const key of [...KEYS, 'gone'])
    expect(await cluster.change(key, increment)).toMatchObject({ outcome: 'committed' });
}

describe('registers are recovered into new acceptors', () => {
  test('with their values, versions and tombstones, under a cluster of another name', async () => {
    const scene = await lost();
    const { ground, next, worker } = scene;
    const seen: number[] = [];
    const outlook = await inspectRecovery(optionsFor(scene));
    expect(outlook).toMatchObject({ members: 3, set: 1, registers: 4, state: 'not begun' });
    const outcome = await recoverAcceptors({ ...optionsFor(scene), onProgress: (done) => seen.push(done) });
    expect(outcome).toMatchObject({ registers: 4, tombstones: 1, wasCopied: false, to: next });
    expect(seen).toEqual([1, 2, 3, 4]);
    const { oldCluster, cluster } = outcome;
    expect([oldCluster, outlook.cluster]).toEqual([worker.configuration.cluster, cluster]);
    const recovered = await ground.open(next);
    expect(recovered.configuration).toMatchObject({ cluster, number: 2 });
    expect(recovered.configuration.acceptors.every(({ retired }) => retired === undefined)).toBe(true);
    await expectRecovered(recovered);
  });

  test('each with the highest ballot that any survivor has, whatever the others have', async () => {
    const [old, next] = [memoryUrls(5), memoryUrls()];
    const worker = await openFor({ acceptors: old });
    await worker.change('k', increment);
    expect(worker.configuration.number).toBe(1);
    await accept(old[0]!, 'first', 7, '2 0 p/1 1 2 1\n"new"');
    await accept(old[1]!, 'first', 6, '1 0 p/1 1 1 1\n"old"');
    await accept(old[0]!, 'second', 6, '1 0 p/1 1 1 1\n"old"');
    await accept(old[1]!, 'second', 7, '2 0 p/1 1 2 1\n"new"');
    await accept(old[1]!, 'third', 5, ALONE);
    const outcome = await recoverAcceptors({ from: old.slice(0, 2), to: next, changesMayBeLost: true });
    expect(outcome.registers).toBe(4);
    const recovered = await openFor({ acceptors: next });
    for (const [key, value] of Object.entries({ first: 'new', second: 'new', third: 'alone' }))
      expect((await recovered.read(key)).value).toBe(value);
  });

  test('during a change of the set that can neither be finished nor taken back, from both sets', async () => {
    const ground = new Ground();
    const [old, wanted, next] = [memoryUrls(), memoryUrls(), memoryUrls()];
    const worker = await ground.open(old);
    for (const key of KEYS) await worker.change(key, increment);
    for (const key of KEYS) await reached(old[0]!, key, worker);
    let told = 0;
    ground.onInstall = (url, number) => {
      if (number !== 2 || !old.includes(url)) return;
      told += 1;
      if (told === old.length) ground.lose([...old.slice(1), ...wanted.slice(1)]);
    };
    const changing = errorOf((await ground.open(old, SHORT)).changeAcceptors(wanted));
    await until('the set is half changed', () => told >= old.length);
    await accept(wanted[0]!, 'alone', 5, ALONE, 2);
    const options = { ...optionsFor({ ground, old, next }), from: [old[0]!, wanted[0]!] };
    expect(await inspectRecovery(options)).toMatchObject({ members: 6, set: 2 });
    const outcome = await recoverAcceptors(options);
    expect((await changing).message).not.toBe('there was no error');
    expect(outcome.registers).toBe(4);
    const recovered = await ground.open(next);
    for (const key of KEYS) expect((await recovered.read(key)).value).toBe(1);
    expect((await recovered.read('alone')).value).toBe('alone');
    expect(recovered.configuration.previous).toBeUndefined();
  });

  test('more of them than a page, from services into stores', async () => {
    const services = await TestService.startThree();
    const worker = await openFor({ acceptors: services.map(({ url }) => url), ...PATIENT });
    const keys = Array.from({ length: 1100 }, (_, at) => `register-${at}`);
    await Promise.all(keys.map((key) => worker.change(key, () => key)));
    const [survivor, ...others] = services as [TestService, ...TestService[]];
    await until('it has all', async () => (await survivor.disk.list('', 2000)).length === keys.length);
    await Promise.all(others.map((service) => service.stop()));
    const next = memoryUrls(1);
    const outcome = await recoverAcceptors({ from: [survivor.url], to: next, changesMayBeLost: true });
    expect(outcome).toMatchObject({ registers: keys.length, tombstones: 0, from: [survivor.url] });
    const recovered = await openFor({ acceptors: next });
    for (const key of keys.slice(-3)) expect((await recovered.read(key)).value).toBe(key);
    // It stays so when the survivor starts again.
    await survivor.stop();
    await survivor.start();
    expect(survivor.disk.configuration).toMatchObject({ recoveredInto: outcome.cluster });
    const late = await openFor({ acceptors: [survivor.url], ...SHORT });
    expect(await late.change('register-0', () => 'late')).toMatchObject({
      error: { message: expect.stringContaining('were recovered into other acceptors') },
    });
  });
});

describe('a process of the old cluster', () => {
  test('commits nothing any more, neither through survivors nor through the new acceptors', async () => {
    const ground = new Ground();
    const [old, next] = [memoryUrls(), memoryUrls()];
    const worker = await ground.open(old);
    for (const key of KEYS) await worker.change(key, increment);
    for (const key of KEYS) await reached(old[0]!, key, worker);
    ground.lose(old.slice(1));
    const { cluster } = await recoverAcceptors(optionsFor({ ground, old, next }));
    const before = await Promise.all(KEYS.map((key) => textOf(old[0]!, key)));
    // It remembers the documents and their versions, and asks nobody whether they are good before it writes.
    for (const key of [...KEYS, 'another'])
      expect(await worker.change(key, increment, SHORT)).not.toMatchObject({ outcome: 'committed' });
    expect(await Promise.all(KEYS.map((key) => textOf(old[0]!, key)))).toEqual(before);
    await until('it has heard of it', () => worker.configuration.recoveredInto === cluster);
    const hasty = await ground.open(old.slice(0, 1), SHORT);
    expect(await hasty.change('k', increment)).toMatchObject({
      error: { code: 'DEADLINE_EXCEEDED', message: expect.stringContaining(next[0]!) },
    });
    for (const url of next) {
      const acceptor = new StoreAcceptor(storeOf(url));
      acceptor.expect((await acceptor.describe()).id, worker.configuration.cluster);
      const query = { key: 'k', set: 1, message: { type: 'query' } } as const;
      expect(await errorOf(acceptor.handle([query], 0))).toMatchObject({ code: 'CONFIGURATION_CONFLICT' });
    }
  });

  test('finds every register of a survivor raised to a number that it does not have, before one is copied', async () => {
    const scene = await lost();
    const { ground, old, next } = scene;
    const sets: Promise<number>[] = [];
    ground.onAccept = (url, key) => {
      if (next.includes(url)) sets.push(setOf(old[0]!, key));
    };
    await recoverAcceptors(optionsFor(scene));
    expect(sets.length).toBeGreaterThan(0);
    for (const set of await Promise.all(sets)) expect(set).toBeGreaterThan(1000);
  });
});

describe('whoever runs it dies', () => {
  test('after any message: nobody can use what is there until it was run again, and then everything is there', async () => {
    let isDone = false;
    for (let messages = 0; !isDone; messages += 1) {
      const scene = await lost();
      const { ground, next } = scene;
      const life = new Life();
      life.endAfter(messages);
      const first = await errorOf(recoverAcceptors(optionsFor(scene, life)));
      isDone = !life.isOver;
      const told = await Promise.all(next.map((url) => new StoreAcceptor(storeOf(url)).describe()));
      const numbers = told.map(({ configuration }) => configuration?.number);
      if (numbers.every((number) => number === 1)) {
        const hasty = await ground.open(next, SHORT);
        expect(await hasty.change('k', increment)).toMatchObject({
          error: { message: expect.stringContaining('run it again') },
        });
        await hasty.close();
      }
      const again = await recoverAcceptors(optionsFor(scene));
      expect(again.wasCopied, first.message).toBe(numbers.includes(2));
      await expectRecovered(await ground.open(next));
    }
  });

  test('and the survivors after it: what was copied from them is in what is recovered from another one', async () => {
    const ground = new Ground();
    const [old, next] = [memoryUrls(5), memoryUrls()];
    const worker = await ground.open(old);
    for (const key of KEYS) await worker.change(key, increment);
    await accept(old[0]!, 'alone', 5, ALONE);
    // One new acceptor hears of that register, and the others are away by then.
    ground.onAccept = (_, key) => {
      if (key === 'alone') ground.lose(next.slice(1));
    };
    const options = { ...optionsFor({ ground, old, next }), from: old.slice(0, 2) };
    await errorOf(recoverAcceptors(options));
    ground.onAccept = () => {};
    const there = await Promise.all(next.map((url) => textOf(url, 'alone')));
    expect(there.filter((text) => text !== '')).toEqual([ALONE]);
    ground.bringBack();
    ground.lose(old.slice(0, 2));
    await recoverAcceptors({ ...optionsFor({ ground, old, next }), from: old.slice(2, 3) });
    for (const url of next) expect(await textOf(url, 'alone')).toBe(ALONE);
  });
});

describe('it is refused', () => {
  test('unless it is said that changes may be lost', async () => {
    const scene = await lost();
    const silent = { ...optionsFor(scene), changesMayBeLost: undefined } as unknown as RecoveryOptions;
    expect(await errorOf(recoverAcceptors(silent))).toMatchObject({ code: 'RECOVERY_REFUSED' });
  });

  test('where a quorum is left, and during a change of the set where one of the old acceptors is', async () => {
    const ground = new Ground();
    const [old, next, others] = [memoryUrls(), memoryUrls(), memoryUrls()];
    const worker = await ground.open(old);
    await worker.change('k', increment);
    const options = { ...optionsFor({ ground, old, next }), from: old.slice(0, 2) };
    expect(await errorOf(recoverAcceptors(options))).toMatchObject({
      code: 'RECOVERY_REFUSED',
      message: expect.stringContaining('replaceAcceptor'),
    });
    let told = 0;
    ground.onInstall = (url) => {
      if (old.includes(url) && (told += 1) === old.length) ground.lose(others.slice(1));
    };
    await errorOf((await ground.open(old, SHORT)).changeAcceptors(others));
    await until('all old ones are told', () => told >= old.length);
    ground.onInstall = () => {};
    expect(await errorOf(recoverAcceptors(options))).toMatchObject({
      code: 'RECOVERY_REFUSED',
      message: expect.stringContaining('changeAcceptors'),
    });
    for (const url of next)
      expect((await new StoreAcceptor(storeOf(url)).describe()).configuration).toBeUndefined();
  });

  test('into acceptors that are not empty, that are survivors, or that are named twice', async () => {
    const scene = await lost();
    const { ground, old, next } = scene;
    const used = memoryUrls(1);
    await (await ground.open(used)).change('k', increment);
    const into = (to: readonly string[]): Promise<{ code?: string }> =>
      errorOf(recoverAcceptors({ ...optionsFor(scene), to }));
    expect(await into([next[0]!, ...used])).toMatchObject({ code: 'ACCEPTOR_IN_USE' });
    expect(await into([next[0]!, old[0]!])).toMatchObject({ code: 'DUPLICATE_ACCEPTOR' });
    expect(await into([next[0]!, next[0]!])).toMatchObject({ code: 'DUPLICATE_ACCEPTOR' });
    expect(await into([])).toMatchObject({ code: 'NO_ACCEPTORS' });
    // None of that has touched the survivor.
    expect((await new StoreAcceptor(storeOf(old[0]!)).describe()).configuration?.number).toBe(1);
  });

  test('when a survivor does not answer, until it is left out', async () => {
    const scene = await lost();
    const { ground, old, next } = scene;
    const both = { ...optionsFor(scene), from: old.slice(0, 2) };
    expect(await errorOf(recoverAcceptors(both))).toMatchObject({
      message: expect.stringContaining('leave it out'),
    });
    await recoverAcceptors(optionsFor(scene));
    await expectRecovered(await ground.open(next));
  });

  test('a second time into other acceptors, unless the first ones are given up by the name of their cluster', async () => {
    const scene = await lost();
    const { cluster } = await recoverAcceptors(optionsFor(scene));
    const elsewhere = { ...optionsFor(scene), to: memoryUrls() };
    expect(await errorOf(recoverAcceptors(elsewhere))).toMatchObject({
      code: 'RECOVERY_REFUSED',
      message: expect.stringContaining(cluster),
    });
    await recoverAcceptors({ ...elsewhere, abandon: cluster });
    await expectRecovered(await scene.ground.open(elsewhere.to));
  });
});
