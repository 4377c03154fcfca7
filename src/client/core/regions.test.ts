import { describe, expect, test } from 'vitest';
import { epochOf } from '../../engine/core/index.ts';
import { orderForRead, orderForWrite, withWriter } from './choosing.ts';
import { HedgeBudget } from './hedging.ts';
import { Latency } from './latency.ts';
import { backoffMs, holdMs, patienceMs, PLAN_SETTINGS } from './pacing.ts';
import { RegionCache } from './regions.ts';

const SET = 'items-00';
const REGIONS = ['west', 'east', 'south'];
const wrote = (gcn: number, startedAtMs: number, nowMs: number) => ({
  position: { epoch: epochOf(gcn, 5), lsn: 9 },
  startedAtMs,
  nowMs,
});
const regionsOf = (choices: readonly { readonly region: string }[]) => choices.map(({ region }) => region);

describe('where writes work', () => {
  test('is known for each partition-set on its own', () => {
    const cache = new RegionCache(REGIONS);
    cache.wrote(SET, 'south', wrote(3, 0, 10));
    expect(cache.likelyWriter(SET)).toMatchObject({ region: 'south', gcn: 3, from: 'answer' });
    expect(cache.likelyWriter('items-01')).toBeUndefined();
    expect(regionsOf(orderForWrite(cache, SET, 10))).toEqual(['south', 'west', 'east']);
    expect(regionsOf(orderForWrite(cache, 'items-01', 10))).toEqual(REGIONS);
  });

  test('an answer of the old writer that comes late does not hide the new one', () => {
    const cache = new RegionCache(REGIONS);
    cache.wrote(SET, 'east', wrote(4, 100, 120));
    cache.wrote(SET, 'west', wrote(3, 50, 130));
    expect(cache.writerOf(SET)?.region).toBe('east');
  });

  test('a write that works counts, even if its answer is that of an older entry', () => {
    const cache = new RegionCache(REGIONS);
    cache.hinted(SET, { region: 'west', gcn: 6 }, 100);
    cache.wrote(SET, 'east', wrote(3, 150, 160));
    expect(cache.writerOf(SET)).toMatchObject({ region: 'east', from: 'answer' });
    cache.wrote(SET, 'east', wrote(7, 170, 180));
    cache.wrote(SET, 'east', wrote(2, 190, 200));
    expect(cache.writerOf(SET)?.gcn).toBe(7);
  });

  test('who watches is told of another writer, and of nothing else', () => {
    const cache = new RegionCache(REGIONS);
    let told = 0;
    const unwatch = cache.watch(SET, () => (told += 1));
    const after = (learn: () => void): number => {
      learn();
      return told;
    };
    expect(after(() => cache.wrote(SET, 'east', wrote(4, 0, 10)))).toBe(1);
    expect(after(() => cache.wrote(SET, 'east', wrote(4, 10, 20)))).toBe(1);
    expect(after(() => cache.wrote('items-01', 'west', wrote(9, 10, 20)))).toBe(1);
    expect(after(() => cache.hinted(SET, { region: 'west', gcn: 4 }, 20))).toBe(1);
    expect(after(() => cache.hinted(SET, { region: 'west', gcn: 5 }, 20))).toBe(2);
    expect(after(() => cache.wrote(SET, 'west', wrote(5, 20, 30)))).toBe(2);
    // It would not for a while, and writes again: those that wait can go on.
    expect(after(() => cache.refused(SET, 'west', 'write', 'NOT_WRITER', 40))).toBe(2);
    expect(after(() => cache.wrote(SET, 'west', wrote(5, 45, 50)))).toBe(3);
    unwatch();
    expect(after(() => cache.hinted(SET, { region: 'south', gcn: 6 }, 60))).toBe(3);
  });

  test('who says of itself that it can write is believed, whatever spoke against it before', () => {
    const cache = new RegionCache(REGIONS);
    let told = 0;
    cache.watch(SET, () => (told += 1));
    cache.wrote(SET, 'east', wrote(4, 0, 10));
    cache.refused(SET, 'east', 'write', 'NOT_WRITER', 20);
    cache.found(SET, { region: 'east', gcn: 4 }, 30);
    expect(cache.likelyWriter(SET)).toMatchObject({ region: 'east', gcn: 4 });
    expect(told).toBe(2);
    cache.found(SET, { region: 'east', gcn: 4 }, 40);
    expect(told, 'somebody asked, and may wait').toBe(3);
    cache.found(SET, { region: 'west', gcn: 3 }, 50);
    cache.found(SET, { region: 'north', gcn: 9 }, 50);
    expect(cache.writerOf(SET), 'an older writer, and a region that there is not').toMatchObject({
      region: 'east',
    });
    cache.found(SET, { region: 'west', gcn: 5 }, 60);
    expect(cache.likelyWriter(SET)?.region).toBe('west');
    expect(told).toBe(4);
  });

  test('a hint is news only with a higher GCN and a region that there is', () => {
    const cache = new RegionCache(REGIONS);
    cache.wrote(SET, 'east', wrote(4, 0, 10));
    expect(cache.hinted(SET, { region: 'west', gcn: 3 }, 20)).toBe(false);
    expect(cache.hinted(SET, { region: 'west', gcn: 4 }, 20)).toBe(false);
    expect(cache.hinted(SET, { region: 'north', gcn: 9 }, 20)).toBe(false);
    expect(cache.writerOf(SET)?.region).toBe('east');
    expect(cache.hinted(SET, { region: 'west', gcn: 5 }, 20)).toBe(true);
    expect(cache.likelyWriter(SET)).toMatchObject({ region: 'west', from: 'hint' });
  });

  test('is doubted as soon as anything speaks against it, and until it works again', () => {
    const cache = new RegionCache(REGIONS);
    cache.wrote(SET, 'east', wrote(4, 0, 10));
    cache.refused(SET, 'east', 'read', 'NOT_READY', 10);
    expect(cache.likelyWriter(SET)?.region).toBe('east');
    cache.failed(SET, 'east', 'UNREACHABLE', 10);
    expect(cache.likelyWriter(SET)).toBeUndefined();
    expect(regionsOf(orderForWrite(cache, SET, 10))).toEqual(['west', 'south', 'east']);
    cache.wrote(SET, 'east', wrote(4, 10, 10));
    expect(cache.likelyWriter(SET)?.region).toBe('east');
  });

  test('what speaks against a region fades, and later the more often it was so', () => {
    const cache = new RegionCache(REGIONS);
    const isAvoided = (nowMs: number) => cache.isAvoided(SET, 'west', 'write', nowMs);
    cache.refused(SET, 'west', 'write', 'NOT_WRITER', 0);
    expect([isAvoided(499), isAvoided(500)]).toEqual([true, false]);
    cache.refused(SET, 'west', 'write', 'NOT_WRITER', 500);
    expect([isAvoided(1499), isAvoided(1500)]).toEqual([true, false]);
    for (let times = 0; times < 30; times += 1) cache.refused(SET, 'west', 'write', 'NOT_WRITER', 2000);
    expect([isAvoided(11_999), isAvoided(12_000)]).toEqual([true, false]);
    expect(cache.isAvoided(SET, 'west', 'read', 2000)).toBe(false);
  });

  test('a region that left the account is forgotten, the others are not', () => {
    const cache = new RegionCache(REGIONS);
    cache.wrote(SET, 'south', wrote(4, 0, 10));
    cache.failed(SET, 'east', 'UNREACHABLE', 10);
    cache.setRegions(['east', 'west']);
    expect(cache.writerOf(SET)).toBeUndefined();
    expect(cache.evidenceAgainst(SET, 'east', 'write')?.code).toBe('UNREACHABLE');
    expect(regionsOf(orderForWrite(cache, SET, 20))).toEqual(['west', 'east']);
    cache.forget(SET);
    expect(cache.evidenceAgainst(SET, 'east', 'write')).toBeUndefined();
  });
});

describe('where reads go', () => {
  const measured = (latencies: Record<string, number>) => {
    const cache = new RegionCache(REGIONS);
    for (const [region, ms] of Object.entries(latencies))
      cache.read(SET, region, { startedAtMs: 0, nowMs: ms });
    return cache;
  };

  test('the nearest first; as near as makes no difference: by priority', () => {
    expect(regionsOf(orderForRead(measured({ west: 80, east: 30, south: 10 }), SET, 100))).toEqual([
      'south',
      'east',
      'west',
    ]);
    expect(regionsOf(orderForRead(measured({ west: 13, east: 80, south: 10 }), SET, 100))).toEqual([
      'west',
      'south',
      'east',
    ]);
  });

  test('who was never measured is measured', () => {
    expect(orderForRead(measured({ west: 5 }), SET, 100)[0]).toEqual({
      region: 'east',
      why: 'not measured yet',
    });
  });

  test('who failed lately comes last, for a while', () => {
    const cache = measured({ west: 80, east: 30, south: 10 });
    cache.failed(SET, 'south', 'SILENT', 100);
    expect(regionsOf(orderForRead(cache, SET, 200))).toEqual(['east', 'west', 'south']);
    expect(regionsOf(orderForRead(cache, SET, 700))).toEqual(['south', 'east', 'west']);
  });

  test('the writer is the last in the first round of a session that is ahead, then the first', () => {
    const order = orderForRead(measured({ west: 10, east: 20, south: 30 }), SET, 100);
    expect(regionsOf(withWriter(order, 'west', 0))).toEqual(['east', 'south', 'west']);
    expect(regionsOf(withWriter(order, 'south', 1))).toEqual(['south', 'west', 'east']);
    expect(withWriter(order, undefined, 0)).toBe(order);
    expect(withWriter(order, 'north', 0)).toBe(order);
  });
});

describe('waiting', () => {
  const left = { kind: 'write', rounds: 0, leftMs: 60_000 } as const;
  const steady = new Latency();
  for (let at = 0; at < 100; at += 1) steady.add(100);

  test('a latency follows what is measured', () => {
    expect(new Latency().p99Ms).toBeUndefined();
    expect(steady.meanMs).toBeCloseTo(100);
    expect(steady.p99Ms).toBeCloseTo(100);
    const noisy = new Latency();
    for (let at = 0; at < 100; at += 1) noisy.add(at % 2 === 0 ? 50 : 150);
    expect(noisy.p95Ms).toBeGreaterThan(150);
    expect(noisy.p99Ms).toBeGreaterThan(noisy.p95Ms!);
  });

  test('patience follows the slowest usual answer, within bounds', () => {
    expect(patienceMs({ p99Ms: undefined }, left, PLAN_SETTINGS)).toBe(500);
    expect(patienceMs({ p99Ms: 10 }, left, PLAN_SETTINGS)).toBe(250);
    expect(patienceMs(steady, left, PLAN_SETTINGS)).toBeCloseTo(400);
    expect(patienceMs({ p99Ms: 5000 }, left, PLAN_SETTINGS)).toBe(2000);
  });

  test('patience is half of the time that is left, if that is enough', () => {
    expect(patienceMs(steady, { ...left, leftMs: 300 }, PLAN_SETTINGS)).toBe(150);
    expect(patienceMs(steady, { ...left, leftMs: 150 }, PLAN_SETTINGS)).toBeCloseTo(400);
  });

  test('a read is given more time each round, up to a bound', () => {
    const rounds = [0, 1, 2, 9].map((round) =>
      patienceMs({ p99Ms: 10 }, { kind: 'read', rounds: round, leftMs: 60_000 }, PLAN_SETTINGS),
    );
    expect(rounds).toEqual([250, 500, 1000, 2000]);
  });

  test('a node is told to hold a read longer each round, however patient one is with it', () => {
    expect([0, 1, 2].map((rounds) => holdMs(rounds, PLAN_SETTINGS))).toEqual([250, 500, 1000]);
  });

  test('the pause between rounds doubles up to a bound, half of it by chance', () => {
    const pauses = [0, 1, 2, 3, 4, 9].map((rounds) => backoffMs(rounds, 1, false, PLAN_SETTINGS));
    expect(pauses).toEqual([20, 40, 80, 160, 250, 250]);
    expect(backoffMs(0, 0, false, PLAN_SETTINGS)).toBe(10);
  });

  test('who is told of the writer asks less often', () => {
    const pauses = [0, 1, 2, 3, 4, 9].map((rounds) => backoffMs(rounds, 1, true, PLAN_SETTINGS));
    expect(pauses).toEqual([20, 80, 320, 1280, 5000, 5000]);
    expect(backoffMs(4, 0, true, PLAN_SETTINGS)).toBe(2500);
  });

  test('hedges are paid for by reads, and saved up to a bound', () => {
    const budget = new HedgeBudget({ ratio: 0.25, saved: 2 });
    expect([budget.spend(), budget.spend()]).toEqual([true, false]);
    for (let reads = 0; reads < 4; reads += 1) budget.earn();
    expect([budget.spend(), budget.spend()]).toEqual([true, false]);
    for (let reads = 0; reads < 100; reads += 1) budget.earn();
    expect([budget.spend(), budget.spend(), budget.spend()]).toEqual([true, true, false]);
    expect(new HedgeBudget({ ratio: 0.1, saved: 0 }).spend()).toBe(false);
  });
});
