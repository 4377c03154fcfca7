import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Random } from 'baton/sim';
import { abilitiesOf } from './faults.ts';
import { allowedMs, gapIn, longestGap, SLACK_MS } from './gaps.ts';
import { SESSION_PLANTS, STRONG_PLANTS } from './plants.ts';
import { positionIn, Recorder } from './record.ts';
import { parseRecording, type Recording } from './recording.ts';
import { BOUND_MS, FAULT_KINDS, scheduleOf } from './schedule.ts';
import { judge, judgeSet } from './verdict.ts';

function recorded(name: string): Recording {
  return parseRecording(readFileSync(new URL(`recordings/${name}.jsonl`, import.meta.url), 'utf8'));
}

describe.each([
  ['strong', STRONG_PLANTS],
  ['session', SESSION_PLANTS],
] as const)('the recording of a real run, %s', (name, plants) => {
  const recording = recorded(name);

  test('has nothing wrong with it, and enough in it', () => {
    expect(judgeSet(recording.level, recording)).toEqual([]);
    const { operations, log } = recording.record;
    const epochs = new Set(log.map(({ epoch }) => epoch));
    expect(operations.length).toBeGreaterThan(100);
    expect(epochs.size).toBeGreaterThan(1);
    expect(recording.copies).toHaveLength(3);
    expect(recording.feed.caughtUp).toBe(true);
  });

  test.each(plants.map((plant) => [plant.name, plant.rule, plant] as const))(
    'with a planted defect, %s, breaks %s',
    (_, rule, { plant }) => {
      const planted = plant(recording);
      expect(judgeSet(planted.level, planted).map((found) => found.rule)).toContain(rule);
    },
  );
});

describe('a schedule', () => {
  const take = (seed: number, count: number) => {
    const schedule = scheduleOf(FAULT_KINDS, new Random(seed, 1));
    return Array.from({ length: count }, () => schedule.next().value);
  };

  test('is decided by its seed, and every kind comes before any comes again', () => {
    expect(take(5, 40)).toEqual(take(5, 40));
    expect(take(6, 40)).not.toEqual(take(5, 40));
    const first = take(5, FAULT_KINDS.length).map(({ kind }) => kind);
    expect(first.toSorted()).toEqual([...FAULT_KINDS].toSorted());
    for (const seed of [1, 2, 3, 4]) expect(take(seed, 1)[0]).toMatchObject({ kind: 'kill', part: 'writer' });
  });

  test('pauses for less and for more than a lease', () => {
    const pauses = take(5, 300).filter(({ kind }) => kind === 'pause');
    expect(pauses.some(({ holdMs }) => holdMs < 2500)).toBe(true);
    expect(pauses.some(({ holdMs }) => holdMs > 6000)).toBe(true);
  });

  test('leaves out what cannot be done here, and says so', () => {
    const { kinds, notRun } = abilitiesOf(false, undefined);
    expect(kinds).toEqual(['kill', 'pause', 'stop', 'switchover', 'acceptors']);
    expect(notRun).toHaveLength(2);
    expect(abilitiesOf(true, '/lib.so')).toMatchObject({ kinds: FAULT_KINDS, notRun: [] });
  });
});

describe('a gap', () => {
  test('is the longest time without an acknowledgement, at the edges of the window too', () => {
    expect(gapIn([90, 110, 180, 190], 100, 200)).toBe(70);
    expect(gapIn([90, 150, 190], 100, 200)).toBe(50);
    expect(gapIn([90, 110], 100, 200)).toBe(90);
    expect(gapIn([], 100, 200)).toBe(100);
  });

  test('is that of the partition-set with the longest, and held against the bound of its kind', () => {
    const recorder = new Recorder('Strong', ['items-0', 'items-1']);
    recorder.sets.get('items-0')!.acknowledgedAt.push(10, 20, 30);
    recorder.sets.get('items-1')!.acknowledgedAt.push(10, 38);
    const window = { kind: 'kill', from: 0, to: 40, stallMs: 7 } as const;
    expect(longestGap(recorder.sets.values(), window)).toEqual({ partitionSet: 'items-1', ms: 28 });
    expect(allowedMs(window)).toBe(BOUND_MS.kill + SLACK_MS + 7);
  });
});

test('a run in which too little happened fails, and so does one with troubles', () => {
  const recorder = new Recorder('Strong', ['items-0']);
  const options = {
    seed: 1,
    consistency: 'Strong',
    seconds: 60,
    partitionSets: 8,
    clients: 1,
    abilities: abilitiesOf(false, undefined),
    progress: () => {},
  } as const;
  const run = {
    recorder,
    options,
    faults: [],
    failovers: new Map(),
    sets: [],
    directory: '',
    discard: () => {},
  };
  expect(judge({ ...run, troubles: ['stuck'] }).map(({ rule }) => rule)).toEqual([
    'trouble',
    'too little',
    'too little',
    'too little',
  ]);
});

test('an etag is a position', () => {
  expect(positionIn('"1f-a"')).toEqual({ epoch: 31, lsn: 10 });
  expect(positionIn('"x"')).toBeUndefined();
  expect(positionIn(undefined)).toBeUndefined();
});
