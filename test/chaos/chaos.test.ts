import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Random } from 'baton/sim';
import { abilitiesOf } from './faults.ts';
import { allowedMs, gapIn, longestGap, SLACK_MS } from './gaps.ts';
import type { DoneFault } from './campaign.ts';
import { SESSION_PLANTS, STORE_PLANTS, STRONG_PLANTS } from './plants.ts';
import { positionIn, Recorder } from './record.ts';
import { parseRecording, type Recording } from './recording.ts';
import { BOUND_MS, FAULT_KINDS, formatFault, isOfStore, scheduleOf, STORE_KINDS } from './schedule.ts';
import { type AcceptorStanding, isMissed, lackIn } from './standing.ts';
import { judge, judgeSet, losses } from './verdict.ts';

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

  test('takes the stores away in turn, each before any comes again, killed and paused, one with every fault', () => {
    const schedule = scheduleOf(FAULT_KINDS, new Random(5, 1), STORE_KINDS);
    const faults = Array.from({ length: 60 }, () => schedule.next().value);
    for (let at = 0; at < faults.length; at += STORE_KINDS.length) {
      const away = faults.slice(at, at + STORE_KINDS.length).map(({ loss }) => loss?.store);
      expect(new Set(away)).toEqual(new Set(STORE_KINDS));
    }
    const ways = new Set(faults.map(({ loss }) => `${loss?.how} ${loss?.store}`));
    expect(ways.size).toBe(2 * STORE_KINDS.length);
    for (const { kind, loss } of faults) if (isOfStore(kind)) expect(kind).toBe(`${loss?.how} store`);
    expect(take(5, 40).every(({ loss }) => loss === undefined)).toBe(true);
  });

  test('says what is away', () => {
    const fault = { kind: 'kill', part: 'writer', holdMs: 4210, calmMs: 0, offsetSeconds: 5 } as const;
    const loss = { store: 'redis', how: 'pause' } as const;
    expect(formatFault(fault)).toBe('kill writer for 4.2 s');
    expect(formatFault({ ...fault, loss })).toBe('kill writer for 4.2 s, redis paused');
    expect(formatFault({ ...fault, kind: 'pause store', loss })).toBe('pause store redis for 4.2 s');
    expect(formatFault({ ...fault, kind: 'acceptors', loss })).toBe(
      'acceptors a service for 4.2 s, redis paused',
    );
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
    const withoutStores = FAULT_KINDS.filter((kind) => !isOfStore(kind));
    expect(abilitiesOf(true, '/lib.so')).toMatchObject({ kinds: withoutStores, notRun: [] });
    const mixed = abilitiesOf(true, '/lib.so', STORE_KINDS);
    expect(mixed.kinds).toEqual(FAULT_KINDS.filter((kind) => !kind.startsWith('cut')));
    expect(mixed.canCut).toBe(false);
    expect(mixed.notRun).toEqual([expect.stringMatching(/^cuts: the servers of stores/)]);
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

const OPTIONS = {
  seed: 1,
  consistency: 'Strong',
  seconds: 60,
  partitionSets: 8,
  clients: 1,
  abilities: abilitiesOf(false, undefined),
  holdsBounds: true,
  progress: () => {},
} as const;

const NOTHING_DONE = {
  options: OPTIONS,
  faults: [],
  failovers: new Map<string, number>(),
  sets: [],
  troubles: [],
  directory: '',
  discard: () => {},
};

test('a run in which too little happened fails, and so does one with troubles', () => {
  const recorder = new Recorder('Strong', ['items-0']);
  expect(judge({ ...NOTHING_DONE, recorder, troubles: ['stuck'] }).map(({ rule }) => rule)).toEqual([
    'trouble',
    'too little',
    'too little',
    'too little',
  ]);
});

describe('a run with stores', () => {
  const abilities = abilitiesOf(false, undefined, STORE_KINDS);
  const recorder = new Recorder('Strong', ['items-0']);
  for (let write = 0; write < OPTIONS.seconds * OPTIONS.partitionSets; write += 1)
    recorder.count('write: ok');
  const schedule = scheduleOf(abilities.kinds, new Random(3, 1), STORE_KINDS);
  const done = Array.from({ length: 6 }, (): DoneFault => {
    const fault = schedule.next().value;
    const window = { kind: fault.kind, from: 0, to: 1, stallMs: 0 };
    return { ...window, fault, targets: ['west'], isStoreMissed: true, gapMs: 1, allowedMs: 2 };
  });
  const judged = (faults: readonly DoneFault[]) =>
    judge({
      ...NOTHING_DONE,
      options: { ...OPTIONS, abilities },
      recorder,
      faults,
      failovers: new Map([['silence', OPTIONS.partitionSets]]),
    });

  test('passes when each of them was away', () => {
    expect(judged(done)).toEqual([]);
    const counted = losses({ options: { ...OPTIONS, abilities }, faults: done });
    expect(counted.map(({ killed, paused }) => killed + paused)).toEqual([2, 2, 2]);
  });

  test.each(STORE_PLANTS.map((plant) => [plant.name, plant] as const))(
    'with a planted defect, %s, has done too little',
    (_, { sentence, plant }) => {
      const planted = plant(done);
      expect(judged(planted)).toEqual([{ rule: 'too little', sentence: expect.stringContaining(sentence) }]);
    },
  );
});

describe('an acceptor', () => {
  const standing = (state: AcceptorStanding['state'], error?: string): AcceptorStanding[] => [
    { url: 'redis://127.0.0.1:6379', state, ...(error !== undefined && { error }) },
    { url: 'http://127.0.0.1:4001', state: 'up' },
  ];
  const told = (...nodes: readonly AcceptorStanding[][]) =>
    new Map(nodes.map((one, at) => [`n${at}`, one] as const));

  test('is missed when every node that answers says that it is down', () => {
    const url = 'redis://127.0.0.1:6379';
    expect(isMissed(told(standing('down'), standing('down')), url)).toBe(true);
    expect(isMissed(told(standing('down'), standing('up')), url)).toBe(false);
    expect(isMissed(told(standing('down'), standing('unknown')), url)).toBe(false);
    expect(isMissed(told(standing('down')), 'etcd://127.0.0.1:2379')).toBe(false);
    expect(isMissed(told(), url)).toBe(false);
  });

  test('is back when every node works with it, and never again when one has given it up', () => {
    expect(lackIn(told(standing('up'), standing('up')))).toBeUndefined();
    expect(lackIn(told(standing('up'), standing('down', 'refused')))).toEqual({
      what: 'n1 says that redis://127.0.0.1:6379 is down: refused',
      isForGood: false,
    });
    const lost =
      'Acceptor redis://127.0.0.1:6379 is not used: it has lost its identity. Put the right one back there, or replace it.';
    expect(lackIn(told(standing('down', lost), standing('up')))).toMatchObject({ isForGood: true });
  });
});

test('an etag is a position', () => {
  expect(positionIn('"1f-a"')).toEqual({ epoch: 31, lsn: 10 });
  expect(positionIn('"x"')).toBeUndefined();
  expect(positionIn(undefined)).toBeUndefined();
});
