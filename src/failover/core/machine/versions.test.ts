import { describe, expect, test } from 'vitest';
import {
  accepted,
  after,
  failedOver,
  healthy,
  heartbeat,
  intent,
  movingTo,
  quiesced,
  quiescing,
  silence,
  writerSays,
} from '../../../../test/failover/reports.ts';
import type { Report } from './report.ts';
import { type MachineRule, RULES } from './rules.ts';
import { parseState } from './schema.ts';
import { type FailoverState, MACHINE_VERSION } from './state.ts';
import { storedForm } from './stored.ts';
import { type Machine, machineOf, machineWith } from './transition.ts';

/** A version to come: one more field in every region, in the state and in the configuration, and one more rule. */
const NEXT = MACHINE_VERSION + 1;
const countsReports: MachineRule = {
  name: 'count',
  from: ['Steady', 'Graceful', 'Ungraceful'],
  keeps: [],
  when: 'anything is reported',
  does: 'it is counted',
  since: NEXT,
  apply: (state, { region }) => {
    const counted = (value: object): object => {
      const { count = 0 } = value as { count?: number };
      return { ...value, count: count + 1 };
    };
    const regions = { ...state.regions, [region]: counted(state.regions[region]!) };
    return counted({ ...state, regions, configuration: counted(state.configuration) }) as FailoverState;
  },
};

const machines: Readonly<Record<number, Machine>> = {
  1: machineOf(1),
  2: machineOf(2),
  3: machineOf(3),
  [NEXT]: machineWith(NEXT, [...RULES, countsReports]),
};

/** The register holds what was stored; whoever edits it reads it back. */
function onRegister(
  state: FailoverState,
  report: (state: FailoverState) => Report,
  version: number,
): FailoverState {
  const parsed = parseState(JSON.parse(JSON.stringify(storedForm(state))));
  if ('refusal' in parsed) throw new Error(parsed.refusal.message);
  const said = report(parsed.value);
  const next = said.type === 'region' ? { ...said, version, phase2Ms: 20 } : said;
  return accepted(parsed.value, next, machines[version]);
}

type Step = readonly [region: string, report: (state: FailoverState) => Report];

/** Each kind of transition as the reports that drive it, and who sends them. */
const TRANSITIONS: Readonly<
  Record<
    string,
    { readonly start: () => FailoverState; readonly steps: readonly Step[]; readonly end: object }
  >
> = {
  ungraceful: {
    start: healthy,
    steps: [
      ['B', (state) => silence(state, 'B')],
      ['B', (state) => heartbeat(state, 'B')],
      ['C', (state) => heartbeat(state, 'C')],
      ['B', (state) => heartbeat(state, 'B')],
    ],
    end: { gcn: 2, writer: 'B', phase: 'Steady' },
  },
  graceful: {
    start: healthy,
    steps: [
      ['ops', () => intent({ kind: 'switchover', target: 'B' })],
      ['A', (state) => heartbeat(state, 'A')],
      ['B', (state) => heartbeat(state, 'B', { wait: { step: state.step, waitedMs: 5 } })],
      [
        'A',
        (state) => writerSays(state, { quiescedInStep: state.step }, { progress: { epoch: 1, lsn: 20 } }),
      ],
      ['B', (state) => heartbeat(state, 'B', { progress: { epoch: 1, lsn: 20 } })],
      ['B', (state) => heartbeat(state, 'B')],
    ],
    end: { gcn: 2, writer: 'B', phase: 'Steady', pin: 'B' },
  },
  'graceful that fails': {
    start: () => quiescing('B'),
    steps: [
      [
        'A',
        (state) => writerSays(state, { quiescedInStep: state.step }, { progress: { epoch: 1, lsn: 20 } }),
      ],
      ['C', (state) => heartbeat(state, 'C')],
      ['A', (state) => heartbeat(state, 'A', { wait: { step: state.step, waitedMs: 20_000 } })],
    ],
    end: { gcn: 1, writer: 'A', phase: 'Steady', damping: { failures: 1 } },
  },
  forced: {
    start: healthy,
    steps: [
      ['ops', () => intent({ kind: 'failover', target: 'C' })],
      ['B', (state) => heartbeat(state, 'B')],
      ['A', (state) => heartbeat(state, 'A')],
      ['C', (state) => heartbeat(state, 'C')],
    ],
    end: { gcn: 2, writer: 'C', phase: 'Steady' },
  },
  'writer unable': {
    start: healthy,
    steps: [
      ['A', (state) => heartbeat(state, 'A', { canCommit: false })],
      ['B', (state) => heartbeat(state, 'B')],
      ['A', (state) => heartbeat(state, 'A', { canCommit: false })],
      ['C', (state) => heartbeat(state, 'C')],
    ],
    end: { gcn: 2, writer: 'B', phase: 'Steady' },
  },
  'lease set': {
    start: healthy,
    steps: [
      ['A', (state) => writerSays(state, { remove: ['C'] })],
      ['C', (state) => heartbeat(state, 'C')],
      ['A', (state) => writerSays(state, { add: ['C'], commitSet: ['A', 'B', 'C'] })],
    ],
    end: { leaseSet: ['A', 'B', 'C'] },
  },
  'region removed': {
    start: healthy,
    steps: [
      ['ops', () => intent({ kind: 'remove region', target: 'C' })],
      ['A', (state) => writerSays(state, { remove: ['C'], commitSet: ['A', 'B', 'C'] })],
      ['A', (state) => writerSays(state, { commitSet: ['A', 'B'] })],
    ],
    end: { removed: ['C'], open: [] },
  },
};

const pairs = [
  [1, 2],
  [2, 1],
  [2, 3],
  [3, 2],
  [3, NEXT],
  [NEXT, 3],
  [1, NEXT],
  [NEXT, 1],
] as const;

describe.each(Object.entries(TRANSITIONS))(
  'in the middle of a transition: %s',
  (_, { start, steps, end }) => {
    test.each(pairs)('version %i and version %i take turns on one register', (first, second) => {
      // By region, so that a region keeps its version; and by turn, so that every step is taken by either.
      const byRegion = (region: string): number => (region === 'B' ? second : first);
      const ends = [
        steps.reduce((state, [region, report]) => onRegister(state, report, byRegion(region)), start()),
        steps.reduce(
          (state, [, report], turn) => onRegister(state, report, turn % 2 === 0 ? first : second),
          start(),
        ),
      ];
      for (const state of ends) expect(state).toMatchObject(end);
    });

    test.each(pairs)(
      'it begins under version %i and goes on under version %i, at whatever step the release comes',
      (first, second) => {
        for (const [at] of steps.entries()) {
          const ended = steps.reduce(
            (state, [, report], turn) => onRegister(state, report, turn < at ? first : second),
            start(),
          );
          expect(ended).toMatchObject(end);
        }
      },
    );
  },
);

describe('fields that a version does not know survive its edits', () => {
  const extra = { color: 'blue', nested: { a: [1, { b: 2 }] } };

  /** The newer version's fields, at every level. */
  function decorated(state: FailoverState): FailoverState {
    const item = <T extends object>(value: T): T => ({ ...value, ...extra });
    return item({
      ...state,
      configuration: item({ ...state.configuration, timings: item(state.configuration.timings) }),
      regions: Object.fromEntries(
        Object.entries(state.regions).map(([name, region]) => [name, item(region)]),
      ),
      raise: item(state.raise),
      statistics: { A: item({ count: 1, average: 1, mean: 1, squares: 0 }) },
      damping: item(state.damping),
      open: state.open.map(item),
      recent: state.recent.map(item),
      history: state.history.map(item),
    });
  }

  const kept = [
    (state: FailoverState) => state,
    (state: FailoverState) => state.configuration,
    (state: FailoverState) => state.configuration.timings,
    (state: FailoverState) => state.damping,
    (state: FailoverState) => state.statistics['A']!,
    (state: FailoverState) => state.regions['A']!,
    (state: FailoverState) => state.regions['B']!,
  ];

  test.each(Object.entries(TRANSITIONS))('through a whole transition: %s', (_, { start, steps }) => {
    const ended = steps.reduce((state, [, report]) => onRegister(state, report, 1), decorated(start()));
    for (const part of kept) expect(part(ended)).toMatchObject(extra);
  });

  test('in entries of lists as long as the entries are there', () => {
    const state = decorated(
      after(failedOver(healthy(), ['B', 'C']), () => intent({ kind: 'revoke', target: 'B' })),
    );
    const later = after(
      state,
      (now) => heartbeat(now, 'C'),
      () => intent({ kind: 'pause' }),
    );
    for (const list of [later.open, later.history])
      for (const entry of list) expect(entry).toMatchObject(extra);
  });
});

describe('what came with a version sleeps until every region runs it', () => {
  const policy = { signals: { traffic: 'failover' } } as const;
  const signal = (state: FailoverState) => heartbeat(state, 'A', { signals: ['traffic'] });

  test('one region with an older version keeps it asleep, for all', () => {
    const mixed = after(healthy(policy), (now) => heartbeat(now, 'C', { version: 1 }));
    expect(accepted(mixed, signal(mixed)).phase).toBe('Steady');
    const all = after(mixed, (now) => heartbeat(now, 'C', { version: 2 }));
    expect(accepted(all, signal(all)).phase).toBe('Ungraceful');
  });

  test('an older machine leaves it alone even when all others run the newer one', () => {
    const state = healthy(policy);
    expect(accepted(state, signal(state), machines[1]).phase).toBe('Steady');
  });

  test('patience with regions that beat seldom: before that a machine counts to two, and so do all', () => {
    const beats = Array.from({ length: 2 }, () => (now: FailoverState) => heartbeat(now, 'A'));
    const state = healthy({ consistency: 'Session' });
    const mixed = after(state, (now) => heartbeat(now, 'C', { version: 2 }), ...beats);
    expect(mixed.leaseSet).toEqual(['A', 'C']);
    expect(after(state, (now) => heartbeat(now, 'C'), ...beats).leaseSet).toEqual(['A', 'B', 'C']);
    const older = beats.reduce((now, beat) => accepted(now, beat(now), machines[2]), state);
    expect(older.regions['B']).toMatchObject({ missed: 2, live: 0 });
    expect(older.leaseSet).not.toContain('B');
  });

  test('its intents are refused meanwhile', () => {
    const mixed = after(healthy(), (now) => heartbeat(now, 'C', { version: 1 }));
    const verdict = machines[2]!(mixed, intent({ kind: 'maximum loss', writes: 1 }));
    expect(verdict).toMatchObject({
      verdict: 'refused',
      refusal: { code: 'FEATURE_NOT_YET', field: 'intent.kind' },
    });
  });

  test('a rule of a version to come wakes when the last region reports that version', () => {
    const count = (state: FailoverState) => (state as { count?: number }).count;
    const run = (state: FailoverState, region: string, version: number) =>
      onRegister(state, (now) => heartbeat(now, region), version);
    const two = run(run(healthy(), 'A', NEXT), 'B', NEXT);
    expect(count(two)).toBeUndefined();
    const woken = run(run(two, 'C', NEXT), 'A', NEXT);
    expect(count(woken)).toBe(1);
    // One that goes back to the release before puts it to sleep, and what it counted stays.
    const back = run(run(woken, 'C', 3), 'A', NEXT);
    expect(count(back)).toBe(1);
    expect(back.regions['A']).toMatchObject({ count: 1 });
    expect(back.configuration).toMatchObject({ count: 1 });
  });

  test('before every region has reported once, only what the first version had is awake', () => {
    const state = healthy(policy);
    const silent = { ...state.regions['C']!, version: 0 };
    const young: FailoverState = { ...state, regions: { ...state.regions, C: silent } };
    expect(accepted(young, signal(young)).phase).toBe('Steady');
    // What sleeps is not in the way of what is awake.
    expect(accepted(young, silence(young, 'B')).phase).toBe('Ungraceful');
  });
});

test('a state that asks for a newer reader is refused, and left as it was', () => {
  const state: FailoverState = { ...movingTo('B'), minReader: NEXT };
  for (const version of [1, 2, 3]) {
    expect(machines[version]!(state, heartbeat(state, 'A'))).toMatchObject({
      verdict: 'refused',
      refusal: { code: 'STATE_TOO_NEW', field: 'minReader' },
    });
  }
  expect(machines[NEXT]!(state, heartbeat(state, 'A')).verdict).toBe('accepted');
  expect(quiesced(quiescing('B')).minReader).toBe(1);
});
