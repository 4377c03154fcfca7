import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type AcceptorStore,
  LmdbStore,
  MemoryStore,
  openCluster,
  StoreAcceptor,
} from '../../caspaxos/index.ts';
import * as plants from './testing/planted-stores.ts';
import { surveyStore, type Findings, STORE_STEPS } from './survey.ts';
import { CHECK_PREFIX, CREATE_SLOTS, KEYS, LEFTOVERS } from './workplace.ts';

let runs = 0;

function newName(): string {
  runs += 1;
  return `check-${process.pid}-${runs}`;
}

async function survey(open: () => AcceptorStore, run = `${runs}`.padStart(12, '0')): Promise<Findings> {
  let clock = 0;
  const now = (): number => (clock += 1);
  runs += 1;
  return surveyStore(open, { run, races: 10, pace: { now, samples: 5, budgetMs: 100 }, onStep: () => {} });
}

function failuresOf({ checks }: Findings): readonly string[] {
  return checks.filter(({ result }) => result === 'failed').map(({ name }) => name);
}

async function allKeys(store: AcceptorStore): Promise<readonly string[]> {
  return store.list('', 10_000);
}

describe('a sound store', () => {
  test('passes, in memory and on disk', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-check-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const name = newName();
    for (const open of [() => new MemoryStore(name), () => new LmdbStore(directory)]) {
      const { checks, latencies, member } = await survey(open);
      expect(checks.filter(({ result }) => result !== 'passed')).toEqual([]);
      expect(latencies.map(({ samples }) => samples)).toEqual([5, 5, 5, 5]);
      expect(member).toBeUndefined();
    }
  });

  test('takes as many steps as are announced', async () => {
    const name = newName();
    let steps = 0;
    await surveyStore(() => new MemoryStore(name), {
      run: '000000000000',
      races: 1,
      pace: { now: () => 0, samples: 5, budgetMs: 1 },
      onStep: () => (steps += 1),
    });
    expect(steps).toBe(STORE_STEPS);
  });

  test('stays empty for those who look for an acceptor', async () => {
    const name = newName();
    await survey(() => new MemoryStore(name));
    const acceptor = new StoreAcceptor(new MemoryStore(name));
    expect((await acceptor.describe()).hasRegisters).toBe(false);
    expect(await acceptor.list('', 10)).toEqual([]);
  });

  test('in use is not disturbed, and is recognised', async () => {
    const name = newName();
    const cluster = await openCluster({ acceptors: [`memory:${name}`] });
    onTestFinished(() => cluster.close());
    await cluster.change('k', () => 1);
    const store = new MemoryStore(name);
    const before = await store.read(['identity', 'register/k']);
    const { member, checks } = await survey(() => new MemoryStore(name));
    expect(checks.every(({ result }) => result === 'passed')).toBe(true);
    expect(member).toMatchObject({ set: 1, holdsRegisters: true });
    expect(await store.read(['identity', 'register/k'])).toEqual(before);
    await cluster.change('k', (n: number | undefined) => (n ?? 0) + 1);
    expect((await cluster.read('k')).value).toBe(2);
  });
});

describe('what a check leaves', () => {
  test('lies under one prefix, has a limit, and does not grow', async () => {
    const name = newName();
    const store = new MemoryStore(name);
    for (let at = 0; at < CREATE_SLOTS / 4; at += 1) await survey(() => new MemoryStore(name));
    const keys = await allKeys(store);
    expect(keys.filter((key) => !key.startsWith(CHECK_PREFIX))).toEqual([]);
    const documents = await store.read(keys);
    const bytes = keys.reduce((sum, key, at) => sum + Buffer.byteLength(key + documents[at]!.text), 0);
    expect(keys.length).toBe(LEFTOVERS.documents);
    expect(bytes).toBeLessThan(LEFTOVERS.kilobytes * 1000);
    const { checks } = await survey(() => new MemoryStore(name));
    expect(checks[0]).toMatchObject({ result: 'passed', remark: expect.stringContaining('another prefix') });
    expect(await allKeys(store)).toEqual(keys);
    expect(failuresOf(await survey(() => plants.planted(name, plants.createsOverExisting)))).toContain(
      'creates',
    );
  });

  test('of another run, met while it is at work, is no defect', async () => {
    const name = newName();
    const meddling = (): AcceptorStore =>
      plants.planted(name, (store) => ({
        write: async (writes) => {
          const results = await store.write(writes);
          if (writes[0]?.key === KEYS.race && writes[0].text.endsWith(' 3/3')) {
            const [now] = await store.read([KEYS.race]);
            await store.write([{ key: KEYS.race, text: 'aaaaaaaaaaaa 7/1', expected: now?.version }]);
          }
          return results;
        },
      }));
    const { checks } = await survey(meddling);
    expect(checks.find(({ name: check }) => check === 'replaces')).toMatchObject({
      result: 'not done',
      remark: expect.stringContaining('Another check'),
    });
  });
});

describe('a store with a planted defect is caught', () => {
  const cases: readonly (readonly [string, () => plants.Plant, string])[] = [
    ['that lets the last write win', () => plants.lastWriteWins, 'replaces'],
    ['that compares, and then swaps', () => plants.comparesThenSwaps, 'counter'],
    ['that creates what is there', () => plants.createsOverExisting, 'stale versions'],
    ['whose versions are hashes of the content', () => plants.versionsOfContent, 'new versions'],
    ['whose versions repeat', plants.versionsThatRepeat, 'new versions'],
    ['that answers before it is visible', plants.visibleLater, 'visible'],
    ['that reads from a cache', () => plants.readsFromCache, 'visible'],
    ['that forgets an answered write now and then', plants.forgetsSome, 'visible'],
    ['whose batches are all or nothing', () => plants.allOrNothing, 'batches'],
    ['that ignores case in keys', () => plants.ignoresCase, 'keys and texts'],
    ['that drops null characters', () => plants.dropsNulls, 'keys and texts'],
    ['whose pages overlap', () => plants.pagesOverlap, 'list'],
    ['whose lists lack keys', () => plants.listsHalf, 'list'],
  ];

  test.each(cases)('%s', async (_, plant, expected) => {
    const name = newName();
    const defect = plant();
    const findings = await survey(() => plants.planted(name, defect));
    expect(failuresOf(findings)).toContain(expected);
    expect(findings.latencies).toEqual([]);
  });

  test('by races of creates as well as of replaces', async () => {
    const name = newName();
    const findings = await survey(() => plants.planted(name, plants.comparesThenSwaps));
    expect(failuresOf(findings)).toEqual(expect.arrayContaining(['creates', 'replaces', 'counter']));
  });

  const said: readonly (readonly [string, plants.Plant, string, string])[] = [
    [
      'everybody wins',
      plants.lastWriteWins,
      'replaces',
      '4 of 4 writers at once replaced the same version, instead of one.',
    ],
    [
      'everybody creates',
      plants.lastWriteWins,
      'creates',
      '4 of 4 writers at once created the same document, instead of one.',
    ],
    ['nobody wins', plants.refusing(({ key }) => key.includes('create')), 'creates', 'None of 4 writers'],
    [
      'a document cannot be replaced',
      plants.refusing(({ key }) => key === KEYS.race),
      'replaces',
      'refused 8 times',
    ],
    [
      'a counter stands still',
      plants.refusing(({ key, text }) => key === KEYS.counter && !text.endsWith(' 0')),
      'counter',
      'stands still',
    ],
    [
      'a writer is told another version',
      plants.tellsAnotherVersion,
      'creates',
      'is not the version that a reader sees',
    ],
    ['a list repeats itself', plants.listsTwice, 'list', 'has a key twice'],
    ['a batch is answered in part only', plants.losesTheLast, 'batches', 'not what its answers say'],
    ['a write is not seen', plants.readsFromCache, 'visible', 'did not see a write'],
  ];

  test.each(said)('and it is said how: %s', async (_, plant, check, remark) => {
    const name = newName();
    const { checks } = await survey(() => plants.planted(name, plant));
    expect(checks.find((one) => one.name === check)?.remark).toContain(remark);
  });
});
