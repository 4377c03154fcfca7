import { describe, expect, test } from 'vitest';
import {
  checkCheckedRun,
  checkFeed,
  checkRun,
  CONSISTENCY_LEVELS,
  type ConsistencyLevel,
  Evidence,
  judgedAt,
  type RunOptions,
  seededChoose,
  simulateCheckedRun,
  simulateFeed,
} from 'baton/check';

const OPTIONS: RunOptions = {
  level: 'Strong',
  operations: 80,
  clients: 4,
  keys: 3,
  failovers: 10,
  unknownPercent: 10,
  bound: { versions: 4, ms: 60 },
};
const SEEDS = 60;

const RUNS = Object.fromEntries(
  CONSISTENCY_LEVELS.map((level) => [
    level,
    Array.from({ length: SEEDS }, (_, seed) => simulateCheckedRun({ ...OPTIONS, level }, seededChoose(seed))),
  ]),
) as Record<ConsistencyLevel, ReturnType<typeof simulateCheckedRun>[]>;

/** Whether runs that keep the level of the row, as a whole, keep that of the column. */
const KEEPS: Record<ConsistencyLevel, Record<ConsistencyLevel, boolean>> = {
  Strong: { Strong: true, BoundedStaleness: true, Session: true, ConsistentPrefix: true, Eventual: true },
  BoundedStaleness: {
    Strong: false,
    BoundedStaleness: true,
    Session: false,
    ConsistentPrefix: true,
    Eventual: true,
  },
  Session: { Strong: false, BoundedStaleness: false, Session: true, ConsistentPrefix: true, Eventual: true },
  ConsistentPrefix: {
    Strong: false,
    BoundedStaleness: false,
    Session: false,
    ConsistentPrefix: true,
    Eventual: true,
  },
  Eventual: {
    Strong: false,
    BoundedStaleness: false,
    Session: false,
    ConsistentPrefix: false,
    Eventual: true,
  },
};

describe.each(CONSISTENCY_LEVELS)('runs at %s', (level) => {
  test('have no findings', () => {
    for (const [seed, run] of RUNS[level].entries()) expect(checkCheckedRun(run), `seed ${seed}`).toEqual([]);
  });

  test.each(CONSISTENCY_LEVELS)('judged at %s', (judged) => {
    const broken = RUNS[level].filter(
      ({ record }) => checkRun(judgedAt(record, judged), { bound: OPTIONS.bound }).length > 0,
    );
    expect(broken.length === 0).toBe(KEEPS[level][judged]);
  });

  test('meet failovers, losses and unknown outcomes', () => {
    const records = RUNS[level].map(({ record }) => record);
    expect(records.filter(({ log }) => log.at(-1)!.epoch > 1).length).toBeGreaterThan(SEEDS / 2);
    expect(records.filter(({ undone }) => undone.length > 0).length).toBeGreaterThan(SEEDS / 3);
    expect(records.some(({ undone }) => undone.some(({ closed }) => closed))).toBe(true);
    const outcomes = new Set(records.flatMap(({ operations }) => operations.map(({ outcome }) => outcome)));
    expect(outcomes).toEqual(new Set(['ok', 'failed', 'unknown']));
  });
});

test('an eventual run fails strong nearly always', () => {
  const failing = RUNS.Eventual.filter(({ record }) => checkRun(judgedAt(record, 'Strong')).length > 0);
  expect(failing.length).toBeGreaterThan(SEEDS * 0.9);
});

test('a feed of the latest versions may leave out what was replaced', () => {
  for (const [seed, { record }] of RUNS.Session.entries()) {
    const feed = simulateFeed(record, 'latest', seededChoose(seed));
    expect(checkFeed(new Evidence(record), feed), `seed ${seed}`).toEqual([]);
    const { length } = checkFeed(new Evidence(record), { ...feed, mode: 'all' });
    const lacks = new Set(feed.stretches.flatMap(({ changes }) => changes.map(({ lsn }) => lsn))).size;
    expect(length > 0).toBe(lacks < record.log.filter(({ key }) => key !== undefined).length);
  }
});
